//! PostgreSQL and MariaDB as they are installed, started by the tests: every workload runs, and the database is asked
//! afterwards.
//!
//! A machine without a server cannot run its test, which then says so and is content.

use std::{
    net::TcpListener,
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use fs_err as fs;

use fenxi_load::{
    client::Client,
    engine::{Outcome, Plan, run},
    policy::Policy,
    prepare::{self, PrepareError, Prepared},
    schedule::{Arrival, Rate, Schedule},
    target::{Surroundings, Target},
    wire::Mode,
    workload::{Program, SHIPPED, Workload},
};

/// A server with a folder of its own; both end with it.
struct Server {
    scheme: &'static str,
    user: &'static str,
    port: u16,
    child: Child,
    folder: tempfile::TempDir,
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// A command that runs as another user where this one is root, which servers do not want to be.
fn as_user(user: &str, program: impl AsRef<Path>) -> Command {
    let program = program.as_ref();
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.arg(format!("--reuid={user}")).arg(format!("--regid={user}")).arg("--init-groups").arg(program);
    command
}

fn quietly(command: &mut Command) -> bool {
    let output = command.stdin(Stdio::null()).output();
    let good = output.as_ref().is_ok_and(|o| o.status.success());
    if !good {
        eprintln!("{command:?}: {output:?}");
    }
    good
}

fn postgres_programs() -> Option<PathBuf> {
    let mut found: Vec<_> = fs::read_dir("/usr/lib/postgresql").ok()?.flatten().map(|e| e.path().join("bin")).collect();
    found.sort();
    found.pop().filter(|bin| bin.join("initdb").exists())
}

impl Server {
    fn postgres() -> Option<Server> {
        let bin = postgres_programs()?;
        let folder = tempfile::tempdir().unwrap();
        quietly(Command::new("chmod").arg("777").arg(folder.path()));
        let data = folder.path().join("data");
        let initdb = ["-A", "trust", "-U", "postgres", "--no-sync", "-D"];
        assert!(quietly(as_user("postgres", bin.join("initdb")).args(initdb).arg(&data)));
        let port = free_port();
        let mut command = as_user("postgres", bin.join("postgres"));
        command.arg("-D").arg(&data).args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]);
        // The eight connections of a short run would otherwise all wait a second in a deadlock.
        command.args(["-c", "deadlock_timeout=10ms", "-p"]);
        command.arg(port.to_string()).arg("-k").arg(folder.path());
        Some(Server::started("postgres", "postgres", port, command, folder))
    }

    fn mariadb() -> Option<Server> {
        let program = ["/usr/sbin/mariadbd", "/usr/sbin/mysqld"].into_iter().find(|p| Path::new(p).exists())?;
        let folder = tempfile::tempdir().unwrap();
        quietly(Command::new("chmod").arg("777").arg(folder.path()));
        let data = folder.path().join("data");
        let mut install = as_user("mysql", "/usr/bin/mariadb-install-db");
        install.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
        assert!(quietly(install.arg(format!("--datadir={}", data.display()))));
        let port = free_port();
        let mut command = as_user("mysql", program);
        command.args(["--no-defaults", "--bind-address=127.0.0.1", "--skip-name-resolve", "--local-infile=1"]);
        command.arg("--innodb-flush-log-at-trx-commit=0").arg(format!("--port={port}"));
        command.arg(format!("--datadir={}", data.display()));
        command.arg(format!("--socket={}", folder.path().join("my.sock").display()));
        let server = Server::started("mysql", "root", port, command, folder);
        server.client("mysql").run("CREATE DATABASE test").unwrap();
        Some(server)
    }

    fn started(
        scheme: &'static str,
        user: &'static str,
        port: u16,
        mut command: Command,
        folder: tempfile::TempDir,
    ) -> Server {
        let log = fs::File::create(folder.path().join("log")).unwrap().into_parts().0;
        let child = command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let server = Server { scheme, user, port, child, folder };
        let database = if scheme == "mysql" { "mysql" } else { "postgres" };
        let until = Instant::now() + Duration::from_secs(90);
        while Client::connect(&server.target(database), Duration::from_secs(5)).is_err() {
            let log = || fs::read_to_string(server.folder.path().join("log")).unwrap_or_default();
            assert!(Instant::now() < until, "no server: {}", log());
            std::thread::sleep(Duration::from_millis(100));
        }
        server
    }

    fn url(&self, database: &str) -> String {
        format!("{}://{}@127.0.0.1:{}/{database}", self.scheme, self.user, self.port)
    }

    fn target(&self, database: &str) -> Target {
        Target::parse(&self.url(database), &Surroundings::default()).unwrap()
    }

    fn database(&self) -> &'static str {
        if self.scheme == "mysql" { "test" } else { "postgres" }
    }

    fn client(&self, database: &str) -> Client {
        Client::connect(&self.target(database), Duration::from_secs(10)).unwrap()
    }

    fn number(&self, sql: &str) -> i64 {
        self.client(self.database()).number(sql).unwrap().unwrap_or(0)
    }

    fn program(&self, name: &str, settings: &[(&str, &str)]) -> Program {
        let target = self.target(self.database());
        let mut workload = Workload::shipped(name).unwrap();
        for (key, value) in settings {
            workload.set(key, value).unwrap();
        }
        workload.compile(target.login.dialect).unwrap()
    }

    fn prepare(&self, program: &Program) -> Result<Prepared, PrepareError> {
        prepare::prepare(&self.target(self.database()), program, 1, 2, &mut |_| ControlFlow::Continue(()))
    }

    fn run(&self, program: Program, mode: Mode, schedule: Schedule) -> Outcome {
        let target = self.target(self.database());
        let plan = Plan {
            endpoint: target.endpoints().unwrap().remove(0),
            policy: Policy::of(target.login.dialect),
            target,
            program: Arc::new(program),
            mode,
            schedule: Arc::new(schedule),
            connections: 8,
            threads: 2,
            warmup_s: 0.0,
            duration_s: 0.5,
            interval_s: 0.5,
            drain_s: 20.0,
            connects_per_s: None,
            seed: 3,
        };
        run(&plan, &mut |_| ControlFlow::Continue(())).unwrap()
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

/// What is the same for both servers.
fn every_workload_runs(server: &Server, modes: &[Mode]) {
    for (number, (name, _)) in SHIPPED.iter().enumerate() {
        let size: &[_] = if name.starts_with("tpcb") || name.starts_with("select_only") {
            &[]
        } else {
            &[("tables", "2"), ("table_size", "1000")]
        };
        let program = server.program(name, size);
        server.prepare(&program).unwrap();
        let mode = modes[number % modes.len()];
        let outcome = server.run(program, mode, Schedule::Closed);
        let tally = &outcome.total.tally;
        assert!(done(&outcome) > 10, "{name} {mode:?}: {tally:?}");
        let unexpected: Vec<_> = tally.errors.values().filter(|(_, text)| !is_race(text)).collect();
        assert!(unexpected.is_empty() && outcome.stopped.is_none(), "{name} {mode:?}: {unexpected:?}");
        // `oltp_delete` and `oltp_insert` change how many rows there are.
        prepare::cleanup(&server.target(server.database()), &server.program(name, size)).unwrap();
    }
}

/// Transactions completed, those after the end of the run included.
fn done(outcome: &Outcome) -> u64 {
    outcome.total.tally.transactions + outcome.drained.transactions
}

/// Whether an error is of the race between transactions.
fn is_race(text: &str) -> bool {
    let text = text.to_lowercase();
    ["deadlock", "duplicate", "lock wait"].iter().any(|word| text.contains(word))
}

fn balances_add_up(server: &Server, mode: Mode) {
    let program = server.program("tpcb_like", &[("scale", "2")]);
    server.prepare(&program).unwrap();
    let schedule = Schedule::Open { rate: Rate::constant(100.0), arrival: Arrival::Poisson };
    let outcome = server.run(program, mode, schedule);
    let history = server.number("SELECT count(*) FROM pgbench_history");
    assert_eq!((u64::try_from(history).unwrap(), outcome.unfinished), (done(&outcome), 0));
    let deltas = server.number("SELECT sum(delta) FROM pgbench_history");
    for sum in [
        "sum(abalance) FROM pgbench_accounts",
        "sum(tbalance) FROM pgbench_tellers",
        "sum(bbalance) FROM pgbench_branches",
    ] {
        assert_eq!(server.number(&format!("SELECT {sum}")), deltas, "{sum}");
    }
}

fn deleted_rows_are_back(server: &Server, mode: Mode) {
    // Few rows and a hot end: transactions delete and insert the same ones.
    let settings = [("table_size", "200"), ("distribution", "zipfian:1.2")];
    let program = server.program("oltp_write_only", &settings);
    server.prepare(&program).unwrap();
    let outcome = server.run(program, mode, Schedule::Closed);
    assert_eq!(outcome.unfinished, 0);
    assert!(done(&outcome) > 20, "{:?}", outcome.total.tally);
    assert_eq!(server.number("SELECT count(*) FROM sbtest1"), 200);
    assert_eq!(server.number("SELECT count(DISTINCT id) FROM sbtest1 WHERE id BETWEEN 1 AND 200"), 200);
    assert_eq!(outcome.total.tally.failed, 0);
}

fn loading_goes_on_and_is_the_same_for_a_seed(server: &Server) {
    let program = server.program("oltp_read_write", &[("table_size", "120_000")]);
    let sum = "SELECT sum(k) FROM sbtest1";
    let first = server.prepare(&program).unwrap();
    assert_eq!((first.rows, first.loaded, first.by_statements), (120_000, 120_000, false));
    let whole = server.number(sum);
    // As if it had been cut off: one part of three is there, and no statement after the data.
    let mut client = server.client(server.database());
    client.run("DELETE FROM sbtest1 WHERE id > 50000").unwrap();
    client.run("DELETE FROM fenxi_load WHERE item IN ('sbtest1:part 1', 'sbtest1:part 2')").unwrap();
    let second = server.prepare(&program).unwrap();
    assert_eq!((second.rows, second.loaded, server.number(sum)), (120_000, 70_000, whole));
    let other = server.prepare(&server.program("oltp_read_write", &[("table_size", "10")])).unwrap_err();
    assert!(other.to_string().contains("sbtest1 was made otherwise (rows 120000, seed 1"), "{other}");
    client.run("DELETE FROM sbtest1 WHERE id = 1").unwrap();
    let short = server.prepare(&program).unwrap_err();
    assert_eq!(short.to_string(), "sbtest1 has 119999 rows where 120000 were loaded");
    assert_eq!(prepare::cleanup(&server.target(server.database()), &program).unwrap(), 1);
    assert!(client.run("SELECT 1 FROM fenxi_load").is_err());
}

fn a_dropped_table_is_counted(server: &Server, code: &str) {
    let program = server.program("oltp_point_select", &[("table_size", "10")]);
    let outcome = server.run(
        program,
        Mode::Simple,
        Schedule::Open { rate: Rate::constant(100.0), arrival: Arrival::Steady { jitter: 0.1 } },
    );
    let tally = &outcome.total.tally;
    assert_eq!(tally.errors.keys().map(ToString::to_string).collect::<Vec<_>>(), [code]);
    assert!(tally.failed >= 45 && tally.transactions == 0);
}

/// Says, where the closing lines of a test run are gathered, what was not tried.
fn skipped(server: &str) {
    eprintln!("SKIPPED load on {server}: it is not installed here");
}

#[test]
fn postgres_runs_every_workload_and_keeps_what_it_should() {
    let Some(server) = Server::postgres() else { return skipped("PostgreSQL") };
    a_dropped_table_is_counted(&server, "42P01");
    loading_goes_on_and_is_the_same_for_a_seed(&server);
    every_workload_runs(&server, &[Mode::Simple, Mode::Prepared, Mode::Pipelined]);
    balances_add_up(&server, Mode::Pipelined);
    deleted_rows_are_back(&server, Mode::Prepared);
    passwords_of_postgres(&server);
    let target = server.target("no_such_database");
    let refused = Client::connect(&target, Duration::from_secs(5)).unwrap_err();
    assert_eq!(refused.server().unwrap().sqlstate(), "3D000");
}

/// SCRAM, MD5 and clear text, right and wrong.
fn passwords_of_postgres(server: &Server) {
    let mut client = server.client("postgres");
    client.run("CREATE ROLE scram LOGIN PASSWORD 'pass w\u{f6}rd'").unwrap();
    client.run("SET password_encryption = md5").unwrap();
    client.run("CREATE ROLE md5 LOGIN PASSWORD 'secret'").unwrap();
    let rules =
        "host all scram 127.0.0.1/32 scram-sha-256\nhost all md5 127.0.0.1/32 md5\nhost all all 127.0.0.1/32 trust\n";
    fs::write(server.folder.path().join("data/pg_hba.conf"), rules).unwrap();
    client.run("SELECT pg_reload_conf()").unwrap();
    let login = |user: &str, password: &str| {
        let url = format!("postgres://{user}:{password}@127.0.0.1:{}/postgres", server.port);
        let target = Target::parse(&url, &Surroundings::default()).unwrap();
        Client::connect(&target, Duration::from_secs(10)).map(drop).map_err(|e| e.to_string())
    };
    let until = Instant::now() + Duration::from_secs(20);
    while login("scram", "wrong").is_ok() {
        assert!(Instant::now() < until, "the server does not read its rules");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(login("scram", "wrong").unwrap_err().contains("28P01"));
    login("scram", "pass%20w%C3%B6rd").unwrap();
    login("md5", "secret").unwrap();
    assert!(login("md5", "wrong").unwrap_err().contains("28P01"));
}

#[test]
fn mariadb_runs_every_workload_and_keeps_what_it_should() {
    let Some(server) = Server::mariadb() else { return skipped("MariaDB") };
    a_dropped_table_is_counted(&server, "1146/42S02");
    loading_goes_on_and_is_the_same_for_a_seed(&server);
    every_workload_runs(&server, &[Mode::Simple, Mode::Prepared]);
    balances_add_up(&server, Mode::Prepared);
    deleted_rows_are_back(&server, Mode::Prepared);
    let mut client = server.client("mysql");
    client.run("CREATE USER bob@'127.0.0.1' IDENTIFIED BY 'secret'").unwrap();
    client.run("GRANT ALL ON test.* TO bob@'127.0.0.1'").unwrap();
    let login = |password: &str| {
        let url = format!("mysql://bob:{password}@127.0.0.1:{}/test", server.port);
        let target = Target::parse(&url, &Surroundings::default()).unwrap();
        Client::connect(&target, Duration::from_secs(10)).map(drop)
    };
    login("secret").unwrap();
    assert_eq!(login("wrong").unwrap_err().server().unwrap().number, 1045);
    client.run("SET GLOBAL local_infile = 0").unwrap();
    let program = server.program("oltp_read_write", &[("table_size", "1200")]);
    prepare::cleanup(&server.target("test"), &program).unwrap();
    assert!(server.prepare(&program).unwrap().by_statements);
}
