//! Statements that try to write, to stay, to lie, to look around, to end the server, or to take all there is: through
//! real servers and through the command line. The store must be the same byte by byte, and the next answer right.

mod carried;
mod command_line;
mod heavy;
mod names;
mod reads;
mod spill;
mod state;
mod writes;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use fenxi_model::RunId;
use fenxi_test_support::{
    made_up::{self, Carried, SECONDS, USR},
    served::{self, Answer, Place, SECRET, Served},
    watch::{self, Tree},
};
use tempfile::TempDir;

/// A server answers at most so long after its time limit.
const GRACE: Duration = Duration::from_secs(1);

/// A store with two made-up runs, and room for servers beside it.
struct Vault {
    dir: TempDir,
    one: String,
    two: String,
}

/// Contents of the store, and of the folders in which a server has nothing to write.
struct Before {
    store: Tree,
    around: Tree,
}

impl Vault {
    fn new() -> Vault {
        Vault::carrying(|_| Vec::new())
    }

    /// The first run brings questions with it, made by someone who knows the path of the store.
    fn carrying(carried: impl FnOnce(&str) -> Vec<Carried<'static>>) -> Vault {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("store");
        let (_, [one, two]) = made_up::store(&path, &carried(&path.to_string_lossy())).unwrap();
        let id = |run: &RunId| run.as_str().to_owned();
        Vault { one: id(&one), two: id(&two), dir }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    /// The folder of a run.
    fn folder_of(&self, run: &str) -> PathBuf {
        self.path().join("runs").join(format!("run={run}"))
    }

    /// The folder in which whatever is called `name` runs.
    fn place(&self, name: &str) -> Place {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_fenxi"));
        let folder = self.dir.path().join(name);
        fs_err::create_dir_all(&folder).unwrap();
        Place { program, store: self.path(), folder }
    }

    fn serve(&self, name: &str, args: &[&str]) -> Served {
        let served = self.place(name).serve(args).unwrap();
        // Cache files of a first look are there before anything is compared.
        knows(&served);
        served
    }

    /// A server that may change things, and one that may not.
    fn both(&self) -> [(&'static str, Served); 2] {
        [("writable", &[][..]), ("read-only", &["--read-only"][..])].map(|(name, args)| (name, self.serve(name, args)))
    }

    fn before(&self, name: &str) -> Before {
        // The folders that a command makes for itself are there.
        // A first look fills the index, and keeps what findings find in each run.
        self.place(name).command(&["runs"]).unwrap().output().unwrap();
        for run in ["@1", "@2"] {
            self.place(name).command(&["findings", run]).unwrap().output().unwrap();
        }
        Before { store: Tree::of(&[self.path()]), around: Tree::of(&self.place(name).forbidden()) }
    }

    /// Fails when anything is other than `before`.
    fn unchanged(&self, before: &Before, name: &str, after: &str) {
        let changes = before.store.changes(&Tree::of(&[self.path()]));
        assert!(changes.is_empty(), "{name}: the store after {after}:\n{}", changes.join("\n"));
        let changes = before.around.changes(&Tree::of(&self.place(name).forbidden()));
        assert!(changes.is_empty(), "{name}: outside the store after {after}:\n{}", changes.join("\n"));
    }
}

/// The two figures that everybody must get, whatever was asked before.
fn knows(served: &Served) {
    let begun = Instant::now();
    let answer = served.sql("SELECT 42 AS a", None);
    assert_eq!(answer.value(), 42, "{} {}", answer.status, answer.text());
    let statement = "SELECT sum(usr) AS a, wmean(usr, dt) AS b, count(DISTINCT run) AS c FROM cpu";
    let answer = served.sql(statement, None);
    let expected = (USR[0] + USR[1]) * SECONDS as f64;
    let shown = format!("{} {}", answer.status, answer.text());
    let right = serde_json::json!([[expected, expected / 2.0 / SECONDS as f64, 2]]);
    assert_eq!(serde_json::json!(answer.rows()), right, "{shown}");
    assert!(begun.elapsed() < Duration::from_secs(5), "two small answers took {:?}", begun.elapsed());
}

/// An answer that is an error in words, of the kind of a wrong request.
fn refused(answer: &Answer, statement: &str) {
    let shown = short(statement);
    // A panel shows in its place what is wrong.
    let is_told = answer.status == 200 && answer.text().contains("\"columns\":{}");
    assert!(is_told || (400..500).contains(&answer.status), "{shown}: {} {}", answer.status, short(&answer.text()));
    assert!(answer.text().contains("\"error\":\""), "{shown}: {}", answer.text());
    tells_nothing(answer, statement);
}

/// No secret is in the answer.
fn tells_nothing(answer: &Answer, statement: &str) {
    let text = answer.text();
    for secret in [SECRET, "root:x:0", "FENXI_CANARY"] {
        // Errors may show the statement.
        assert!(!text.contains(secret) || statement.contains(secret), "{}: {}", short(statement), short(&text));
    }
}

/// The head of a text that may be long.
fn short(text: &str) -> String {
    text.chars().take(300).collect()
}
