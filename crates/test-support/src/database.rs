//! PostgreSQL and MariaDB as they are installed, started by the tests in separate folders.
//!
//! A machine without a server cannot run its test, which is then reported and passes.

#![allow(clippy::print_stderr, reason = "a test prints why a server did not start")]

use std::{
    net::TcpListener,
    ops::ControlFlow,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use fs_err as fs;

use fenxi_load::{
    engine::{Outcome, Plan, Settings, run},
    policy::Policy,
    prepare::{self, PrepareError, Prepared},
    schedule::Schedule,
    workload::{Program, Workload},
};
use fenxi_wire::{
    Mode,
    client::Client,
    target::{Surroundings, Target},
};

/// A server with its own folder; both end with it.
pub struct Server {
    pub scheme: &'static str,
    user: &'static str,
    pub port: u16,
    command: Command,
    pub child: Child,
    pub folder: tempfile::TempDir,
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

pub fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// A command that runs as another user where this one is root, which servers do not want to be.
pub fn as_user(user: &str, program: impl AsRef<Path>) -> Command {
    let program = program.as_ref();
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.arg(format!("--reuid={user}")).arg(format!("--regid={user}")).arg("--init-groups").arg(program);
    command
}

pub fn quietly(command: &mut Command) -> bool {
    let output = command.stdin(Stdio::null()).output();
    let good = output.as_ref().is_ok_and(|o| o.status.success());
    if !good {
        eprintln!("{command:?}: {output:?}");
    }
    good
}

/// The folder of PostgreSQL's programs.
pub fn postgres_programs() -> Option<PathBuf> {
    let mut found: Vec<_> = fs::read_dir("/usr/lib/postgresql").ok()?.flatten().map(|e| e.path().join("bin")).collect();
    found.sort();
    found.pop().filter(|bin| bin.join("initdb").exists())
}

/// A new data folder. The first one that `program` makes is kept with the build, and the others are its copies: to make one
/// takes seconds.
fn made_or_copied(data: &Path, program: &Path, make: impl FnOnce() -> bool) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let copy = |from: &Path, to: &Path| quietly(Command::new("cp").arg("-a").arg(from).arg(to));
    let changed = fs::metadata(program).unwrap().mtime();
    let owner = rustix::process::getuid().as_raw();
    let name = format!("data{}-{changed}-{owner}", program.display()).replace('/', "-");
    // The test program is `TARGET/debug/deps/it-…`; `TARGET/tmp` is the scratch folder of tests.
    let program = std::env::current_exe().unwrap();
    let folder = program.ancestors().nth(3).unwrap().join("tmp");
    fs::create_dir_all(&folder).unwrap();
    let kept = folder.join(name);
    let one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.exists() {
        drop(one);
        return assert!(copy(&kept, data));
    }
    assert!(make());
    // It appears whole, and other test programs may be as far.
    let own = kept.with_extension(std::process::id().to_string());
    assert!(copy(data, &own));
    if fs::rename(&own, &kept).is_err() {
        fs::remove_dir_all(&own).unwrap();
    }
}

impl Server {
    pub fn postgres() -> Option<Server> {
        Server::postgres_with(&[])
    }

    /// With more arguments.
    pub fn postgres_with(more: &[&str]) -> Option<Server> {
        Server::postgres_by(&postgres_programs()?.join("postgres"), more)
    }

    /// By a program of the installed version, with more arguments.
    pub fn postgres_by(program: &Path, more: &[&str]) -> Option<Server> {
        Some(Server::postgres_of(&postgres_programs()?, program, more))
    }

    /// Of any version: by the programs in a folder, beside which their libraries are where they ship some.
    pub fn postgres_of(bin: &Path, program: &Path, more: &[&str]) -> Server {
        let folder = tempfile::tempdir().unwrap();
        quietly(Command::new("chmod").arg("777").arg(folder.path()));
        let data = folder.path().join("data");
        let (initdb, libraries) = (bin.join("initdb"), bin.with_file_name("lib"));
        made_or_copied(&data, &initdb, || {
            let mut install = as_user("postgres", &initdb);
            install.env("LD_LIBRARY_PATH", &libraries).args(["-A", "trust", "-U", "postgres", "--no-sync", "-D"]);
            quietly(install.arg(&data))
        });
        let port = free_port();
        let mut command = as_user("postgres", program);
        command.env("LD_LIBRARY_PATH", libraries);
        command.arg("-D").arg(&data).args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]);
        // The eight connections of a short run would otherwise all wait a second in a deadlock.
        command.args(["-c", "deadlock_timeout=10ms", "-p"]);
        command.arg(port.to_string()).arg("-k").arg(folder.path()).args(more);
        Server::started("postgres", "postgres", port, command, folder)
    }

    pub fn mariadb() -> Option<Server> {
        Server::mariadb_with(&[])
    }

    /// With more arguments.
    pub fn mariadb_with(more: &[&str]) -> Option<Server> {
        let program = ["/usr/sbin/mariadbd", "/usr/sbin/mysqld"].into_iter().find(|p| Path::new(p).exists())?;
        let folder = tempfile::tempdir().unwrap();
        quietly(Command::new("chmod").arg("777").arg(folder.path()));
        let data = folder.path().join("data");
        made_or_copied(&data, Path::new(program), || {
            let mut install = as_user("mysql", "/usr/bin/mariadb-install-db");
            install.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
            // Several at a time would take each other's temporary tables.
            install.env("TMPDIR", folder.path());
            quietly(install.arg(format!("--datadir={}", data.display())))
        });
        let port = free_port();
        let mut command = as_user("mysql", program);
        command.args(["--no-defaults", "--bind-address=127.0.0.1", "--skip-name-resolve", "--local-infile=1"]);
        command.arg("--innodb-flush-log-at-trx-commit=0").arg(format!("--port={port}"));
        command.env("TMPDIR", folder.path()).arg(format!("--datadir={}", data.display()));
        command.arg(format!("--socket={}", folder.path().join("my.sock").display())).args(more);
        let server = Server::started("mysql", "root", port, command, folder);
        server.client("mysql").run("CREATE DATABASE test").unwrap();
        Some(server)
    }

    /// By a command that starts it.
    pub fn started(
        scheme: &'static str,
        user: &'static str,
        port: u16,
        mut command: Command,
        folder: tempfile::TempDir,
    ) -> Server {
        let log = fs::File::create(folder.path().join("log")).unwrap().into_parts().0;
        let child = command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let server = Server { scheme, user, port, command, child, folder };
        server.wait();
        server
    }

    /// Until it takes connections.
    fn wait(&self) {
        let database = if self.scheme == "mysql" { "mysql" } else { "postgres" };
        let until = Instant::now() + Duration::from_secs(90);
        while Client::connect(&self.target(database), Duration::from_secs(5)).is_err() {
            let log = || fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(Instant::now() < until, "no server: {}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Kills it as a crash would.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again with the same data.
    pub fn start_again(&mut self) {
        // Children of a killed PostgreSQL may hold its memory for a moment, and it does not start beside them.
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            self.child = self.command.spawn().unwrap();
            std::thread::sleep(Duration::from_millis(500));
            if matches!(self.child.try_wait(), Ok(None)) {
                return self.wait();
            }
            assert!(Instant::now() < until, "it does not start again");
        }
    }

    pub fn url(&self, database: &str) -> String {
        format!("{}://{}@127.0.0.1:{}/{database}", self.scheme, self.user, self.port)
    }

    pub fn target(&self, database: &str) -> Target {
        Target::parse(&self.url(database), &Surroundings::default()).unwrap()
    }

    pub fn database(&self) -> &'static str {
        if self.scheme == "mysql" { "test" } else { "postgres" }
    }

    pub fn client(&self, database: &str) -> Client {
        Client::connect(&self.target(database), Duration::from_secs(10)).unwrap()
    }

    pub fn number(&self, sql: &str) -> i64 {
        self.client(self.database()).number(sql).unwrap().unwrap_or(0)
    }

    pub fn program(&self, name: &str, settings: &[(&str, &str)]) -> Program {
        let target = self.target(self.database());
        let mut workload = Workload::shipped(name).unwrap();
        for (key, value) in settings {
            workload.set(key, value).unwrap();
        }
        workload.compile(target.login.dialect).unwrap()
    }

    pub fn prepare(&self, program: &Program) -> Result<Prepared, PrepareError> {
        prepare::prepare(&self.target(self.database()), program, 1, 2, &mut |_| ControlFlow::Continue(()))
    }

    pub fn run(&self, program: Program, mode: Mode, schedule: Schedule) -> Outcome {
        run(&self.plan(program, mode, schedule), &mut |_| ControlFlow::Continue(())).unwrap()
    }

    /// Eight connections for half a second.
    pub fn plan(&self, program: Program, mode: Mode, schedule: Schedule) -> Plan {
        let target = self.target(self.database());
        Plan {
            endpoint: target.endpoints().unwrap().remove(0),
            program: Arc::new(program),
            threads: 2,
            share: None,
            run: Settings {
                mode,
                schedule,
                connections: 8,
                pin: Vec::new(),
                warmup_s: 0.0,
                duration_s: 0.5,
                interval_s: 0.5,
                drain_s: 20.0,
                connects_per_s: None,
                seed: 3,
                policy: Policy::for_dialect(target.login.dialect),
            },
            target,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Asked politely, a server ends its children and removes its shared memory.
        let signal = if self.scheme == "mysql" { "-TERM" } else { "-INT" };
        quietly(Command::new("kill").args([signal, &self.child.id().to_string()]));
        let _ = self.child.wait();
    }
}

/// Prints, where the closing lines of a test run are gathered, what was not tried and why.
pub fn skipped(what: &str, why: &str) {
    eprintln!("SKIPPED load on {what}: {why}");
}
