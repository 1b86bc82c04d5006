//! Output of `dbstat`.

use fenxi_model::{
    Rows,
    catalog::{db, db_checkpoint, db_statement, db_wait},
};

use super::*;

const T: Micros = Micros(51_753_000_000);
const SERVER: &str = "/run/postgresql/.s.PGSQL.5432";

/// The row of a whole server.
fn server(rows: &mut Rows, name: &str, t: Micros) {
    rows.row(&db::TABLE, t, 1.0)
        .str(db::server, name)
        .f64(db::sessions, 12.0)
        .f64(db::active_sampled, 5.8)
        .f64(db::samples, 10.0)
        .f64(db::commits_per_s, 225.0)
        .f64(db::rollbacks_per_s, 5.0)
        .f64(db::cache_hits_per_s, 19_960.0)
        .f64(db::cache_misses_per_s, 40.0)
        .f64(db::log_bytes_per_s, 1_153_434.0)
        .f64(db::temp_bytes_per_s, 0.0)
        .f64(db::oldest_transaction_s, 0.2);
}

fn wait(rows: &mut Rows, measured: &str, kind: &str, activity: &str, time: f64) {
    rows.row(&db_wait::TABLE, T, 1.0)
        .str(db_wait::server, SERVER)
        .str(db_wait::measured, measured)
        .str(db_wait::kind, kind)
        .str(db_wait::activity, activity)
        .f64(db_wait::time, time);
}

fn statement(rows: &mut Rows, digest: &str, nested: Option<&str>, calls: f64, time: f64) {
    rows.row(&db_statement::TABLE, T, 10.0)
        .str(db_statement::server, SERVER)
        .str(db_statement::digest, digest)
        .str(db_statement::nested, nested)
        .f64(db_statement::calls_per_s, calls)
        .f64(db_statement::time, time);
}

fn view() -> Dbstat {
    Dbstat::new(None, TimeZone::UTC)
}

fn show(view: &mut Dbstat, rows: &Rows) -> String {
    let mut out = String::new();
    view.frame(&Frame { t: Micros(T.0 + 100_000), dt: 1.0, since_boot: false, rows }, &mut out);
    out
}

#[test]
fn columns_without_room_are_left_out_and_named() {
    let mut rows = Rows::new("h");
    server(&mut rows, SERVER, T);
    let narrow = show(&mut view().within(80), &rows);
    let lines: Vec<&str> = narrow.lines().collect();
    assert_eq!(lines[0], "(no room for: itx, tmp, ck, rd/s, oth)");
    assert!(lines.iter().all(|line| line.chars().count() <= 80) && lines[1].contains(" lock "), "{narrow}");
    assert_eq!(lines[1].len(), lines[2].len(), "{narrow}");
    assert_eq!(show(&mut view().within(120), &rows), show(&mut view(), &rows));
}

#[test]
fn an_interval_is_one_line_of_at_most_100_characters() {
    let mut rows = Rows::new("h");
    server(&mut rows, SERVER, T);
    // A single database is no server.
    rows.row(&db::TABLE, T, 1.0).str(db::server, SERVER).str(db::database, "shop").f64(db::commits_per_s, 1.0);
    for (measured, kind, activity, time) in [
        ("sampled", "client", "cpu", 3.9),
        ("sampled", "client", "lock", 1.6),
        ("sampled", "client", "user io", 0.25),
        ("sampled", "client", "system io", 0.5),
        ("sampled", "client", "commit", 0.3),
        ("sampled", "client", "concurrency", 0.1),
        ("sampled", "client", "idle in transaction", 3.0),
        ("sampled", "client", "protocol", 9.0),
        ("sampled", "background", "user io", 7.0),
        ("os", "client", "cpu", 0.7),
        ("os", "client", "run queue", 2.35),
        ("os", "background", "cpu", 5.0),
    ] {
        wait(&mut rows, measured, kind, activity, time);
    }
    rows.row(&db_checkpoint::TABLE, T, 1.0)
        .str(db_checkpoint::server, SERVER)
        .f64(db_checkpoint::timed, 0.0)
        .f64(db_checkpoint::requested, 1.0);
    statement(&mut rows, "abc", Some("no"), 1600.0, 1.5);
    statement(&mut rows, "def", None, 10.0, 0.11);
    statement(&mut rows, "ghi", Some("yes"), 500.0, 100.0);
    statement(&mut rows, "fenxi-db", Some("no"), 20.0, 50.0);
    let text = show(&mut view(), &rows);
    assert_eq!(
        text,
        "\
time     sess act cpu runq  io cmt ltch lock oth net itx  tps st/s   ms hit% rd/s  log  tmp ck  old
14:22:33   12 5.8 0.7  2.4 0.8 0.3  0.1  1.6   0   0 3.0  230 1610 1.00 99.8   40 1.1M    0  1 0.2s
"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 100));
}

#[test]
fn what_is_not_known_is_no_zero_and_a_remote_server_has_no_run_queue() {
    let mut rows = Rows::new("h");
    rows.row(&db::TABLE, T, 1.0).str(db::server, SERVER).f64(db::samples, 0.0);
    let text = show(&mut view(), &rows);
    let line = text.lines().nth(1).unwrap();
    assert_eq!(line.split_whitespace().skip(1).collect::<Vec<_>>(), ["-"; 20]);
    let mut rows = Rows::new("h");
    server(&mut rows, SERVER, T);
    wait(&mut rows, "sampled", "client", "cpu", 1.5);
    let text = show(&mut view(), &rows);
    let line: Vec<_> = text.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(line[3..6], ["1.5", "-", "0"]);
}

#[test]
fn statements_stay_until_their_next_reading_is_due_and_no_longer() {
    let (mut view, mut rows) = (view(), Rows::new("h"));
    server(&mut rows, SERVER, T);
    statement(&mut rows, "abc", None, 100.0, 0.5);
    let cell = |text: &str| text.lines().last().unwrap().split_whitespace().nth(13).unwrap().to_owned();
    assert_eq!(cell(&show(&mut view, &rows)), "100");
    for (seconds, expected) in [(9, "100"), (14, "100"), (16, "-")] {
        let mut rows = Rows::new("h");
        server(&mut rows, SERVER, Micros(T.0 + seconds * 1_000_000));
        assert_eq!(cell(&show(&mut view, &rows)), expected, "{seconds}");
    }
}

#[test]
fn several_servers_are_named_and_events_stand_between_lines() {
    let (mut view, mut rows) = (view(), Rows::new("h"));
    server(&mut rows, "db1:5432", T);
    assert!(!show(&mut view, &rows).contains("db1"));
    server(&mut rows, "db2:5432", T);
    rows.event(T, "restart", "db2:5432", "the server was started again");
    rows.event(T, "restart", "somebody", "else");
    let text = show(&mut view, &rows);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "14:22:33 <<restart: the server was started again>>");
    assert!(lines[1].ends_with("  server") && lines[2].ends_with("  db1:5432") && lines[3].ends_with("  db2:5432"));
    let mut one = Dbstat::new(Some("db2:5432".to_owned()), TimeZone::UTC);
    assert_eq!(show(&mut one, &rows).lines().filter(|line| line.starts_with("14:")).count(), 2);
}

#[test]
fn the_header_comes_again() {
    let (mut view, mut rows) = (view(), Rows::new("h"));
    server(&mut rows, SERVER, T);
    let text: String = (0..45).map(|_| show(&mut view, &rows)).collect();
    assert_eq!(text.lines().filter(|line| line.starts_with("time")).count(), 3);
}

#[test]
fn what_is_read_a_moment_after_the_last_interval_is_no_line() {
    let (mut view, mut rows) = (view(), Rows::new("h"));
    server(&mut rows, SERVER, T);
    rows.row(&db::TABLE, Micros(T.0 + 200_000), 0.2).str(db::server, SERVER);
    assert_eq!(show(&mut view, &rows).lines().count(), 2);
}
