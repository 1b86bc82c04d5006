//! One server under attack, and what must hold after each statement.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use fs_err as fs;

use super::{
    made_up::{self, OTHER, SECONDS, USR},
    served::{Answer, Place, SECRET, Served},
    watch::{Memory, Tree},
};

/// An answer may come so long after the time limit.
const GRACE: Duration = Duration::from_secs(1);
/// The failure of an answer that comes later.
const LATE: &str = "an answer after the time limit";
/// How often a request is late before that counts: the machine may be busy with something else.
const TRIES: usize = 3;
/// The query that every client must get answered rightly, whatever was asked before.
const KNOWN: &str = "SELECT sum(usr) AS a, wmean(usr, dt) AS b, count(DISTINCT run) AS c, 42 AS d FROM cpu";

/// How a server is set up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The program.
    pub fenxi: PathBuf,
    /// Its time limit.
    pub limit: Duration,
    /// Its memory in bytes.
    pub memory: u64,
    /// Bytes that all processes may have beyond that.
    pub more: u64,
    /// Whether it may change nothing.
    pub read_only: bool,
    /// Whether no other client asks: then the next answer must come at once.
    pub alone: bool,
}

/// How a statement reaches the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// As SQL.
    Sql,
    /// As a panel that is drawn like this.
    Panel(&'static str),
    /// As a question that is kept under the number, asked and removed.
    Question(usize),
}

/// One request.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The statement.
    pub statement: String,
    /// How it is asked.
    pub way: Way,
    /// Whether over the first run only.
    pub one_run: bool,
}

/// An expectation that did not hold.
#[derive(Clone, Debug)]
pub struct Broken {
    /// In a word, the same for the same thing.
    pub what: &'static str,
    /// The observation.
    pub seen: String,
}

/// A server over a separate store, with everything that must not change.
pub struct Siege {
    setup: Setup,
    place: Place,
    served: Served,
    memory: Memory,
    one: String,
    two: String,
    before: Tree,
    /// Outcomes of requests by their status.
    statuses: Mutex<BTreeMap<u16, u64>>,
    most: Mutex<(u64, Duration)>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Number of requests that people make, see [`Siege::honest`].
const HONEST: usize = 5;

/// Where a store keeps the checksums of questions that it was sent.
const KEPT: &str = ".kept";

impl Siege {
    /// Makes a store in `folder` and starts a server over it.
    ///
    /// # Errors
    /// When the store cannot be made or the server does not come up.
    pub fn begin(setup: &Setup, folder: &Path) -> Result<Siege> {
        let (_, [one, two]) = made_up::store(&folder.join("store"), &[])?;
        let place = Place { program: setup.fenxi.clone(), store: folder.join("store"), folder: folder.join("around") };
        fs::create_dir_all(place.folder.join("outside"))?;
        // The first look for findings takes longer than requests may; what was found is cached.
        let looked = place.command(&["findings", one.as_str()])?.output()?;
        anyhow::ensure!(looked.status.success(), "findings: {}", String::from_utf8_lossy(&looked.stderr));
        let limit = format!("{}s", setup.limit.as_secs());
        let memory = setup.memory.to_string();
        let mut args = vec!["--time-limit", &limit, "--memory", &memory];
        args.extend(setup.read_only.then_some("--read-only"));
        let served = place.serve(&args)?;
        let memory = Memory::watch(served.pid(), setup.memory + setup.more);
        let mut siege = Siege {
            setup: setup.clone(),
            place,
            served,
            memory,
            one: one.as_str().to_owned(),
            two: two.as_str().to_owned(),
            before: Tree::default(),
            statuses: Mutex::default(),
            most: Mutex::default(),
        };
        siege.known().map_err(|broken| anyhow::anyhow!("before any statement: {}", broken.seen))?;
        // Data derived from a run once is cached in the store.
        for n in 0..HONEST {
            siege.honest(n).map_err(|broken| anyhow::anyhow!("before any statement: {}", broken.seen))?;
        }
        siege.before = siege.tree();
        Ok(siege)
    }

    /// The server.
    pub fn served(&self) -> &Served {
        &self.served
    }

    /// Paths that statements may try: of the store, beside it, of the machine.
    pub fn paths(&self) -> Vec<String> {
        let (store, around) = (self.place.store.display(), self.place.folder.display());
        let (one, two) = (&self.one, &self.two);
        let mut paths: Vec<String> = [
            "store.json",
            "evil",
            "evil.csv",
            "cache/index.json",
            "cache/x.parquet",
            "labels/*",
            "runs/*/run.json",
            "runs/**",
            "questions/evil.sql",
        ]
        .iter()
        .map(|name| format!("{store}/{name}"))
        .collect();
        for run in [one, two] {
            paths.extend(
                ["run.json", "cpu.parquet", "text.parquet", "x.csv"].map(|f| format!("{store}/runs/run={run}/{f}")),
            );
        }
        paths.extend(
            ["secret", "outside/x.csv", "cwd/x.db", "home/.duckdbrc", "tmp/x", "tmp/*"]
                .map(|f| format!("{around}/{f}")),
        );
        let machine = [
            "/etc/passwd",
            "/proc/self/environ",
            "/proc/self/mem",
            "/proc/self/fd/*",
            "/dev/zero",
            "/dev/stdout",
            ":memory:",
            "x.csv",
            "..",
            "",
            "file:///etc/passwd",
            "http://127.0.0.1:1/x.csv",
            "s3://x/y.parquet",
        ];
        paths.extend(machine.map(str::to_owned));
        paths
    }

    fn tree(&self) -> Tree {
        let mut paths = self.place.forbidden();
        paths.push(self.place.folder.join("outside"));
        let store = fs::read_dir(&self.place.store).into_iter().flatten().flatten().map(|entry| entry.path());
        // Questions come and go here; their names are looked at apart.
        paths.extend(store.filter(|path| !path.ends_with("questions")));
        Tree::of(&paths)
    }

    /// Asks, and judges the answer.
    ///
    /// # Errors
    /// An expectation that did not hold.
    pub fn ask(&self, asked: &Asked) -> Result<(), Broken> {
        let run = asked.one_run.then_some(self.one.as_str());
        let ask = || match asked.way {
            Way::Sql => vec![self.served.sql(&asked.statement, run)],
            Way::Panel(chart) if asked.statement.len() < 15_000 => {
                vec![self.served.panel(&asked.statement, run, chart)]
            }
            Way::Panel(_) => vec![self.served.sql(&asked.statement, run)],
            Way::Question(number) => self.as_question(&asked.statement, number),
        };
        let mut outcome = Ok(());
        for _ in 0..TRIES {
            outcome = ask().iter().try_for_each(|answer| self.judge(asked, answer));
            // Late once can be the machine's doing; what is late each time is not.
            if outcome.as_ref().err().is_none_or(|broken: &Broken| broken.what != LATE) {
                break;
            }
        }
        outcome?;
        self.known()?;
        self.within_memory()
    }

    /// Keeps the statement as a question, asks it and removes it.
    fn as_question(&self, statement: &str, number: usize) -> Vec<Answer> {
        let target = format!("/api/v1/questions/fuzz-{number}");
        let text = format!("-- title: T\n-- section: cpu\n{statement}\n");
        let kept = self.served.change("PUT", &target, text.as_bytes());
        if kept.status != 200 {
            return vec![kept];
        }
        let asked = self.served.get(&format!("/api/v1/panel?question=fuzz-{number}&run={}", self.one));
        vec![kept, asked, self.served.change("DELETE", &target, b"")]
    }

    fn judge(&self, asked: &Asked, answer: &Answer) -> Result<(), Broken> {
        *locked(&self.statuses).entry(answer.status).or_default() += 1;
        {
            let mut most = locked(&self.most);
            most.1 = most.1.max(answer.took);
        }
        if !self.served.alive() {
            return broken("the server ended", tail(&self.served.said()));
        }
        if answer.status == 0 {
            return broken("a connection without an answer", format!("after {:?}", answer.took));
        }
        if answer.took > self.setup.limit + GRACE {
            return broken(LATE, format!("{:?}, status {}", answer.took, answer.status));
        }
        let text = answer.text();
        for (what, secret) in [("a secret of the environment", SECRET), ("a file of the machine", "root:x:0:0")] {
            if text.contains(secret) && !asked.statement.contains(secret) {
                return broken(what, text.chars().take(500).collect());
            }
        }
        // Text that an error quotes was known to the client.
        let told = |word: &str| text.contains(word) && !asked.statement.contains(word);
        if asked.one_run && answer.status == 200 && (told(OTHER) || told(&self.two)) {
            return broken("another run than was asked for", text.chars().take(500).collect());
        }
        Ok(())
    }

    /// The next answer must be right, and come soon where no other client asks.
    fn known(&self) -> Result<(), Broken> {
        let expected = (USR[0] + USR[1]) * SECONDS as f64;
        let right = serde_json::json!([[expected, expected / 2.0 / SECONDS as f64, 2, 42]]);
        let begun = Instant::now();
        loop {
            let answer = self.served.sql(KNOWN, None);
            if answer.status == 200 && serde_json::json!(answer.rows()) == right {
                return Ok(());
            }
            if !self.served.alive() {
                return broken("the server ended", tail(&self.served.said()));
            }
            // Others may hold all that there is to work with, for as long as each may take.
            let busy = [408, 503].contains(&answer.status) && !self.setup.alone;
            if !busy || begun.elapsed() > 10 * self.setup.limit {
                let (status, text) = (answer.status, answer.text());
                let what = if status == 200 { "the next answer is wrong" } else { "the next answer does not come" };
                return broken(what, format!("{status} after {:?}: {text}", begun.elapsed()));
            }
        }
    }

    fn within_memory(&self) -> Result<(), Broken> {
        let now = self.memory.most();
        let mut most = locked(&self.most);
        most.0 = most.0.max(now);
        if now <= self.setup.memory + self.setup.more {
            return Ok(());
        }
        broken("memory beyond its limit", format!("{} MiB", now >> 20))
    }

    /// Whether every file is as it was, here and around. A server at work that may change things has hidden directories
    /// of what it has not finished.
    ///
    /// # Errors
    /// When a file has changed, or the server has panicked.
    pub fn unchanged(&self) -> Result<(), Broken> {
        self.compare(!self.setup.read_only)
    }

    fn compare(&self, unfinished: bool) -> Result<(), Broken> {
        let mut changes = self.before.changes(&self.tree());
        let hidden = format!("new: {}", self.place.store.join("open/.new-scratch-").display());
        changes.retain(|change| !(unfinished && change.starts_with(&hidden)));
        let own = fs::read_dir(self.place.store.join("questions")).into_iter().flatten().flatten();
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        changes.extend(
            own.map(name).filter(|n| !n.starts_with("fuzz-") && n != KEPT).map(|n| format!("new: questions/{n}")),
        );
        if !changes.is_empty() {
            return broken("a file has changed", changes.join(", "));
        }
        let said = self.served.said();
        match said.find("panicked") {
            Some(at) => broken("a panic", said[at..].chars().take(500).collect()),
            None => Ok(()),
        }
    }

    /// Ends the server as Ctrl-C does; nothing may be left of it.
    ///
    /// # Errors
    /// When something is left, or it did not end well.
    pub fn end(mut self) -> Result<Summary, Broken> {
        let status = self.served.end();
        if !status.as_ref().is_ok_and(std::process::ExitStatus::success) {
            return broken("the server did not end well", format!("{status:?}"));
        }
        let temp = self.place.temp();
        let left: Vec<String> = Tree::default().changes(&Tree::of(&[&temp]));
        if left.len() > 1 {
            return broken("something is left in the temporary folder", left.join(", "));
        }
        self.compare(false)?;
        Ok(self.summary())
    }

    /// Asks number `n` of what people ask, which must be answered well: how long that took.
    ///
    /// # Errors
    /// When it is not.
    pub fn honest(&self, n: usize) -> Result<Duration, Broken> {
        let one = &self.one;
        let asked: [String; HONEST] = [
            "/api/v1/about".to_owned(),
            "/api/v1/runs".to_owned(),
            format!("/api/v1/run?run={one}"),
            format!("/api/v1/panel?question=cpu-summary&run={one}"),
            format!("/api/v1/findings?run={one}"),
        ];
        let target = &asked[n % HONEST];
        let answer = self.served.get(target);
        if answer.status == 200 {
            return Ok(answer.took);
        }
        broken("an honest request is not answered", format!("{target}: {}: {}", answer.status, answer.text()))
    }

    /// How many hostile requests were answered.
    pub fn answered(&self) -> u64 {
        locked(&self.statuses).values().sum()
    }

    /// The summary of the siege so far.
    pub fn summary(&self) -> Summary {
        let most = locked(&self.most);
        Summary { statuses: locked(&self.statuses).clone(), most_memory: most.0, slowest: most.1, honest: Vec::new() }
    }
}

/// The summary of a siege.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Most resident bytes of all processes.
    pub most_memory: u64,
    /// The longest that an answer took.
    pub slowest: Duration,
    /// How long honest requests took.
    pub honest: Vec<Duration>,
}

impl Summary {
    /// Adds what another one saw.
    pub fn add(&mut self, other: &Summary) {
        for (status, n) in &other.statuses {
            *self.statuses.entry(*status).or_default() += n;
        }
        self.most_memory = self.most_memory.max(other.most_memory);
        self.slowest = self.slowest.max(other.slowest);
        self.honest.extend(&other.honest);
    }
}

fn broken<T>(what: &'static str, seen: String) -> Result<T, Broken> {
    Err(Broken { what, seen })
}

/// The last lines of a text.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().rev().filter(|line| !line.contains(" /api/v1/")).take(6).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" | ")
}

/// Whether `asked`, alone on a new server, breaks the same thing.
///
/// # Errors
/// When no server comes up.
pub fn breaks(setup: &Setup, asked: &Asked, what: &str) -> Result<Option<Broken>> {
    let folder = scratch().context("a folder for one more server")?;
    let siege = Siege::begin(&Setup { alone: true, ..setup.clone() }, folder.path())?;
    let outcome = siege.ask(asked).and_then(|()| siege.unchanged());
    Ok(outcome.err().filter(|broken| broken.what == what))
}

/// A temporary folder.
///
/// # Errors
/// When it cannot be made.
pub fn scratch() -> Result<tempfile::TempDir> {
    Ok(tempfile::Builder::new().prefix("fenxi-adversary-").tempdir()?)
}
