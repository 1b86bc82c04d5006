//! Output of `util`.

use fenxi_model::{Micros, Rows, catalog::cpu_time as c};

use super::{Util, UtilOptions};
use crate::{Frame, View};

const OPTIONS: UtilOptions =
    UtilOptions { lines: true, totals: false, each_cpu: false, width: None, tick_s: Some(0.004) };

/// Rows of two CPUs, the second one idle, and of both.
fn rows(usr: f64, run: Option<f64>, accounting: &str) -> Rows {
    let mut rows = Rows::new("h");
    for (cpu, busy, measured) in [(Some("0"), usr, run), (Some("1"), 0.0, Some(0.0)), (None, usr, run)] {
        rows.row(&c::TABLE, Micros(45_296_000_000), 2.0)
            .str(c::cpu, cpu)
            .f64(c::usr_cpus, busy)
            .f64(c::sys_cpus, 0.0)
            .f64(c::irq_cpus, 0.0)
            .f64(c::steal_cpus, 0.0)
            .f64(c::idle_cpus, if cpu.is_none() { 1.25 } else { 0.625 })
            .f64(c::run_cpus, measured)
            .str(c::run_by, measured.map(|_| "cpuacct"))
            .str(c::accounting, accounting);
    }
    rows
}

fn show(options: UtilOptions, frames: &[Rows]) -> String {
    let mut view = Util::new(options);
    let mut out = String::new();
    for rows in frames {
        view.frame(&Frame { t: Micros(45_296_000_000), dt: 2.0, since_boot: false, rows }, &mut out);
    }
    view.end(&mut out);
    out
}

#[test]
fn ticks_and_measure_stand_side_by_side() {
    assert_eq!(
        show(OPTIONS, &[rows(0.01, Some(0.742), "tick")]),
        "\
2 CPUs; USR SYS IRQ sampled at each clock tick (4.0 ms); RUN measured (cpuacct)
TIME         USR     SYS     IRQ   STEAL    IDLE   TICKS     RUN   AWAKE  HIDDEN
12:34:56   0.010   0.000   0.000   0.000   1.250   0.010   0.742   0.750   0.732
"
    );
}

#[test]
fn a_narrow_terminal_has_the_comparison_and_lines_fit_it() {
    let narrow = show(UtilOptions { width: Some(40), ..OPTIONS }, &[rows(0.75, None, "tick")]);
    assert_eq!(
        narrow,
        "\
2 CPUs, CPU seconds per second
TIME       TICKS     RUN   AWAKE  HIDDEN
12:34:56   0.750       -   0.750       -
"
    );
    assert!(narrow.lines().all(|line| line.len() <= 40));
}

#[test]
fn each_cpu_comes_before_all_of_them() {
    let text = show(UtilOptions { each_cpu: true, width: Some(60), ..OPTIONS }, &[rows(0.5, Some(0.5), "tick")]);
    let names: Vec<_> = text.lines().skip(1).map(|l| l.split_whitespace().nth(1).unwrap().to_owned()).collect();
    assert_eq!(names, ["CPU", "0", "1", "all"]);
}

#[test]
fn sums_are_exact_and_say_what_the_tick_missed() {
    let options = UtilOptions { lines: false, totals: true, ..OPTIONS };
    assert_eq!(
        show(options, &[rows(0.01, Some(0.742), "tick"), rows(0.02, Some(0.75), "tick")]),
        "\
4.000 s elapsed, 2.0000 CPUs: 8.000 CPU seconds
                  CPU s     CPUs   share
usr               0.060   0.0150   0.75%  ticks
sys               0.000   0.0000   0.00%  ticks
irq               0.000   0.0000   0.00%  ticks
steal             0.000   0.0000   0.00%  hypervisor's measure
idle              5.000   1.2500  62.50%  nothing to run
idle states           -        -       -  cpuidle's measure
TICKS             0.060   0.0150   0.75%  usr + sys + irq
RUN               2.984   0.7460  37.30%  scheduler's measure (cpuacct)
AWAKE             3.000   0.7500  37.50%  elapsed - idle - steal
HIDDEN            2.924: the clock tick MISSED 98.0% of what ran (chance explains 0.276).
"
    );
}

#[test]
fn the_verdict_knows_chance_excess_exact_kernels_and_what_is_missing() {
    let options = UtilOptions { lines: false, totals: true, ..OPTIONS };
    let last = |frame| show(options, &[frame]).lines().last().unwrap().to_owned();
    assert!(last(rows(0.75, Some(0.76), "tick")).contains("the accounts agree"));
    assert!(last(rows(0.75, Some(0.25), "tick")).contains("charged 200.0% more"));
    assert!(last(rows(0.75, Some(0.75), "exact")).contains("MEASURED by this kernel, nothing hides"));
    assert!(last(rows(0.75, None, "tick")).contains("Nothing measured"));
    let gap = show(options, &[rows(0.5, Some(0.5), "tick"), rows(0.5, None, "tick")]);
    assert!(gap.lines().any(|l| l.starts_with("RUN") && l.contains(" - ")), "a sum with a gap is no sum: {gap}");
}

#[test]
fn averages_since_boot_are_not_in_the_sums() {
    let mut view = Util::new(UtilOptions { totals: true, ..OPTIONS });
    let mut out = String::new();
    let rows = rows(0.5, Some(0.5), "tick");
    view.frame(&Frame { t: Micros(0), dt: 2.0, since_boot: true, rows: &rows }, &mut out);
    view.end(&mut out);
    assert_eq!(out.lines().count(), 3);
    assert!(out.lines().last().unwrap().starts_with("boot       0.500"), "{out}");
}
