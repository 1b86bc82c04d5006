//! `fenxi record --roll`, and ranges of time over what it records.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use fenxi_model::{Micros, Rows, RunId, catalog::cpu};
use fenxi_store::{Begin, End, RunEntry, SERIES, Store};
use rustix::process::Signal;

use crate::support::{Fenxi, Tmpfs, signal, skipped, text, wait_for};

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// The runs of a store, oldest first.
fn runs(store: &Store) -> Vec<RunEntry> {
    let mut runs = store.runs().unwrap();
    runs.reverse();
    runs
}

#[allow(clippy::disallowed_methods, reason = "a test that waits for the real time")]
fn now() -> i64 {
    i64::try_from(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_micros()).unwrap()
}

/// A run of `series` that began at `start`, with a row for each of `seconds`.
fn made(store: &Store, series: &str, start: i64, seconds: i64) -> RunId {
    let mut begin = Begin::new("record", "h1", Micros(start));
    begin.name = Some(series.to_owned());
    begin.interval_s = Some(1.0);
    begin.tags.insert(SERIES.to_owned(), series.to_owned());
    let mut open = store.begin(begin).unwrap();
    let mut rows = Rows::new("h1");
    for second in 1..=seconds {
        rows.row(&cpu::TABLE, Micros(start + second * SECOND), 1.0).f64(cpu::usr, (second % 60) as f64);
    }
    open.append(&mut rows).unwrap();
    open.seal(End { ticks: seconds as u64, ..End::at(Micros(start + seconds * SECOND)) }).unwrap()
}

#[test]
fn runs_follow_one_another_without_a_missing_tick() {
    let fenxi = Fenxi::new();
    let args =
        ["record", "--roll", "1s", "--interval", "100ms", "--for", "5s", "--source", "cpu,facts", "--name", "night"];
    let output = fenxi.run(&args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("runs of `night`"), "{}", text(&output.stderr));
    let store = fenxi.store();
    let runs = runs(&store);
    assert!((5..=7).contains(&runs.len()), "{}", runs.len());
    assert!(runs.iter().all(|run| !run.manifest.recovered && run.labels.tags[SERIES] == "night"));
    // Each begins at a whole second, where the one before ended; together they cover the five seconds.
    assert!(runs.windows(2).all(|two| two[0].manifest.end == two[1].manifest.start));
    assert!(runs[1..].iter().all(|run| run.manifest.start.0 % SECOND < SECOND / 5), "{:?}", runs[1].manifest.start);
    let covered = fenxi.number("select sum(dt) as s from cpu where cpu is null");
    assert!((covered - 5.0).abs() < 0.15, "{covered}");
    let twice = fenxi.number("select count(*) - count(distinct t) as n from cpu where cpu is null");
    assert_eq!(twice, 0.0);
    assert_eq!(fenxi.number("select count(distinct run) as n from text"), runs.len() as f64);

    // A range is one run to every command.
    let shown = fenxi.ok(&["show", "-1m.."]);
    assert!(shown.contains("night ") && shown.contains(".."), "{shown}");
    let within = fenxi.ok(&[
        "sql",
        "-o",
        "csv",
        "--run",
        "-1m..",
        "select count(distinct run), sum(dt) from cpu where cpu is null",
    ]);
    let (n, sum) = within.lines().nth(1).and_then(|line| line.split_once(',')).unwrap();
    assert_eq!((n, (sum.parse::<f64>().unwrap() - covered).abs() < 1e-6), ("1", true), "{within}");
    assert!(!fenxi.ok(&["explain", "--from", "-1m"]).is_empty());
    fenxi.ok(&["findings", "-1m.."]);
    fenxi.ok(&["ask", "hottest-cpu", "-r", "-1m.."]);
    assert_eq!(fenxi.ok(&["runs", "--json", "-1m.."]).lines().count(), runs.len());
    let said = fenxi.fails(1, &["show", "2020-01-01"]);
    assert!(said.contains("recordings with --roll reach from"), "{said}");
}

#[test]
fn hangup_reads_options_anew_and_termination_seals() {
    let fenxi = Fenxi::new();
    let conf = fenxi.path().with_extension("conf");
    fs_err::write(&conf, "roll 1h\ninterval 50ms\nsource cpu\nname night\n").unwrap();
    let child = fenxi.spawn(&["record", "--config", conf.to_str().unwrap()]);
    fenxi.wait_until_recording();
    let other = fenxi.fails(1, &["record", "--roll", "1h", "--name", "night", "--source", "cpu"]);
    assert!(other.contains("another fenxi is recording `night`"), "{other}");
    fs_err::write(&conf, "roll 1h\ninterval 100ms\nsource cpu,mem\nname night\n").unwrap();
    signal(&child, Signal::HUP);
    wait_for("the first run to be sealed", || fenxi.store().ids().unwrap().len() == 1);
    // A file that is wrong changes nothing, and is reported.
    fs_err::write(&conf, "interwal 1s\n").unwrap();
    signal(&child, Signal::HUP);
    wait_for("the second run to be sealed", || fenxi.store().ids().unwrap().len() == 2);
    signal(&child, Signal::TERM);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let runs = runs(&fenxi.store());
    let intervals: Vec<f64> = runs.iter().filter_map(|run| run.manifest.interval_s).collect();
    assert_eq!(intervals, [0.05, 0.1, 0.1]);
    assert_eq!(runs[1].manifest.sources, ["cpu", "mem"]);
    let why = fenxi.sql("select message from event where kind = 'not reloaded'");
    assert!(why[0]["message"].as_str().unwrap().contains("--interwal"), "{why:?}");
}

#[test]
fn fifty_kills_lose_nothing_that_was_sealed() {
    let fenxi = Fenxi::new();
    fenxi.ok(&["record", "--for", "50ms", "--interval", "20ms", "--source", "cpu", "--name", "first"]);
    let store = fenxi.store();
    let today = now().div_euclid(DAY) * DAY;
    let args =
        ["record", "--roll", "1s", "--interval", "20ms", "--source", "cpu", "--name", "night", "--thin", "1h=0s"];
    let mut days = Vec::new();
    for round in 0..50 {
        // Runs of a day long ago, which the recorder merges as soon as it is there.
        let day = today - (round + 3) * DAY;
        (0..6).for_each(|hour| drop(made(&store, "night", day + hour * 3600 * SECOND, 600)));
        days.push(day);
        let mut child = fenxi.spawn(&args);
        let ms = 60 + (round * 37) % 400;
        std::thread::sleep(Duration::from_millis(ms as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        // Whatever was going on: every row of that day is there, once.
        let begin = Micros(day).iso();
        let range = begin[..10].to_owned();
        let id = store.select_one(&range).unwrap();
        assert_eq!(store.run(&id).unwrap().manifest.file("cpu").unwrap().rows, 3600, "round {round}");
    }
    // One that lives sees to all that the others left, and can be asked to end once it records.
    let child = fenxi.spawn(&args);
    let status = format!("/proc/{}/status", child.id());
    wait_for("the last recorder to record", || {
        let own = fs_err::read_to_string(&status).unwrap_or_default();
        let blocked = own.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap_or("0").trim().to_owned();
        // SIGTERM is number 15.
        u64::from_str_radix(&blocked, 16).is_ok_and(|blocked| blocked & (1 << 14) != 0)
    });
    let begun = Instant::now();
    let old = || store.summaries().unwrap().into_iter().filter(|run| run.start.0 < today - 2 * DAY).count();
    while old() > days.len() {
        assert!(begun.elapsed() < Duration::from_secs(300), "{} runs of {} days are left", old(), days.len());
        std::thread::sleep(Duration::from_millis(50));
    }
    signal(&child, Signal::TERM);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    fenxi.ok(&["runs"]);
    for run in runs(&store) {
        assert_eq!(store.verify(&run.manifest.id).unwrap(), [], "{}", run.manifest.id);
    }
    // No interval is in two runs.
    assert_eq!(fenxi.number("select count(*) - count(distinct (t, host)) as n from cpu where cpu is null"), 0.0);
    assert!(fs_err::read_dir(store.path().join("open")).unwrap().next().is_none());
}

#[test]
fn a_full_disk_costs_the_oldest_runs_and_not_the_recording() {
    let fenxi = Fenxi::new();
    fs_err::create_dir_all(fenxi.path()).unwrap();
    let Some(_disk) = Tmpfs::mount(&fenxi.path(), 2 << 20) else {
        return skipped("a full disk and --roll", "mounting is not permitted");
    };
    let kept = {
        let store = Store::open_or_create(fenxi.path()).unwrap();
        let long_ago = now().div_euclid(DAY) * DAY - 2 * DAY;
        let other = made(&store, "other", long_ago, 600);
        let kept = made(&store, "night", long_ago, 600);
        fenxi.ok(&["tag", kept.as_str(), "keep=yes"]);
        (0..12).for_each(|hour| drop(made(&store, "night", long_ago + hour * 3600 * SECOND, 3600)));
        [other, kept]
    };
    let before: BTreeSet<RunId> = fenxi.store().ids().unwrap().into_iter().collect();
    let child = fenxi.spawn(&["record", "--roll", "1s", "--interval", "10ms", "--thin", "none", "--name", "night"]);
    wait_for("old runs to make room", || {
        let left = fenxi.store().ids().unwrap_or_default();
        left.iter().filter(|id| before.contains(id)).count() < before.len() - 2
    });
    signal(&child, Signal::TERM);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let left = fenxi.store().ids().unwrap();
    assert!(kept.iter().all(|id| left.contains(id)), "those of others and those that are to stay");
}

#[test]
fn two_days_are_compared_as_two_observations() {
    let fenxi = Fenxi::new();
    fenxi.ok(&["record", "--for", "50ms", "--interval", "20ms", "--source", "cpu", "--name", "first"]);
    let store = fenxi.store();
    let today = now().div_euclid(DAY) * DAY;
    for day in [today - 3 * DAY, today - 2 * DAY] {
        (0..4).for_each(|hour| drop(made(&store, "night", day + hour * 3600 * SECOND, 600)));
    }
    let day = |before: i64| Micros(today - before * DAY).iso()[..10].to_owned();
    let output = fenxi.run(&["compare", &day(3), &day(2), "--all", "--json"]);
    let lines = text(&output.stdout);
    assert!(lines.contains("is one observation, of whatever length"), "{lines} {}", text(&output.stderr));
    assert!(lines.lines().any(|line| line.contains("\"kind\":\"metric\"")), "{lines}");
    // Eight runs of a recording are no eight repetitions.
    let refused = fenxi.run(&["compare", "series=night", "first"]);
    assert_eq!(refused.status.code(), Some(1));
    let said = text(&refused.stdout) + &text(&refused.stderr);
    assert!(said.contains("one observation and no repetitions"), "{said}");
}
