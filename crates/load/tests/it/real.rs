//! Real servers run every workload, and the database is asked afterwards.

use std::time::{Duration, Instant};

use fs_err as fs;

use fenxi_load::{
    engine::Outcome,
    prepare,
    schedule::{Arrival, Rate, Schedule},
    workload::SHIPPED,
};
use fenxi_wire::{
    Mode,
    client::Client,
    target::{Surroundings, Target},
};

use crate::server::{Server, skipped};

/// Checks that are the same for both servers.
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
    assert!(other.to_string().contains("sbtest1 was created with other options (rows 120000, seed 1"), "{other}");
    client.run("DELETE FROM sbtest1 WHERE id = 1").unwrap();
    let short = server.prepare(&program).unwrap_err();
    assert_eq!(short.to_string(), "sbtest1 has 119999 rows instead of the 120000 loaded");
    assert_eq!(prepare::cleanup(&server.target(server.database()), &program).unwrap(), 1);
    assert!(client.run("SELECT 1 FROM fenxi_load").is_err());
}

/// Another transaction holds a row in the middle of the part, waits until loading waits for it, and then asks for a row that
/// loading has written: MariaDB rolls back the one that changed fewer rows, which is loading.
fn loading_survives_a_deadlock(server: &Server) {
    let program = server.program("oltp_read_write", &[("table_size", "20_000")]);
    server.prepare(&program).unwrap();
    let mut other = server.client(server.database());
    let sum = server.number("SELECT sum(k) FROM sbtest1");
    other.run("DELETE FROM fenxi_load WHERE item = 'sbtest1:part 0'").unwrap();
    other.run("DELETE FROM sbtest1").unwrap();
    other.run("CREATE TABLE heavy (id INT PRIMARY KEY) ENGINE=InnoDB").unwrap();
    other.run("BEGIN").unwrap();
    other.run("INSERT INTO heavy SELECT seq FROM seq_1_to_60000").unwrap();
    other.run("INSERT INTO sbtest1 (id, k, c, pad) VALUES (15000, 0, '', '')").unwrap();
    std::thread::scope(|scope| {
        let loading = scope.spawn(|| server.prepare(&program));
        let until = Instant::now() + Duration::from_secs(60);
        while server.number("SELECT count(*) FROM information_schema.innodb_lock_waits") == 0 {
            assert!(Instant::now() < until, "loading does not wait for the row");
            // InnoDB renews this table only when it was not read for a tenth of a second.
            std::thread::sleep(Duration::from_millis(250));
        }
        other.run("INSERT INTO sbtest1 (id, k, c, pad) VALUES (1, 0, '', '')").unwrap();
        other.run("ROLLBACK").unwrap();
        let loaded = loading.join().unwrap().unwrap();
        assert_eq!((loaded.rows, loaded.loaded), (20_000, 20_000));
    });
    assert_eq!(server.number("SELECT sum(k) FROM sbtest1"), sum);
    other.run("DROP TABLE heavy").unwrap();
    prepare::cleanup(&server.target(server.database()), &program).unwrap();
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
    assert_eq!(tally.transactions, 0);
    // How many of the 50 ended in time is the machine's affair.
    let ended = (tally.failed, outcome.drained.failed, outcome.unstarted);
    assert!(tally.failed > 0 && (49..=51).contains(&(ended.0 + ended.1 + ended.2)), "{ended:?}");
}

#[test]
fn postgres_runs_every_workload_and_keeps_what_it_should() {
    let Some(server) = Server::postgres() else { return skipped("PostgreSQL", "it is not installed here") };
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
    let Some(server) = Server::mariadb() else { return skipped("MariaDB", "it is not installed here") };
    a_dropped_table_is_counted(&server, "1146/42S02");
    loading_goes_on_and_is_the_same_for_a_seed(&server);
    loading_survives_a_deadlock(&server);
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
