//! Comparing what does not differ must seldom find a difference, and comparing what does should find it.

#![expect(clippy::print_stderr, reason = "the rates are worth reading")]

use fenxi_analyze::{
    Random, Settings, Verdict, benjamini_hochberg, between_batches, compare, judge, mean, pooled_test,
};
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

/// Runs of each build that the CI pack makes, and jobs of the base branch that it compares with.
const REPEATS: usize = 10;
const JOBS: usize = 10;
/// Its margin, and how much jobs differ beside their runs.
const MARGIN: f64 = 0.01;
const BETWEEN_JOBS: f64 = 0.002;

/// Runs of one build, and whether the build that is `by` times as slow is judged worse than the base: both in one job.
fn fails_in_turn(random: &mut Random, by: f64) -> bool {
    let mut group = |level: f64| (0..REPEATS).map(|_| run(random, level, 0)).collect::<Vec<f64>>();
    let (a, b) = (group(100.0), group(100.0 * by));
    let settings = Settings { margin: MARGIN, ..Settings::default() };
    let p = pooled_test(&[(a.clone(), b.clone())])[0];
    judge(&compare(&a, &b, settings.level).unwrap(), p, Better::Lower, &settings) == Verdict::Worse
}

/// The same against the base branch's last jobs.
fn fails_against_jobs(random: &mut Random, by: f64) -> bool {
    let mut job = |level: f64| -> Vec<f64> {
        let machine = 1.0 + BETWEEN_JOBS * ((0..12).map(|_| random.unit()).sum::<f64>() - 6.0);
        (0..REPEATS).map(|_| run(random, level * machine, 0)).collect()
    };
    let a: Vec<Vec<f64>> = (0..JOBS).map(|_| job(100.0)).collect();
    let b = job(100.0 * by);
    let settings = Settings { margin: MARGIN, alpha: 0.01, ..Settings::default() };
    let mut compared = compare(&a.concat(), &b, settings.level).unwrap();
    let means: Vec<f64> = a.iter().map(|job| mean(job)).collect();
    let (change, p) = between_batches(&means, &[mean(&b)], compared.is_relative, settings.level).unwrap();
    compared.change = change;
    judge(&compared, p, Better::Lower, &settings) == Verdict::Worse
}

#[test]
fn the_ci_pack_raises_no_alert_in_20_equal_builds_and_finds_2_percent_in_9_of_10() {
    for (way, fails) in
        [("in turn", fails_in_turn as fn(&mut Random, f64) -> bool), ("against jobs", fails_against_jobs)]
    {
        let mut random = Random::new(20);
        let count = |random: &mut Random, n: usize, by: f64| (0..n).filter(|_| fails(random, by)).count();
        assert_eq!(count(&mut random, 20, 1.0), 0, "{way}");
        let (alerts, found) = (count(&mut random, 1000, 1.0), count(&mut random, 1000, 1.02));
        eprintln!(
            "{way}: {:.1} % of equal builds fail, {:.1} % of those 2 % slower",
            alerts as f64 / 10.0,
            found as f64 / 10.0
        );
        assert!(alerts <= 10 && found >= 900, "{way}: {alerts} alerts, {found} found, of 1000");
    }
}
