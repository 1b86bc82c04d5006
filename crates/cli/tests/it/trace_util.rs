//! `fenxi trace util`: what hides from the clock's tick does not hide from switches.

use crate::{
    support::{Fenxi, skipped, text},
    util::{number, rows_of_all, sum, ticks, told_by_demo},
};

#[test]
fn what_hides_from_the_clock_is_seen_by_switches() {
    let fenxi = Fenxi::new();
    for attempt in 0..8 {
        let output = fenxi.run(&["trace", "util", "--demo", "1", "2", "--json"]);
        if !output.status.success() {
            let why = text(&output.stderr);
            assert!(why.contains("the kernel refuses"), "{why}");
            return skipped("trace util", &why);
        }
        let (measured, counted) = told_by_demo(&output);
        let rows = rows_of_all(&output);
        assert_eq!(rows[0]["run_by"], "switches");
        if rows[0]["accounting"] != "tick" {
            return skipped("hiding from the clock", "this kernel's accounting is exact");
        }
        let (run, again) = (sum(&rows, "run_cpus").unwrap(), sum(&rows, "tick_cpus").unwrap());
        let (hidden, idle) = (run - ticks(&rows), sum(&rows, "idle_cpus").unwrap());
        eprintln!(
            "attempt {attempt}: thread {measured:.3} s, counted {counted:.3} s; switches {run:.3} s, ticks between them {again:.3} s, hidden {hidden:.3} s, idle {idle:.3} s"
        );
        assert!(number(&rows[0], "run_cpus").unwrap() > 0.0);
        // Others would run while it sleeps, and the tick would charge them for its work.
        if measured >= 0.8 && counted < 0.2 * measured && run - measured < 0.6 && idle > 0.4 {
            assert!(hidden >= 0.5 * measured, "hidden {hidden}, of {measured} that the thread ran");
            assert!(run >= 0.99 * measured, "the switches missed the thread: {run} of {measured}");
            assert!(again <= run - 0.5 * measured, "ticks between switches see it as little: {again} of {run}");
            return;
        }
    }
    skipped("what the machine's figures hide", "others kept the CPUs too busy");
}

#[test]
fn the_columns_are_thousandths_and_a_kept_run_shows_them_again() {
    let fenxi = Fenxi::new();
    let output = fenxi.run(&["trace", "util", "200ms", "2", "--each-cpu", "--save", "kept"]);
    if !output.status.success() {
        return skipped("trace util", &text(&output.stderr));
    }
    let live = text(&output.stdout);
    let header = live.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(header, ["Date-time", "CPU", "sw-tk/1000", "tk/1000", "ns/1000", "HIDDEN"]);
    let lines = |text: &str| {
        text.lines().skip(1).filter(|l| !l.starts_with("observing")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(lines(&live), lines(&fenxi.ok(&["trace", "util", "--run", "kept", "--each-cpu"])));
    let accounts = fenxi.ok(&["trace", "util", "--run", "kept", "--accounts"]);
    assert!(accounts.contains("TICKS     RUN   AWAKE  HIDDEN"), "{accounts}");
}
