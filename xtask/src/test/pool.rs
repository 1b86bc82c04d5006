//! Runs programs, several at once, each within a time limit, and keeps what they print.

use std::{
    io::{IsTerminal, Write},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use fs_err::{File, OpenOptions};

use super::outputs;

/// The longest that a program may run: what hangs is named and ended.
const LIMIT: Duration = Duration::from_secs(25 * 60);

/// How often it is looked who has ended.
const LOOK: Duration = Duration::from_millis(20);

/// A program to run.
#[derive(Debug)]
pub struct Job {
    /// As `load/it`.
    pub program: String,
    /// The suffix that distinguishes it from other jobs of the program; with a space before it.
    pub part: &'static str,
    pub command: Command,
    /// How many tests it runs at once.
    pub threads: usize,
    /// The tests it runs, where they are known.
    pub tests: Vec<String>,
    /// Where its output is kept.
    pub folder: PathBuf,
}

/// A program that has ended.
#[derive(Debug)]
pub struct Ended {
    /// As `load/it`.
    pub program: String,
    part: &'static str,
    tests: Vec<String>,
    status: ExitStatus,
    /// Whether it was ended because it took too long.
    pub overdue: bool,
    pub seconds: f64,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    pub fn label(&self) -> String {
        format!("{}{}", self.program, self.part)
    }

    /// Whether it ended well, by itself and with a result: a test that calls exit(3) ends the program without one.
    pub fn passed(&self) -> bool {
        self.status.success() && !self.overdue && self.stdout.lines().any(|line| line.starts_with("test result: ok"))
    }

    /// Why a program failed that names no test that failed.
    pub fn why(&self) -> String {
        let unfinished = outputs::unfinished(&self.stdout, &self.tests).join(", ");
        let label = self.label();
        match self.overdue {
            true => format!("{label} did not end within {} s, running {unfinished}", LIMIT.as_secs()),
            false => format!("{label} ended without a result ({}), running {unfinished}", self.status),
        }
    }
}

/// A program that runs.
struct Running {
    job: Job,
    child: Child,
    began: Instant,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Running {
    fn start(mut job: Job) -> Result<Running> {
        let name = format!("{}{}", job.program, job.part).replace(['/', ' '], "-");
        let place = |kind: &str| job.folder.join(format!("{name}.{kind}"));
        let (stdout, stderr) = (place("out"), place("err"));
        job.command.stdin(Stdio::null()).stdout(emptied(&stdout)?).stderr(emptied(&stderr)?);
        let child = job.command.spawn().with_context(|| format!("cannot start {}", job.program))?;
        Ok(Running { job, child, began: Instant::now(), stdout, stderr })
    }

    /// Whether it has ended; after `limit` it is.
    fn status(&mut self, limit: Duration) -> Result<Option<(ExitStatus, bool)>> {
        if let Some(status) = self.child.try_wait()? {
            return Ok(Some((status, false)));
        }
        if self.began.elapsed() < limit {
            return Ok(None);
        }
        kill(self.child.id())?;
        Ok(Some((self.child.wait()?, true)))
    }

    fn ended(self, status: ExitStatus, overdue: bool) -> Result<Ended> {
        let text = |path: &Path| -> Result<String> { Ok(String::from_utf8_lossy(&fs_err::read(path)?).into_owned()) };
        Ok(Ended {
            status,
            overdue,
            seconds: self.began.elapsed().as_secs_f64(),
            stdout: text(&self.stdout)?,
            stderr: text(&self.stderr)?,
            program: self.job.program,
            part: self.job.part,
            tests: self.job.tests,
        })
    }
}

/// A file for output. Writers that share it write at its end.
fn emptied(path: &Path) -> Result<Stdio> {
    File::create(path)?;
    Ok(OpenOptions::new().append(true).open(path)?.into_parts().0.into())
}

/// Ends a process and all that it started.
fn kill(process: u32) -> Result<()> {
    let mut all = vec![process.to_string()];
    let mut next = 0;
    while let Some(process) = all.get(next) {
        let threads = fs_err::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        let children = threads.filter_map(|thread| fs_err::read_to_string(thread.path().join("children")).ok());
        let children: Vec<String> =
            children.flat_map(|c| c.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect();
        all.extend(children);
        next += 1;
    }
    // Some of them may have ended meanwhile.
    Command::new("kill").arg("-KILL").args(all).stderr(Stdio::null()).status()?;
    Ok(())
}

/// Runs programs in their order, as many as have together at most so many tests at once (one runs in any case), and gives each
/// to `done` when it has ended.
pub fn run(jobs: Vec<Job>, tests_at_once: usize, done: impl FnMut(Ended)) -> Result<()> {
    run_within(LIMIT, jobs, tests_at_once, done)
}

fn run_within(limit: Duration, jobs: Vec<Job>, tests_at_once: usize, mut done: impl FnMut(Ended)) -> Result<()> {
    let (mut waiting, mut running): (Vec<Job>, Vec<Running>) = (jobs, Vec::new());
    let mut progress = Progress::new(waiting.len());
    while !waiting.is_empty() || !running.is_empty() {
        let free = |running: &[Running]| tests_at_once.saturating_sub(running.iter().map(|one| one.job.threads).sum());
        while let Some(next) = waiting.iter().position(|job| running.is_empty() || job.threads <= free(&running)) {
            running.push(Running::start(waiting.remove(next))?);
        }
        for place in (0..running.len()).rev() {
            if let Some((status, overdue)) = running[place].status(limit)? {
                progress.clear();
                done(running.swap_remove(place).ended(status, overdue)?);
            }
        }
        progress.show(waiting.len() + running.len(), &running);
        std::thread::sleep(LOOK);
    }
    progress.clear();
    Ok(())
}

/// A line on a terminal: how many programs have ended, and what runs.
struct Progress {
    terminal: Option<std::io::Stderr>,
    n: usize,
    shown: String,
}

impl Progress {
    fn new(n: usize) -> Progress {
        let stderr = std::io::stderr();
        Progress { terminal: stderr.is_terminal().then_some(stderr), n, shown: String::new() }
    }

    fn show(&mut self, left: usize, running: &[Running]) {
        let names: Vec<&str> = running.iter().map(|one| one.job.program.as_str()).collect();
        let line = format!("    {} of {} programs; {}", self.n - left, self.n, names.join(", "));
        if line != self.shown {
            self.write(&format!("\r\u{1b}[K{line}"));
            self.shown = line;
        }
    }

    fn clear(&mut self) {
        self.write("\r\u{1b}[K");
        self.shown.clear();
    }

    fn write(&mut self, text: &str) {
        if let Some(terminal) = &mut self.terminal {
            // A terminal that is gone ends no test.
            let _ = write!(terminal, "{text}").and_then(|()| terminal.flush());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(folder: &Path, name: &str, threads: usize, script: &str) -> Job {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(folder);
        let tests = vec!["a".to_owned(), "b".to_owned()];
        Job { program: name.to_owned(), part: "", command, threads, tests, folder: folder.to_owned() }
    }

    #[test]
    fn programs_run_together_as_far_as_they_fit() {
        let folder = tempfile::tempdir().unwrap();
        // Each of two waits for the other; the third finds both gone.
        let meets = |own: &str, other: &str| {
            format!("touch {own}; until [ -e {other} ]; do sleep 0.01; done; echo 'test result: ok. 1 passed'")
        };
        let jobs = vec![
            job(folder.path(), "p/x", 2, &meets("x", "y")),
            job(folder.path(), "p/z", 3, "rm x y; echo 'test result: ok. 1 passed'"),
            job(folder.path(), "p/y", 2, &meets("y", "x")),
        ];
        let mut ended = Vec::new();
        run_within(Duration::from_secs(60), jobs, 4, |one| ended.push((one.program.clone(), one.passed()))).unwrap();
        assert_eq!(ended.len(), 3);
        assert_eq!(ended[2], ("p/z".to_owned(), true));
        assert!(ended.iter().all(|(_, passed)| *passed), "{ended:?}");
    }

    #[test]
    fn a_program_that_hangs_is_named_with_its_test_and_ended_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let script = "echo 'test a ... ok'; sleep 600 & echo $! >child; wait";
        let mut ended = Vec::new();
        let jobs = vec![job(folder.path(), "p/x", 1, script)];
        run_within(Duration::from_millis(500), jobs, 1, |one| ended.push(one)).unwrap();
        let ended = &ended[0];
        assert!(ended.overdue && !ended.passed() && ended.why().ends_with("running b"), "{}", ended.why());
        let child = fs_err::read_to_string(folder.path().join("child")).unwrap();
        let state = || fs_err::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
        let until = Instant::now() + Duration::from_secs(20);
        while !state().is_empty() && !state().contains(") Z ") {
            assert!(Instant::now() < until, "{}", state());
            std::thread::sleep(LOOK);
        }
    }

    #[test]
    fn a_program_without_a_result_has_not_passed() {
        let folder = tempfile::tempdir().unwrap();
        let mut ended = Vec::new();
        let jobs = vec![job(folder.path(), "p/x", 1, "echo 'test a ... ok'; echo oh >&2")];
        run(jobs, 1, |one| ended.push(one)).unwrap();
        assert!(!ended[0].passed() && ended[0].stderr == "oh\n" && ended[0].why().contains("without a result"));
    }
}
