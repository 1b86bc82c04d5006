//! Comparing what does not differ must seldom find a difference, and comparing what does should find it.

#![expect(clippy::print_stderr, reason = "the rates are worth reading")]

use fenxi_analyze::{Random, Settings, Verdict, benjamini_hochberg, compare, judge, pooled_test};
use fenxi_model::Better;

#[path = "../examples/injected/noise.rs"]
mod noise;

use noise::run;

/// Comparisons made.
const COMPARISONS: usize = 1_000;
/// Metrics of each run.
const METRICS: usize = 20;
/// How many of the metrics are judged different when those of the second group are `by` times as large.
fn findings(random: &mut Random, n: usize, by: f64, margin: f64) -> usize {
    let mut group = |level: f64| -> Vec<Vec<f64>> {
        (0..METRICS).map(|kind| (0..n).map(|_| run(random, level, kind)).collect()).collect()
    };
    let (a, b) = (group(100.0), group(100.0 * by));
    let settings = Settings { margin, ..Settings::default() };
    let compared: Vec<_> = a.iter().zip(&b).filter_map(|(a, b)| compare(a, b, settings.level)).collect();
    let adjusted = benjamini_hochberg(&pooled_test(&a.into_iter().zip(b).collect::<Vec<_>>()));
    let found = |v: Verdict| matches!(v, Verdict::Better | Verdict::Worse | Verdict::Different);
    compared.iter().zip(adjusted).filter(|(c, p)| found(judge(c, *p, Better::Higher, &settings))).count()
}

#[test]
fn equal_groups_are_seldom_judged_different() {
    let mut random = Random::new(42);
    let wrong = (0..COMPARISONS).filter(|_| findings(&mut random, 5, 1.0, 0.0) > 0).count();
    eprintln!("{wrong} of {COMPARISONS} comparisons of equal groups found a difference in any of {METRICS} metrics");
    // The rate is 5 %; three standard deviations of that many comparisons are 2 % more.
    assert!(wrong <= COMPARISONS * 7 / 100, "{wrong}");
}

#[test]
fn real_changes_are_found_the_surer_the_larger() {
    let mut random = Random::new(7);
    let mut last = 0.0;
    for percent in [1.0, 2.0, 5.0, 10.0] {
        let found: usize = (0..30).map(|_| findings(&mut random, 10, 1.0 + percent / 100.0, 0.0)).sum();
        let share = found as f64 / (30 * METRICS) as f64;
        eprintln!("a change of {percent} % is found in {:.0} % of the comparisons of 10 with 10 runs", 100.0 * share);
        assert!(share >= last - 0.02, "{percent} %: {share}");
        last = share;
    }
    assert!(last > 0.99, "a change of 10 % was found in only {last} of the comparisons");
}
