//! Questions that are asked the day after: who blocked whom, what kept old rows, replicas and long operations, on rows with
//! answers calculated by hand.

use fenxi_model::{
    Rows,
    catalog::{db, db_lock, db_progress, db_replication, db_session},
};

use crate::store::{TestStore, at};

const SERVER: &str = "localhost:5432";

/// A second in which sessions wait for session 9, which is idle in a transaction of an age.
fn blocked(rows: &mut Rows, second: f64, waiters: &[i64], age_s: f64) {
    for waiter in waiters {
        rows.row(&db_lock::TABLE, at(second), 1.0)
            .str(db_lock::server, SERVER)
            .i64(db_lock::waiter, *waiter)
            .i64(db_lock::blocker, 9)
            .i64(db_lock::root, 9)
            .f64(db_lock::depth, 1.0)
            .str(db_lock::lock, "transactionid")
            .str(db_lock::direct, "yes")
            .str(db_lock::relation, "public.orders")
            .f64(db_lock::waited_s, 1.0)
            .str(db_lock::blocker_state, "idle in transaction")
            .f64(db_lock::blocker_transaction_age_s, age_s);
    }
}

fn session(rows: &mut Rows, second: f64, number: i64, statement: &str, age_s: f64) {
    rows.row(&db_session::TABLE, at(second), 0.1)
        .str(db_session::server, SERVER)
        .i64(db_session::session, number)
        .str(db_session::kind, "client backend")
        .str(db_session::user, "clerk")
        .str(db_session::state, "active")
        .str(db_session::activity, "cpu")
        .str(db_session::digest, statement)
        .str(db_session::statement, statement)
        .f64(db_session::xmin_age, 100.0 * age_s)
        .f64(db_session::transaction_age_s, age_s);
}

/// Two transactions of session 9 block: one for two seconds, one forty seconds later for one; before both it did another thing.
fn incident(rows: &mut Rows) {
    for second in 1..=60 {
        rows.row(&db::TABLE, at(f64::from(second)), 1.0)
            .str(db::server, SERVER)
            .f64(db::samples, 10.0)
            .f64(db::xid_age, 2e8)
            .f64(db::oldest_xmin_transactions, f64::from(second));
    }
    session(rows, 1.0, 9, "select before", 0.1);
    session(rows, 5.0, 9, "update orders", 0.5);
    session(rows, 5.5, 9, "select more", 1.0);
    blocked(rows, 6.0, &[7, 8], 1.5);
    blocked(rows, 7.0, &[7, 8], 2.5);
    session(rows, 47.1, 7, "update orders", 0.5);
    blocked(rows, 47.0, &[7], 1.5);
    for (second, lag, kept) in [(10.0, 1.0, 1e6), (20.0, 3.0, 5e6)] {
        rows.row(&db_replication::TABLE, at(second), 10.0)
            .str(db_replication::server, SERVER)
            .str(db_replication::name, "standby")
            .str(db_replication::role, "slot")
            .str(db_replication::active, if second > 10.0 { "no" } else { "yes" })
            .f64(db_replication::replay_lag_s, lag)
            .f64(db_replication::retained_bytes, kept);
    }
    for (second, phase, done, total) in [(30.0, "scanning heap", 10.0, 40.0), (32.0, "scanning heap", 30.0, 40.0)] {
        rows.row(&db_progress::TABLE, at(second), 1.0)
            .str(db_progress::server, SERVER)
            .i64(db_progress::session, 11)
            .str(db_progress::command, "VACUUM")
            .str(db_progress::relation, "public.orders")
            .str(db_progress::phase, phase)
            .f64(db_progress::done, done)
            .f64(db_progress::total, total);
    }
}

fn store() -> TestStore {
    let mut s = TestStore::new();
    s.run("incident", 60.0, incident);
    s
}

#[test]
fn a_root_has_a_line_each_time_that_it_blocks_with_what_it_did() {
    let answer = store().engine().ask("db-blocking", &[], &fenxi_query::Scope::all()).unwrap();
    let texts = |name: &str| answer.strings(name).into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>();
    let numbers = |name: &str| answer.f64s(name).into_iter().flatten().collect::<Vec<_>>();
    assert_eq!((answer.n_rows(), numbers("session_seconds")), (2, vec![4.0, 1.0]));
    assert_eq!((numbers("at_s"), numbers("most_waiters")), (vec![6.0, 47.0], vec![2.0, 1.0]));
    assert_eq!(texts("user_name"), ["clerk", ""]);
    // Statements before this transaction are not among them.
    assert_eq!(texts("statements"), ["update orders; select more", ""]);
    assert_eq!(texts("last_statement"), ["select more", ""]);
}

#[test]
fn a_waiter_has_the_statement_that_samples_saw() {
    let answer = store().engine().ask("db-lock-targets", &[], &fenxi_query::Scope::all()).unwrap();
    let seconds: f64 = answer.f64s("session_seconds").into_iter().flatten().sum();
    assert_eq!(seconds, 5.0);
    assert!(answer.strings("statement").contains(&Some("update orders".to_owned())), "{answer:?}");
}

#[test]
fn horizons_name_who_holds_them() {
    let rows = store().ask("db-horizons");
    let of = |what: &str| rows.iter().find(|row| row[1].starts_with(what)).unwrap()[2..].to_vec();
    assert_eq!(of("oldest snapshot"), ["", "100", "session 9 clerk active"]);
    assert_eq!(of("unfrozen XIDs, of")[..2], ["%", "9.313226"]);
}

#[test]
fn replicas_and_long_operations_have_a_line_each() {
    let s = store();
    let replicas = s.ask("db-replicas");
    // Name, role, state, sync, active, log; mean and most seconds behind.
    assert_eq!(replicas[0][1..8], ["standby", "slot", "-", "-", "no", "-", "2"]);
    assert_eq!(replicas[0][replicas[0].len() - 2..], ["5000000", "4000000"]);
    let progress = s.ask("db-progress");
    assert_eq!(progress.len(), 1);
    assert_eq!(progress[0][1..], ["11", "VACUUM", "-", "public.orders", "30", "3", "scanning heap", "30", "40", "75"]);
}
