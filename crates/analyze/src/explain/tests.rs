//! Splits by hand calculation: parts, what makes them doubtful, and that they add up.

use super::*;
use crate::group::Outcome;
use fenxi_model::Better;

fn source(measured: Measured, amounts: &[(&str, f64)]) -> Source {
    let mut source = Source::new(measured);
    amounts.iter().for_each(|(name, time)| source.add(name, Some(*time), &[]));
    source
}

fn run(latency_ms: f64, per_s: f64, sources: Vec<Source>) -> RunSummary {
    let transactions = Transactions { latency_ms, per_s, sources, ..Transactions::default() };
    RunSummary { transactions: Some(transactions), ..RunSummary::default() }
}

/// Names and means, rounded to nanoseconds.
fn means(split: &Split, group: usize) -> Vec<(&'static str, f64)> {
    let round = |ms: f64| (ms * 1e6).round() / 1e6;
    split.parts.iter().filter_map(|p| Some((p.name, round(p.means[group]?)))).collect()
}

#[test]
fn the_parts_of_a_command_add_up_to_its_elapsed_time() {
    let run = |elapsed: f64, user: f64, system: f64| {
        let outcome = |value| Outcome { value, unit: "s".to_owned(), better: Better::Lower };
        let results = [("elapsed", elapsed), ("user_time", user), ("system_time", system)];
        RunSummary {
            results: results.into_iter().map(|(name, v)| (name.to_owned(), outcome(v))).collect(),
            ..RunSummary::default()
        }
    };
    let a = [run(10.0, 6.0, 1.0), run(12.0, 8.0, 1.0)];
    let split = explain(&[("A", &a), ("B", &[run(15.0, 7.0, 2.0)])]).unwrap();
    assert_eq!((split.what, &split.whole.means), ("elapsed", &vec![Some(11.0), Some(15.0)]));
    assert_eq!(means(&split, 0), [("on CPU, user", 7.0), ("on CPU, system", 1.0), (RESIDUAL, 3.0)]);
    assert_eq!(means(&split, 1), [("on CPU, user", 7.0), ("on CPU, system", 2.0), (RESIDUAL, 6.0)]);
    assert_eq!(explain(&[("A", &a), ("B", &[RunSummary::default()])]), None);
    assert_eq!(explain(&[("A", &[])]), None);
}

#[test]
fn what_a_command_waited_for_is_no_more_than_its_elapsed_time() {
    let outcome = |value| Outcome { value, unit: "s".to_owned(), better: Better::Lower };
    let results = [("elapsed", 10.0), ("user_time", 1.0), ("system_time", 1.0)];
    let waits = [("sleep", 4.0), ("receive", 3.0), ("run queue", 9.0)];
    let run = RunSummary {
        results: results.into_iter().map(|(name, v)| (name.to_owned(), outcome(v))).collect(),
        waits: waits.into_iter().map(|(name, time)| (name.to_owned(), time)).collect(),
        ..RunSummary::default()
    };
    let split = explain(&[("A", &[run])]).unwrap();
    // The queue of all threads together is longer than what is left.
    let expected = [
        ("on CPU, user", 1.0),
        ("on CPU, system", 1.0),
        ("run queue", 1.0),
        ("receive", 3.0),
        ("sleep", 4.0),
        (RESIDUAL, 0.0),
    ];
    assert_eq!(means(&split, 0), expected);
}

#[test]
fn cpu_time_of_several_threads_is_its_part_of_the_time_that_passed() {
    let outcome = |value| Outcome { value, unit: "s".to_owned(), better: Better::Lower };
    let results = [("elapsed", 10.0), ("user_time", 38.0), ("system_time", 1.0)];
    let run = |waits: &[(&str, f64)]| RunSummary {
        results: results.into_iter().map(|(name, v)| (name.to_owned(), outcome(v))).collect(),
        waits: waits.iter().map(|(name, time)| ((*name).to_owned(), *time)).collect(),
        ..RunSummary::default()
    };
    // Four threads on four CPUs, for a tenth of the time without one.
    let counted = [("user", 8.8), ("system", 0.2), ("run queue", 1.0), (AT_WORK, 4.0)];
    let split = explain(&[("A", &[run(&counted)])]).unwrap();
    let expected = [("on CPU, user", 8.8), ("on CPU, system", 0.2), ("run queue", 1.0), (RESIDUAL, 0.0)];
    assert_eq!(means(&split, 0), expected);
    assert_eq!(split.notes, ["4.0 threads were at work at a moment: each part is its share of all their time"]);
    // Without samples, they ran at once: no part is more than the whole.
    let split = explain(&[("A", &[run(&[])])]).unwrap();
    let sum: f64 = split.parts.iter().filter_map(|part| part.means[0]).sum();
    assert!((sum - 10.0).abs() < 1e-9 && split.parts.iter().all(|part| part.means[0].unwrap() >= -1e-9));
    assert!(split.notes.is_empty());
}

#[test]
fn latency_is_what_the_servers_sessions_spent_over_the_transactions_of_a_second() {
    // 400 a second of 20 ms are 8 sessions. 2.4 of them are on a CPU: 6 ms each.
    let os = source(Measured::Os, &[("on CPU, user", 1.6), ("on CPU, system", 0.8), ("run queue", 0.4)]);
    let sampled = Source { is_complete: true, ..source(Measured::Sampled, &[("lock", 3.2), ("on CPU", 0.1)]) };
    let driver = source(Measured::Driver, &[("driver lag", 0.04)]);
    let split = explain(&[("A", &[run(20.0, 400.0, vec![os, sampled, driver])])]).unwrap();
    let expected = [
        ("driver lag", 0.1),
        ("on CPU, user", 4.0),
        ("on CPU, system", 2.0),
        ("run queue", 1.0),
        ("lock", 8.0),
        (RESIDUAL, 4.9),
    ];
    assert_eq!((split.what, means(&split, 0)), ("latency", expected.to_vec()));
    assert_eq!(split.parts[4].measured, [Some("sampled".to_owned())]);
    // One run has no interval, and one group no change.
    assert!(split.parts.iter().all(|p| p.intervals == [None] && p.change.is_none()));
}

#[test]
fn parts_add_up_to_the_whole_in_every_group_and_so_do_their_changes() {
    let group = |lock: f64| -> Vec<RunSummary> {
        let one = |i: usize| {
            let off = [0.0, 0.3, -0.2, 0.1, -0.2][i];
            let os = source(Measured::Os, &[("on CPU", 2.0 + 0.1 * off), ("run queue", 0.5)]);
            let sampled =
                Source { is_complete: true, ..source(Measured::Sampled, &[("lock", lock + off), ("commit", 0.7)]) };
            run(10.0 + lock + off, 1000.0, vec![os, sampled])
        };
        (0..5).map(one).collect()
    };
    let (a, b) = (group(0.5), group(4.0));
    let split = explain(&[("A", &a), ("B", &b)]).unwrap();
    for i in 0..2 {
        let sum: f64 = split.parts.iter().filter_map(|p| p.means[i]).sum();
        assert!((sum - split.whole.means[i].unwrap()).abs() < 1e-9, "{sum}");
    }
    let changes: f64 = split.parts.iter().map(|p| p.change.unwrap().value).sum();
    assert!((changes - split.whole.change.unwrap().value).abs() < 1e-9, "{changes}");
    let lock = split.parts.iter().find(|p| p.name == "lock").unwrap();
    let change = lock.change.unwrap();
    assert!((change.value - 3.5).abs() < 1e-9 && change.interval.unwrap().contains(3.5), "{change:?}");
    assert!(change.interval.unwrap().low > 3.0, "{change:?}");
    // scipy.stats.t.interval(0.95, 4, 4.0, sem) of 4, 4.3, 3.8, 4.1, 3.8 is 4 ± 0.2633.
    let interval = lock.intervals[1].unwrap();
    assert!((interval.low - 3.7367).abs() < 1e-3 && (interval.high - 4.2633).abs() < 1e-3, "{interval:?}");
    let largest = split.parts.iter().max_by(|x, y| x.change.unwrap().value.total_cmp(&y.change.unwrap().value));
    assert_eq!(largest.unwrap().name, "lock");
}

#[test]
fn what_only_one_group_knows_is_no_change_and_is_said() {
    let os = || source(Measured::Os, &[("on CPU", 1.0), ("run queue", 0.2)]);
    let sampled = Source { is_complete: true, ..source(Measured::Sampled, &[("lock", 3.0)]) };
    let (a, b) = (run(5.0, 1000.0, vec![os()]), run(5.0, 1000.0, vec![os(), sampled]));
    let split = explain(&[("A", &[a]), ("B", &[b])]).unwrap();
    let lock = split.parts.iter().find(|p| p.name == "lock").unwrap();
    assert_eq!((&lock.means, lock.change), (&vec![None, Some(3.0)], None));
    assert_eq!(means(&split, 0).last(), Some(&(RESIDUAL, 3.8)));
    let said = |what: &str| split.notes.iter().any(|note| note.contains(what));
    assert!(said("A: what the server's sessions waited for is unknown; record with `--db URL`"), "{:#?}", split.notes);
    assert!(!said("CPU time of the server") && said("whether a CPU quota"), "{:#?}", split.notes);
}

#[test]
fn shares_that_another_run_does_not_know_are_added_up() {
    let shares = source(Measured::Os, &[("on CPU, user", 0.6), ("on CPU, system", 0.4)]);
    let whole = source(Measured::Os, &[("on CPU", 2.0)]);
    let groups = [run(3.0, 1000.0, vec![shares]), run(3.0, 1000.0, vec![whole])];
    let split = explain(&[("A", &groups[..1]), ("B", &groups[1..])]).unwrap();
    assert_eq!(split.parts[0].means, [Some(1.0), Some(2.0)]);
    assert_eq!(split.parts.len(), 2);
}

#[test]
fn parts_that_exceed_the_latency_are_said_so_and_not_hidden() {
    let sampled = || Source { is_complete: true, ..source(Measured::Sampled, &[("lock", 8.0)]) };
    let split = explain(&[("A", &[run(4.0, 1000.0, vec![sampled()])])]).unwrap();
    assert_eq!(means(&split, 0), [("lock", 8.0), (RESIDUAL, -4.0)]);
    assert!(split.notes.iter().any(|n| n.starts_with("the parts exceed the latency by 4.00 ms")), "{:#?}", split.notes);
    // Within its interval it is none.
    let runs =
        [run(4.0, 1000.0, vec![sampled()]), run(12.2, 1000.0, vec![sampled()]), run(5.0, 1000.0, vec![sampled()])];
    let split = explain(&[("A", &runs)]).unwrap();
    assert!(!split.notes.iter().any(|n| n.contains("exceed")), "{:#?}", split.notes);
}

#[test]
fn with_nothing_of_the_server_all_is_residual_and_what_would_tell_is_said() {
    let split = explain(&[("A", &[run(4.0, 1000.0, Vec::new())])]).unwrap();
    assert_eq!(means(&split, 0), [(RESIDUAL, 4.0)]);
    assert_eq!(split.notes.len(), 5, "{:#?}", split.notes);
}

fn sessions(amounts: &[(&'static str, f64, &str)]) -> RunSummary {
    let sessions = amounts.iter().map(|(name, time, how)| (*name, (*time, (*how).to_owned()))).collect();
    RunSummary { sessions, ..RunSummary::default() }
}

#[test]
fn where_no_load_tells_its_latency_the_time_of_sessions_is_split() {
    // 8.4 active sessions, 4 of which wait for a row lock.
    let one = sessions(&[
        ("on CPU", 0.7, "os"),
        ("run queue", 1.5, "os"),
        ("lock", 4.0, "sampled"),
        ("commit", 2.2, "sampled"),
    ]);
    let split = explain(&[("A", std::slice::from_ref(&one))]).unwrap();
    assert_eq!((split.what, split.whole.means[0].map(|mean| (mean * 1e6).round() / 1e6)), (whole::DB_TIME, Some(8.4)));
    assert_eq!(means(&split, 0), [("on CPU", 0.7), ("run queue", 1.5), ("commit", 2.2), ("lock", 4.0)]);
    // Of waits without a session it is known that there were none; of a quota nothing is known.
    assert!(split.absent.contains(&"user I/O") && !split.absent.contains(&"throttled"), "{:?}", split.absent);
    // A repeat without a wait had none of it, and no one is active next to nothing.
    let other = sessions(&[("on CPU", 1.0, "os"), ("run queue", 1.0, "os"), ("commit", 2.0, "sampled")]);
    let both = explain(&[("A", &[one, other])]).unwrap();
    assert_eq!(means(&both, 0), [("on CPU", 0.85), ("run queue", 1.25), ("commit", 2.1), ("lock", 2.0)]);
    assert_eq!(explain(&[("A", &[sessions(&[("lock", 0.01, "sampled")])])]), None);
}
