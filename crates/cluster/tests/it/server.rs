//! A cluster of this machine that a test starts, and may kill: `scripts/cluster`.

use std::{
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use fenxi_query::{Engine, Scope};

use crate::store::TestStore;

/// How long one may take to start beside others at work.
const START: Duration = Duration::from_secs(180);

/// A server with all that it started; they end with this value.
pub struct Server {
    pub kind: String,
    pub port: u16,
    child: Child,
    log: tempfile::NamedTempFile,
}

impl Server {
    /// One of `kind`, which answers.
    pub fn start(kind: &str) -> Server {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let log = tempfile::NamedTempFile::new().unwrap();
        let server = Server { kind: kind.to_owned(), port, child: run(kind, port, &log), log };
        server.wait();
        server
    }

    /// Kills it with all that it started (SIGKILL).
    pub fn kill(&mut self) {
        // It is a group of its own.
        let _ = Command::new("kill").args(["-9", "--", &format!("-{}", self.child.id())]).status();
        let _ = self.child.wait();
    }

    /// Starts it again where it was.
    pub fn start_again(&mut self) {
        self.child = run(&self.kind, self.port, &self.log);
    }

    /// Waits until it answers.
    pub fn wait(&self) {
        let store = TestStore::new();
        let (began, mut said) = (Instant::now(), String::new());
        while began.elapsed() < START {
            match self.engine(&store, self.port).query("SELECT 1 AS a", &Scope::of([])) {
                Ok(_) => return,
                Err(error) => said = error.to_string(),
            }
            thread::sleep(Duration::from_millis(200));
        }
        panic!("{} did not start: {said}\n{}", self.kind, fs_err::read_to_string(self.log.path()).unwrap());
    }

    /// An engine that asks at `port`: the server's, or that of a proxy before it.
    pub fn engine(&self, store: &TestStore, port: u16) -> Engine {
        super::cluster(store, &format!("sc://127.0.0.1:{port}"))
    }

    /// The processes that compute for it.
    pub fn executors(&self) -> Vec<u32> {
        let children = descendants(self.child.id());
        let computes = |pid: &u32| {
            let words = fs_err::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).contains("CoarseGrainedExecutorBackend")
        };
        children.into_iter().filter(computes).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

fn run(kind: &str, port: u16, log: &tempfile::NamedTempFile) -> Child {
    let script = Path::new("../../scripts/cluster");
    let (out, err) = (log.reopen().unwrap(), log.reopen().unwrap());
    let mut command = Command::new(script);
    command.args(["run", kind, &port.to_string()]).stdin(Stdio::null()).stdout(out).stderr(err);
    command.process_group(0).spawn().unwrap()
}

/// All that a process started, and what these started.
fn descendants(of: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut looked = vec![of];
    while let Some(pid) = looked.pop() {
        let Ok(threads) = fs_err::read_dir(format!("/proc/{pid}/task")) else { continue };
        for thread in threads.flatten() {
            let children = fs_err::read_to_string(thread.path().join("children")).unwrap_or_default();
            let children: Vec<u32> = children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
            looked.extend(&children);
            found.extend(children);
        }
    }
    found
}
