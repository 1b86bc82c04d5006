//! Changes: window against rest of a run, run against another, range of an endless recording against the time before.

use fenxi_model::{
    Micros, Rows,
    catalog::{cpu, db},
};
use fenxi_store::{Begin, End, SERIES};

use crate::support::Fenxi;

/// Seconds of a server's counters as a CSV file: `dumped` decides in which of them a dump reads all tables.
fn csv(seconds: usize, dumped: impl Fn(usize) -> bool) -> String {
    let mut text = String::from("time,Com_commit,Innodb_rows_read,Bytes_sent,Innodb_row_lock_waits,usr\n");
    for n in 0..seconds {
        let wave = ((n * 7919) % 11) as f64 / 100.0;
        let (commits, rows, sent, usr) =
            if dumped(n) { (60.0, 150_000.0, 9e6, 70.0) } else { (100.0, 5000.0, 5e5, 40.0) };
        let of = |value: f64| value * (0.95 + wave);
        text += &format!(
            "2026-11-21T14:{:02}:{:02}Z,{:.1},{:.1},{:.1},{:.1},{:.1}\n",
            n / 60,
            n % 60,
            of(commits),
            of(rows),
            of(sent),
            of(2.0),
            of(usr)
        );
    }
    text
}

fn import(fenxi: &Fenxi, name: &str, text: &str) {
    let file = fenxi.path().with_file_name(format!("{name}.csv"));
    fs_err::write(&file, text).unwrap();
    fenxi.ok(&["import", file.to_str().unwrap(), "--name", name]);
}

#[test]
fn a_window_is_answered_with_what_changed_in_it() {
    let fenxi = Fenxi::new();
    import(&fenxi, "counters", &csv(180, |n| (100..140).contains(&n)));
    import(&fenxi, "bursts", &csv(180, |n| (100..140).contains(&n) && n % 4 < 2));
    for run in ["counters", "bursts"] {
        let out = fenxi.ok(&["explain", run, "--window", "100s..140s"]);
        assert!(out.starts_with("A backup or dump reads the database, or results are huge."), "{run}: {out}");
        let json = fenxi.ok(&["explain", run, "--window", "100s..140s", "--json"]);
        let first: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
        assert_eq!((first["kind"].as_str(), first["finding"].as_str()), (Some("answer"), Some("backup-or-dump")));
    }
    // Where nothing changed there is no cause.
    let out = fenxi.ok(&["explain", "counters", "--window", "20s..60s"]);
    assert!(!out.contains("backup or dump") && !out.contains("change:"), "{out}");
}

#[test]
fn a_run_is_answered_with_what_changed_against_its_baseline() {
    let fenxi = Fenxi::new();
    import(&fenxi, "before", &csv(120, |_| false));
    import(&fenxi, "after", &csv(120, |_| true));
    import(&fenxi, "again", &csv(119, |_| false));
    let out = fenxi.ok(&["compare", "before", "after"]);
    assert!(out.starts_with("A backup or dump reads the database, or results are huge. "), "{out}");
    let json = fenxi.ok(&["compare", "before", "after", "--json"]);
    assert!(json.lines().any(|line| line.contains("\"cause\"") && line.contains("backup-or-dump")), "{json}");
    let out = fenxi.ok(&["compare", "before", "again"]);
    assert!(!out.contains("backup or dump"), "{out}");
}

#[test]
fn a_range_of_time_is_answered_with_what_changed_against_the_time_before() {
    let fenxi = Fenxi::new();
    fenxi.ok(&["record", "--for", "0.1s", "--source", "cpu", "--name", "other"]);
    let store = fenxi.store();
    // 2026-11-21 14:00:00 UTC
    let start = 1_795_269_600_000_000;
    let mut begin = Begin::new("record", "h1", Micros(start));
    begin.name = Some("night".to_owned());
    begin.interval_s = Some(1.0);
    begin.tags.insert(SERIES.to_owned(), "night".to_owned());
    let mut open = store.begin(begin).unwrap();
    let mut rows = Rows::new("h1");
    for second in 1..=1200_i64 {
        let t = Micros(start + second * 1_000_000);
        let (loaded, wave) = (second > 600, (second * 7919 % 11) as f64 / 10.0);
        rows.row(&cpu::TABLE, t, 1.0).f64(cpu::usr, 20.0 + wave).f64(cpu::idle, 80.0 - wave);
        let mut row = rows.row(&db::TABLE, t, 1.0);
        row.str(db::server, "here").f64(db::commits_per_s, 100.0 + wave);
        row.f64(db::rows_inserted_per_s, if loaded { 9000.0 } else { 500.0 } + wave);
    }
    open.append(&mut rows).unwrap();
    open.seal(End { ticks: 1200, ..End::at(Micros(start + 1_200_000_000)) }).unwrap();
    let out = fenxi.ok(&["explain", "2026-11-21T14:10..2026-11-21T14:20"]);
    assert!(out.starts_with("Rows are loaded in bulk."), "{out}");
    assert!(out.contains("against as long before"), "{out}");
    // The first ten minutes have nothing before them.
    let out = fenxi.ok(&["explain", "2026-11-21T14:00..2026-11-21T14:10"]);
    assert!(!out.contains("Different in"), "{out}");
}
