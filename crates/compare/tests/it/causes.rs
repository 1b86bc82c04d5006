//! Causes in windows of recordings: what is reported first for a server whose load, disk, network or neighbours changed, in the names of any
//! tool, as a step and in bursts; and recordings in which nothing is wrong.

use fenxi_compare::InRange;
use fenxi_query::{Engine, Expected, Finding, SHIPPED_FINDINGS};

use crate::{
    runs::{Made, Runs},
    simulated::{Load, Names, Noise, SECONDS, Second, write},
};

const WINDOW: std::ops::Range<usize> = 120..180;

/// Name of the cause, what it changes, and the finding that reports it.
type Case = (&'static str, fn(&mut Load), &'static str);

const CAUSES: [Case; 11] = [
    ("three times the clients", |load| load.terminals *= 3.0, "more-arrivals"),
    ("bulk load", bulk_load, "bulk-load"),
    ("dump", dump, "backup-or-dump"),
    ("tables flushed", flush, "table-flush"),
    ("four more indexes", indexes, "index-write-cost"),
    ("network delay", |load| load.round_trip_ms += 8.0, "network-slower"),
    ("programs take the CPUs", |load| load.other_cpus = 3.6, "outside-load"),
    ("a program fills the disk", other_disk, "outside-disk"),
    ("a join without an index", scan, "plan-or-scan-change"),
    ("a hot row", |load| load.lock_ms = 110.0, "locks-more"),
    ("a cache too small", |load| load.misses = 9.0, "cache-misses-more"),
];

fn bulk_load(load: &mut Load) {
    load.more_rows_inserted = 25_000.0;
    load.more_cpus = 1.2;
    load.lock_ms *= 6.0;
    load.more_misses = 60.0;
}

fn dump(load: &mut Load) {
    load.more_rows_scanned = 150_000.0;
    load.more_sent_bytes = 18e6;
    load.more_misses = 1500.0;
    load.more_cpus = 1.0;
    load.misses = 1.5;
}

fn flush(load: &mut Load) {
    load.opened_tables = 30.0;
    load.flushes = 0.5;
    load.lock_ms = 40.0;
}

fn indexes(load: &mut Load) {
    load.log_row_bytes *= 3.0;
    load.write_requests_row *= 3.5;
    load.cpu_ms *= 2.2;
    load.misses *= 2.0;
}

fn other_disk(load: &mut Load) {
    load.other_write_bytes = 118e6;
    load.other_read_bytes = 8e6;
    load.other_cpus = 0.3;
}

fn scan(load: &mut Load) {
    load.more_rows_scanned = 900_000.0;
    load.full_scans = 2.0;
    load.more_cpus = 2.8;
}

/// Seconds in which `change` holds where `when` does.
fn recorded(seed: u64, change: fn(&mut Load), when: impl Fn(usize) -> bool) -> Vec<Second> {
    let mut noise = Noise::new(seed);
    let second = |n: usize, noise: &mut Noise| {
        let mut load = Load::default();
        if when(n) {
            change(&mut load);
        }
        load.second(noise)
    };
    (0..SECONDS).map(|n| second(n, &mut noise)).collect()
}

/// Makes a second one in which the load has not begun: hardly anything happens, and a latency of nothing is 0.
fn before_the_load(second: &mut Second) {
    for (name, value) in second {
        *value = if matches!(*name, "usr" | "sessions") { 1.0 } else { 0.0 };
    }
}

fn looked(engine: &Engine, name: &str, from: usize, to: usize) -> InRange {
    let run = engine.store().select_one(name).unwrap();
    InRange::of(engine, &run, from as f64, to as f64, 40).unwrap()
}

/// Reported findings in their order, without those that are only information.
fn findings(found: &InRange) -> Vec<&str> {
    found.causes.iter().map(|cause| cause.finding.as_str()).collect()
}

#[test]
fn causes_in_a_window_are_named_first() {
    let mut runs = Runs::new();
    let mut expected = Vec::new();
    for (n, (name, change, finding)) in CAUSES.into_iter().enumerate() {
        for (shape, is_on) in [("step", (|_| true) as fn(usize) -> bool), ("bursts", |n: usize| n % 4 < 2)] {
            for names in [Names::Raw, Names::Catalogue] {
                let run = format!("{name}, {shape}, {names:?}");
                let seconds = recorded(71 + n as u64, change, |at| WINDOW.contains(&at) && is_on(at));
                runs.add(&run, SECONDS as f64, |made| write(made, &seconds, names));
                expected.push((run, finding));
            }
        }
    }
    let engine = runs.engine();
    let mut wrong = Vec::new();
    for (run, finding) in &expected {
        let found = looked(&engine, run, WINDOW.start, WINDOW.end);
        if findings(&found).first() != Some(finding) {
            let causes: Vec<String> =
                found.causes.iter().map(|c| format!("\n    {}: {} [{}]", c.finding, c.message, c.kind)).collect();
            let top: Vec<String> = found
                .changed
                .iter()
                .take(14)
                .map(|c| {
                    format!(
                        "\n      {}.{} {} {:.3} of {:.3}, per transaction {:?}, p {:.3}",
                        c.table, c.column, c.key, c.inside, c.rest, c.per_transaction, c.p
                    )
                })
                .collect();
            wrong.push(format!("{run}: expected {finding}, found{}{}", causes.concat(), top.concat()));
        }
    }
    let right = expected.len() - wrong.len();
    assert!(right * 100 >= expected.len() * 95, "{right} of {} right\n{}", expected.len(), wrong.join("\n"));
}

/// A recording begins before its load does, and who draws a window misses its ends by seconds.
#[test]
fn causes_are_named_in_windows_drawn_by_eye_of_loads_that_begin_late() {
    let mut runs = Runs::new();
    for (n, (name, change, _)) in CAUSES.into_iter().enumerate() {
        let mut seconds = recorded(310 + n as u64, change, |at| WINDOW.contains(&at));
        seconds.iter_mut().take(40).for_each(before_the_load);
        runs.add(name, SECONDS as f64, |made| write(made, &seconds, Names::Catalogue));
    }
    let engine = runs.engine();
    let wrong: Vec<String> = CAUSES
        .into_iter()
        .filter_map(|(name, _, finding)| {
            let found = looked(&engine, name, WINDOW.start - 4, WINDOW.end + 3);
            let first = findings(&found).first().copied();
            (first != Some(finding)).then(|| format!("{name}: expected {finding}, found {first:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Windows in which nothing is wrong: the load's own way, and what may be reported for it.
#[test]
fn where_nothing_is_wrong_nothing_is_blamed() {
    fn nothing(_: &mut Load) {}
    type Healthy = (&'static str, fn(&mut Load), fn(usize) -> bool, (usize, usize), Option<&'static str>);
    let cases: [Healthy; 7] = [
        ("a constant load, second half", nothing, |_| false, (120, 240), None),
        ("a constant load, a minute", nothing, |_| false, (120, 180), None),
        (
            "less is asked for",
            |load| load.think_ms *= 4.0,
            |n| WINDOW.contains(&n),
            (120, 180),
            Some("less-work-arrives"),
        ),
        (
            "much less is asked for",
            |load| load.terminals = 2.0,
            |n| WINDOW.contains(&n),
            (120, 180),
            Some("less-work-arrives"),
        ),
        ("a checkpoint each half minute", |load| load.other_write_bytes = 40e6, |n| n % 30 < 5, (120, 180), None),
        ("a recorder begins", |load| (load.opened_tables, load.other_cpus) = (40.0, 1.0), |n| n < 2, (0, 30), None),
        ("a small job each minute", |load| load.other_cpus = 0.35, |n| n % 60 < 10, (120, 180), None),
    ];
    let mut runs = Runs::new();
    for (n, (name, change, when, _, _)) in cases.iter().enumerate() {
        for names in [Names::Raw, Names::Catalogue] {
            let seconds = recorded(900 + n as u64, *change, when);
            runs.add(&format!("{name}, {names:?}"), SECONDS as f64, |made| write(made, &seconds, names));
        }
    }
    let engine = runs.engine();
    let mut wrong = Vec::new();
    for (name, _, _, (from, to), may) in cases {
        for names in [Names::Raw, Names::Catalogue] {
            let found = looked(&engine, &format!("{name}, {names:?}"), from, to);
            let all: Vec<String> = found
                .causes
                .iter()
                .filter(|c| Some(c.finding.as_str()) != may && c.finding != "most-changed")
                .map(|c| format!("{}: {}", c.finding, c.message))
                .collect();
            if !all.is_empty() {
                wrong.push(format!("{name}, {names:?}: {all:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_run_is_compared_with_another_one() {
    let mut runs = Runs::new();
    fn nothing(_: &mut Load) {}
    for (name, change, seed) in [("before", nothing as fn(&mut Load), 5), ("again", nothing, 6), ("dumped", dump, 7)] {
        let seconds = recorded(seed, change, |_| true);
        runs.add(name, SECONDS as f64, |made| write(made, &seconds, Names::Catalogue));
    }
    let engine = runs.engine();
    let against = |run: usize| InRange::against(&engine, &runs.ids[run], &runs.ids[0], 40).unwrap();
    let found = against(2);
    assert_eq!(findings(&found).first(), Some(&"backup-or-dump"), "{:?}", found.causes);
    assert_eq!(found.baseline.as_ref(), Some(&runs.ids[0]));
    assert_eq!(findings(&against(1)), [""; 0], "{:?}", against(1).causes);
}

/// Series of one thing come together, and what cannot follow from fewer transactions before what can.
#[test]
fn changes_are_facts_in_the_order_of_what_they_can_be() {
    let mut runs = Runs::new();
    let seconds = recorded(11, dump, |n| WINDOW.contains(&n));
    runs.add("dumped", SECONDS as f64, |made| write(made, &seconds, Names::Catalogue));
    let engine = runs.engine();
    let found = looked(&engine, "dumped", WINDOW.start, WINDOW.end);
    let sure: Vec<_> = found.changed.iter().filter(|change| change.sure).collect();
    let things: Vec<&str> = sure.iter().map(|change| change.thing.as_str()).collect();
    let mut once = things.clone();
    once.dedup();
    let mut sorted = once.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(once.len(), sorted.len(), "{things:?}");
    let place = |column: &str| sure.iter().position(|change| change.column == column).unwrap_or(usize::MAX);
    assert!(place("sent_bytes_per_s") < place("commits_per_s"), "{things:?}");
    let usr = sure.iter().find(|change| change.column == "usr" || change.key == "CPU").unwrap();
    assert_eq!(usr.thing, "CPU");
}

/// The rows in the header of each finding over two periods.
#[test]
fn findings_over_two_periods_speak_on_their_yes_rows_and_are_silent_on_their_no_rows() {
    let mut runs = Runs::new();
    let mut wrong = Vec::new();
    let mut cases = Vec::new();
    for (name, text) in SHIPPED_FINDINGS {
        let finding = Finding::parse(name, text).unwrap();
        if !finding.periods {
            continue;
        }
        for (word, expected) in [("yes", Expected::Found), ("no", Expected::Nothing)] {
            if !finding.cases.iter().any(|case| case.expected == expected) {
                wrong.push(format!("{name}: there is no `{word}` row"));
            }
        }
        for (n, case) in finding.cases.iter().enumerate() {
            let run = format!("{name} {n}");
            runs.add(&run, 90.0, |made: &mut Made| _ = case.fill(&mut made.rows, made.begin.start));
            cases.push((
                finding.name.clone(),
                run,
                case.expected == Expected::Nothing,
                case.inside.unwrap_or_else(|| panic!("{name}: no rows are inside")),
            ));
        }
    }
    let engine = runs.engine();
    for (name, run, silent, (from, to)) in &cases {
        let found = looked(&engine, run, *from as usize, *to as usize);
        match (found.causes.iter().find(|cause| cause.finding == *name), silent) {
            (Some(cause), true) => wrong.push(format!("{run} (no): {}", cause.message)),
            (None, false) => wrong.push(format!("{run} (yes): silent; {:?}", findings(&found))),
            (Some(cause), false) if cause.message.contains("(unknown)") => {
                wrong.push(format!("{run}: {}", cause.message))
            }
            _ => {}
        }
    }
    assert!(cases.len() >= 24 && wrong.is_empty(), "{}", wrong.join("\n"));
}
