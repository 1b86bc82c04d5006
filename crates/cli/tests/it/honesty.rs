//! Runs of one and the same thing, really made, must seldom be told apart.

use std::collections::BTreeMap;

use fenxi_analyze::Random;
use fenxi_compare::{Chosen, Group, Line, Request, SideBySide, windows::AUTO};
use fenxi_query::{Engine, Options};

use crate::support::Fenxi;

/// Runs of the workload; half of them make a group.
const RUNS: usize = 12;
/// Ways in which they are dealt out to two groups.
const DEALS: usize = 200;
/// So many deals of the same runs say as much as one of other runs.
const SHARED: f64 = 4.0;
/// Share of comparisons in which a difference is reported at most, of results and of metrics each.
const RATE: f64 = 0.05;

/// The runs at `places` of all.
fn part(all: &Group, places: &[usize]) -> Group {
    Group {
        settings: std::collections::BTreeMap::new(),
        plans: std::collections::BTreeMap::new(),
        title: String::new(),
        tags: places.iter().map(|i| all.tags[*i].clone()).collect(),
        labels: all.labels.clone(),
        runs: places.iter().map(|i| all.runs[*i].clone()).collect(),
        series: places.iter().map(|i| all.series[*i].clone()).collect(),
        summaries: places.iter().map(|i| all.summaries[*i].clone()).collect(),
    }
}

#[test]
fn real_runs_of_one_workload_are_seldom_told_apart() {
    let fenxi = Fenxi::new();
    let work = "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done; sleep 0.3";
    for _ in 0..RUNS {
        fenxi.ok(&["record", "-q", "-i", "0.2", "--name", "same", "--", "sh", "-c", work]);
    }
    let store = fenxi.store();
    let engine = Engine::open(&store, &Options::default()).unwrap();
    let all = Group::read(&engine, "same", Chosen { by: &[], window: AUTO }).unwrap();
    assert_eq!(all.runs.len(), RUNS);
    let mut random = Random::new(3);
    let (mut told_results, mut told_metrics, mut metrics) = (0_usize, 0_usize, 0);
    let mut named = BTreeMap::<String, usize>::new();
    for _ in 0..DEALS {
        let mut places: Vec<usize> = (0..RUNS).collect();
        for i in (1..RUNS).rev() {
            places.swap(i, (random.unit() * (i + 1) as f64) as usize);
        }
        let (a, b) = (part(&all, &places[..RUNS / 2]), part(&all, &places[RUNS / 2..]));
        let found = SideBySide::of(&a, &b, Request { margin: 0.0, ..Request::default() }).unwrap();
        let comparison = found.comparison.unwrap();
        metrics = comparison.metrics.len();
        let mut told = |lines: &[Line]| {
            let changed: Vec<&Line> = lines.iter().filter(|line| line.is_change()).collect();
            for line in &changed {
                *named.entry(format!("{}.{} {}", line.table, line.column, line.key)).or_default() += 1;
            }
            usize::from(!changed.is_empty())
        };
        told_results += told(&comparison.results);
        told_metrics += told(&comparison.metrics);
    }
    eprintln!(
        "{DEALS} comparisons of runs of one workload: a result told apart in {told_results}, any of {metrics} metrics \
         in {told_metrics}: {named:?}"
    );
    // Three standard deviations of so many independent comparisons. Deals of the same runs are not independent: one run
    // that was disturbed is in all of them.
    let independent = DEALS as f64 / SHARED;
    let bound = DEALS as f64 * RATE + 3.0 * SHARED * (independent * RATE * (1.0 - RATE)).sqrt();
    assert!(metrics > 50, "{metrics}");
    assert!(told_results.max(told_metrics) as f64 <= bound, "{told_results}, {told_metrics} of {bound}: {named:?}");
}
