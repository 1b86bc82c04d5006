//! A separate store for each test, and the binary to run in it.

use std::{
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use fenxi_store::Store;
use tempfile::TempDir;

/// A temporary store and the `fenxi` that works in it.
pub struct Fenxi {
    dir: TempDir,
}

impl Fenxi {
    pub fn new() -> Fenxi {
        Fenxi { dir: TempDir::new().unwrap() }
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    pub fn store(&self) -> Store {
        Store::open(self.path()).unwrap()
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fenxi"));
        command.args(args).env("FENXI_STORE", self.path()).env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs and demands success; gives what it printed.
    pub fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "fenxi {args:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Runs and demands exit code `code`; gives the messages.
    pub fn fails(&self, code: i32, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(code), "fenxi {args:?}: {}", text(&output.stderr));
        text(&output.stderr)
    }

    pub fn spawn(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The answer to a statement, one JSON object a row.
    pub fn sql(&self, statement: &str) -> Vec<serde_json::Value> {
        let lines = self.ok(&["sql", "-o", "json", statement]);
        lines.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
    }

    /// The single number that a statement answers.
    pub fn number(&self, statement: &str) -> f64 {
        let rows = self.sql(statement);
        let value = rows[0].as_object().unwrap().values().next().unwrap().clone();
        value.as_f64().unwrap_or_else(|| panic!("{statement}: {value}"))
    }

    /// Waits until a recorder has begun and appended its first rows.
    pub fn wait_until_recording(&self) {
        let open = self.path().join("open");
        wait_for("a recording to begin", || {
            let streams = walk(&open);
            streams.iter().any(|p| p.extension().is_some_and(|e| e != "json" && e != "lock"))
        });
    }
}

pub fn walk(dir: &std::path::Path) -> Vec<PathBuf> {
    let Ok(entries) = fs_err::read_dir(dir) else { return Vec::new() };
    entries.flatten().map(|e| e.path()).flat_map(|p| if p.is_dir() { walk(&p) } else { vec![p] }).collect()
}

pub fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(30), "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Demands that a command whose reader has gone ended as others do: by SIGPIPE, without a word.
pub fn ended_by_pipe(output: &Output) {
    let (signal, said) = (output.status.signal(), text(&output.stderr));
    assert_eq!((signal, said.as_str()), (Some(rustix::process::Signal::PIPE.as_raw()), ""));
}

pub fn signal(child: &Child, signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_child(child), signal).unwrap();
}

/// Prints loudly that a test could not be made here, and why.
pub fn skipped(test: &str, why: &str) {
    eprintln!("SKIPPED {test}: {why}");
}

/// A separate file system at a directory, gone with the value.
pub struct Tmpfs(PathBuf);

impl Tmpfs {
    /// One of `bytes` at `path`; None where mounting is not permitted.
    pub fn mount(path: &Path, bytes: usize) -> Option<Tmpfs> {
        let size = format!("size={bytes}");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(path).output().ok()?;
        mount.status.success().then(|| Tmpfs(path.to_owned()))
    }

    pub fn resize(&self, bytes: usize) {
        let options = format!("remount,size={bytes}");
        assert!(Command::new("mount").args(["-o", &options]).arg(&self.0).status().unwrap().success());
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
