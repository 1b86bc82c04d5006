//! Readings from made-up rows.

use super::*;

/// A second of one server: ten samples, in which one session waits behind another one.
fn second(n: i64, rows: &mut Rows) {
    let begin = n * 1_000_000;
    for sample in 1..=10 {
        let t = Micros(begin + sample * 100_000);
        for (session, class) in [(1, activity::IDLE_IN_TRANSACTION), (2, activity::LOCK), (3, activity::IDLE)] {
            rows.row(&db_session::TABLE, t, 0.1)
                .str(db_session::server, "s")
                .i64(db_session::session, session)
                .str(db_session::kind, "client backend")
                .str(db_session::activity, class)
                .str(db_session::digest, "d2")
                .str(db_session::statement, "update t set n = ?");
        }
    }
    let t = Micros(begin + 1_000_000);
    rows.row(&db::TABLE, t, 1.0).str(db::server, "s").f64(db::samples, 10.0).f64(db::commits_per_s, 7.0);
    for (measured, class, time) in
        [("sampled", activity::CPU, 0.5), ("sampled", activity::LOCK, 1.0), ("os", activity::CPU, 0.7)]
    {
        rows.row(&db_wait::TABLE, t, 1.0)
            .str(db_wait::server, "s")
            .str(db_wait::kind, "client")
            .str(db_wait::measured, measured)
            .str(db_wait::activity, class)
            .f64(db_wait::time, time);
    }
    rows.row(&db_lock::TABLE, t, 1.0)
        .str(db_lock::server, "s")
        .i64(db_lock::waiter, 2)
        .i64(db_lock::blocker, 1)
        .str(db_lock::digest, "d2");
}

fn told(databases: &mut Databases, t: i64, rows: &Rows) -> serde_json::Value {
    serde_json::from_str(&databases.take(Micros(t), rows).unwrap()).unwrap()
}

#[test]
fn a_reading_has_the_sessions_of_its_interval_and_classes_as_measured_best() {
    let mut databases = Databases::default();
    let mut rows = Rows::new("h");
    // Of the first interval nothing is known but its samples.
    second(0, &mut rows);
    second(1, &mut rows);
    rows.row(&sched::TABLE, Micros(2_000_000), 1.0).f64(sched::cpus_online, 4.0);
    let told = told(&mut databases, 2_000_000, &rows);
    let reading = &told[1]["reading"];
    assert_eq!(reading["classes"], serde_json::json!({ "cpu": 0.7, "lock": 1.0 }));
    assert_eq!((&reading["cpus"], &reading["figures"]["transactions_per_s"]), (&4.0.into(), &7.0.into()));
    let sessions: Vec<_> = reading["sessions"].as_array().unwrap().iter().collect();
    assert_eq!(sessions.len(), 2, "idle ones are in no list: {sessions:?}");
    assert!(sessions.iter().all(|s| s["sessions"] == 1.0), "{sessions:?}");
    assert_eq!(reading["locks"][0]["blocker"], 1);
    assert_eq!(reading["texts"]["d2"], "update t set n = ?");
}

#[test]
fn a_server_that_is_lost_says_so_until_it_is_back() {
    let mut databases = Databases::default();
    let mut rows = Rows::new("h");
    rows.note("t", None, "not observed: no such host");
    rows.event(Micros(1), "connection lost", "s", "closed");
    let first = told(&mut databases, 1, &rows);
    assert_eq!((&first[0]["server"], &first[0]["trouble"]), (&"s".into(), &"connection lost: closed".into()));
    assert_eq!(first[1]["trouble"], "no such host");
    let mut rows = Rows::new("h");
    rows.event(Micros(2), "connected", "s", "again");
    let later = told(&mut databases, 2, &rows);
    assert_eq!(later.as_array().unwrap().len(), 1, "{later}");
}
