//! Every way in which PostgreSQL forgets what it counted: nothing that is read afterwards is negative, huge or invented.

use fenxi_load::schedule::Schedule;
use fenxi_model::catalog::{db_statement, event};
use fenxi_wire::Mode;

use crate::{
    observe::{amount, begin, places},
    server::{Server, skipped},
};

/// Each, and a word of the event that it leaves; none where what is counted from nothing is its own growth.
const RESETS: &[(&str, Option<&str>)] = &[
    ("SELECT pg_stat_reset()", Some("databases")),
    ("SELECT pg_stat_reset_shared('bgwriter')", Some("checkpoints")),
    ("SELECT pg_stat_reset_shared('wal')", Some("write-ahead log")),
    ("SELECT pg_stat_reset_single_table_counters('pgbench_accounts'::regclass)", Some("tables")),
    ("SELECT pg_stat_statements_reset()", None),
];

#[test]
fn each_reset_is_told_and_leaves_no_wrong_figure() {
    let more = ["-c", "shared_preload_libraries=pg_stat_statements", "-c", "track_io_timing=on"];
    let Some(server) = Server::postgres_with(&more) else { return skipped("PostgreSQL", "it is not installed") };
    let mut client = server.client("postgres");
    client.run("CREATE EXTENSION pg_stat_statements").unwrap();
    let program = || server.program("tpcb_like", &[("scale", "1")]);
    server.prepare(&program()).unwrap();
    let work = || {
        let outcome = server.run(program(), Mode::Prepared, Schedule::Closed);
        (outcome.total.tally.transactions + outcome.drained.transactions) as f64
    };
    // So that there is something to be forgotten.
    let mut done = work();
    client.run("CHECKPOINT").unwrap();
    for (reset, told) in RESETS {
        let mut observation = begin(&server.url("postgres"), 10).unwrap();
        observation.go_on(1.2);
        client.run(reset).unwrap();
        done += work();
        observation.go_on(1.2);
        let rows = observation.end();
        for table in rows.tables().filter(|table| table.table().name.starts_with("db")) {
            for (place, column) in table.table().columns.iter().enumerate().filter(|(_, c)| c.name.ends_with("_per_s"))
            {
                for value in (0..table.n_rows()).filter_map(|row| table.f64(row, place)) {
                    assert!((0.0..1e10).contains(&value), "{reset}: {}.{} is {value}", table.table().name, column.name);
                }
            }
        }
        let events = rows.of(&event::TABLE);
        let is_told = |word: &str| {
            events.is_some_and(|events| {
                !places(&rows, &event::TABLE, |row| {
                    events.str(row, event::kind) == Some("counter reset")
                        && events.str(row, event::message).is_some_and(|message| message.starts_with(word))
                })
                .is_empty()
            })
        };
        assert!(told.is_none_or(is_told), "{reset}: no event");
        if told.is_none() {
            let statements = rows.of(&db_statement::TABLE).unwrap();
            let calls = amount(&rows, &db_statement::TABLE, (db_statement::dt, db_statement::calls_per_s), |row| {
                statements
                    .str(row, db_statement::statement)
                    .is_some_and(|text| text.starts_with("update pgbench_accounts"))
            });
            assert!(calls > 0.0 && calls <= done + 0.01, "{reset}: {calls} of {done}");
        }
    }
}
