//! Which part of a run counts.

use fenxi_analyze::Steady;
use fenxi_compare::windows::{choose, detect, warmup, words};

use crate::runs::Runs;

/// The window that `choose` gives for `wanted`, in words; the error as it is printed.
fn chosen(runs: &Runs, wanted: &str) -> String {
    let entry = runs.entry(0);
    match choose(&runs.store, &entry, wanted) {
        Ok(Some(window)) => format!("{}: {}", window.name, words(&entry, &window)),
        Ok(None) => "all of it".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// Rates whose batches of five all have the mean `mean`.
fn steady(mean: f64, n: usize) -> impl Iterator<Item = f64> {
    (0..n).map(move |i| mean + [-2.0, 1.0, 0.0, 2.0, -1.0][i % 5])
}

#[test]
fn a_window_is_named_or_given_by_its_ends() {
    let mut runs = Runs::new();
    runs.add("r", 60.0, |run| {
        run.cpu(50.0, 0.0, 0, 60);
        run.window("warmup", 0.0, 10.0);
    });
    for (wanted, expected) in [
        ("all", "all of it"),
        ("auto", "all of it"),
        ("warmup", "warmup: 0.0 s .. 10.0 s"),
        ("10s..40s", "10s..40s: 10.0 s .. 40.0 s"),
        ("0.5m..", "0.5m..: 30.0 s .. 60.0 s"),
        (" .. 20s ", " .. 20s : 0.0 s .. 20.0 s"),
        ("50s..2m", "50s..2m: 50.0 s .. 60.0 s"),
        ("soon..40s", "`soon` is not a time since the start of the run, such as 90s or 2m"),
        ("40s..20s", "the window 40s..20s is outside the run, which lasts 60.0 s"),
        ("60s..70s", "the window 60s..70s is outside the run, which lasts 60.0 s"),
    ] {
        assert_eq!(chosen(&runs, wanted), expected, "{wanted}");
    }
    let id = &runs.ids[0];
    assert_eq!(
        chosen(&runs, "warmpu"),
        format!("run {id} has no window `warmpu`, only warmup, all, auto; did you mean `warmup`?")
    );
    assert_eq!(chosen(&runs, "steady"), format!("run {id} has no window `steady`, only warmup, all, auto"));
}

#[test]
fn the_window_that_is_called_steady_comes_before_what_the_load_shows() {
    let mut runs = Runs::new();
    runs.add("r", 100.0, |run| {
        run.load("bench", steady(10.0, 20).chain(steady(100.0, 80)));
        run.window("steady", 50.0, 90.0);
    });
    assert_eq!(chosen(&runs, "auto"), "steady: 50.0 s .. 90.0 s");
    assert_eq!(chosen(&runs, "all"), "all of it");
    assert_eq!(warmup(&runs.store, &runs.entry(0)).unwrap(), Some(50.0));
}

#[test]
fn a_warm_up_is_detected_in_the_load() {
    let mut runs = Runs::new();
    runs.add("r", 100.0, |run| run.load("bench", steady(10.0, 20).chain(steady(100.0, 80))));
    // Four batches of five seconds are another level.
    let found = detect(&runs.store, &runs.entry(0)).unwrap().unwrap();
    assert_eq!((found.response.as_str(), found.steady), ("load.transactions_per_s", Steady::From(20)));
    assert_eq!(chosen(&runs, "auto"), "steady: 20.0 s .. 100.0 s");
    assert_eq!(warmup(&runs.store, &runs.entry(0)).unwrap(), Some(20.0));
}

#[test]
fn all_of_a_run_counts_that_is_steady_or_never_or_too_short_to_tell() {
    let rising = (0..100).map(f64::from).collect::<Vec<_>>();
    for (rates, expected) in [
        (steady(100.0, 100).collect::<Vec<_>>(), Steady::From(0)),
        (rising, Steady::Never),
        (steady(10.0, 5).chain(steady(100.0, 10)).collect(), Steady::TooShort),
    ] {
        let mut runs = Runs::new();
        runs.add("r", rates.len() as f64, |run| run.load("bench", rates));
        let found = detect(&runs.store, &runs.entry(0)).unwrap().unwrap();
        assert_eq!((found.steady, found.window), (expected, None));
        assert_eq!(chosen(&runs, "auto"), "all of it");
        assert_eq!(warmup(&runs.store, &runs.entry(0)).unwrap(), None);
    }
}

#[test]
fn generators_are_looked_at_together() {
    let mut runs = Runs::new();
    runs.add("r", 100.0, |run| {
        run.load("a", steady(10.0, 20).chain(steady(100.0, 80)));
        run.load("b", steady(140.0, 20).chain(steady(50.0, 80)));
    });
    // 150 transactions in every second, from whichever client.
    assert_eq!(detect(&runs.store, &runs.entry(0)).unwrap().unwrap().steady, Steady::From(0));
}

#[test]
fn cpus_show_a_steady_part_and_yet_do_not_choose_it() {
    let mut runs = Runs::new();
    runs.add("r", 100.0, |run| {
        run.cpu(90.0, 0.0, 0, 10);
        run.cpu(50.0, 0.0, 10, 100);
    });
    runs.add("nothing", 100.0, |_| {});
    let found = detect(&runs.store, &runs.entry(0)).unwrap().unwrap();
    assert_eq!((found.response.as_str(), found.steady), ("cpu.idle", Steady::From(10)));
    assert_eq!(chosen(&runs, "auto"), "all of it");
    assert!(detect(&runs.store, &runs.entry(1)).unwrap().is_none());
}
