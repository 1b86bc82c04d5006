//! A metric over runs.

use fenxi_analyze::Verdict;
use fenxi_compare::{Level, Room, Trend, TrendRequest};
use fenxi_model::{Better, catalog::disk};
use fenxi_store::AVERAGE;

use crate::runs::Runs;

const ALL: TrendRequest<'_> = TrendRequest { metric: "throughput", only: &[], last: None, window: "auto", batch: None };

/// A run for each value of the result `throughput`.
fn runs(values: &[f64]) -> Runs {
    let mut runs = Runs::new();
    for (i, value) in values.iter().enumerate() {
        runs.add(&format!("r{i}"), 10.0, |run| {
            run.tag("parity", if i % 2 == 0 { "even" } else { "odd" });
            run.result("throughput", *value, "/s", "higher");
        });
    }
    runs
}

fn values(trend: &Trend) -> Vec<f64> {
    trend.points.iter().map(|point| point.value).collect()
}

#[test]
fn a_change_is_found_where_the_level_is_another() {
    let runs = runs(&[99.0, 100.0, 101.0, 99.0, 100.0, 101.0, 79.0, 80.0, 81.0, 79.0, 80.0, 81.0]);
    let trend = Trend::read(&runs.store, ALL, &Room::default()).unwrap();
    assert_eq!(trend.changes, [Level { at: 6, before: 100.0, after: 80.0, verdict: Verdict::Worse }]);
    assert_eq!((trend.unit.as_str(), trend.better, trend.points[0].name.as_str()), ("/s", Better::Higher, "r0"));
    // With nine runs no change is looked for.
    let last = Trend::read(&runs.store, TrendRequest { last: Some(9), ..ALL }, &Room::default()).unwrap();
    assert_eq!((values(&last)[..4].to_vec(), last.changes), (vec![99.0, 100.0, 101.0, 79.0], vec![]));
}

#[test]
fn every_change_ends_the_level_before() {
    let level = |mean: f64| [-1.0, 1.0, 0.0, -1.0, 1.0, 0.0].map(|off| mean + off);
    let runs = runs(&[level(100.0), level(50.0), level(200.0)].concat());
    let trend = Trend::read(&runs.store, ALL, &Room::default()).unwrap();
    let found: Vec<_> =
        trend.changes.iter().map(|level| (level.at, level.before, level.after, level.verdict)).collect();
    assert_eq!(found, [(6, 100.0, 50.0, Verdict::Worse), (12, 50.0, 200.0, Verdict::Better)]);
}

#[test]
fn runs_are_chosen_by_selectors_and_averages_are_none_of_them() {
    let mut runs = runs(&[1.0, 2.0, 3.0, 4.0]);
    runs.add("mean", 10.0, |run| {
        run.begin.kind = AVERAGE.to_owned();
        run.result("throughput", 2.5, "/s", "higher");
    });
    runs.add("other", 10.0, |run| run.result("elapsed", 10.0, "s", "lower"));
    let of = |only: &[&str], last| {
        let only: Vec<String> = only.iter().map(|s| (*s).to_owned()).collect();
        values(&Trend::read(&runs.store, TrendRequest { only: &only, last, ..ALL }, &Room::default()).unwrap())
    };
    assert_eq!(of(&[], None), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(of(&["parity=odd"], None), [2.0, 4.0]);
    assert_eq!(of(&["parity=odd", "r1"], None), [2.0]);
    // The last two are one with the result and one without.
    assert_eq!(of(&[], Some(2)), [4.0]);
}

#[test]
fn a_series_is_followed_by_table_column_and_key_over_its_window() {
    let mut runs = Runs::new();
    for mean in [10.0, 20.0] {
        runs.add("r", 10.0, |run| {
            for second in 1..=10 {
                for (device, factor) in [("sda", 1.0), ("sdb", 3.0)] {
                    let t = run.at(f64::from(second));
                    let value = mean * factor + if second <= 5 { 100.0 } else { 0.0 };
                    run.rows.row(&disk::TABLE, t, 1.0).str(disk::device, device).f64(disk::await_ms, value);
                }
            }
        });
    }
    let of =
        |metric, window| Trend::read(&runs.store, TrendRequest { metric, window, ..ALL }, &Room::default()).unwrap();
    let trend = of("disk.await_ms[device=sdb]", "all");
    assert_eq!((values(&trend), trend.unit.as_str(), trend.better), (vec![80.0, 110.0], "ms", Better::Lower));
    assert_eq!(values(&of("disk.await_ms[device=sdb]", "5s..")), [30.0, 60.0]);
    // Without a key, the devices together.
    assert_eq!(values(&of("disk.await_ms", "5s..")), [40.0, 80.0]);
}

#[test]
fn what_no_run_has_is_an_error_with_what_may_be_meant() {
    let runs = runs(&[1.0]);
    let error =
        |metric| Trend::read(&runs.store, TrendRequest { metric, ..ALL }, &Room::default()).unwrap_err().to_string();
    assert_eq!(error("result.troughput"), "no run has the metric `result.troughput`; did you mean `throughput`?");
    assert_eq!(error("cpu.user"), "table `cpu` has no numeric column `user`; did you mean `usr`?");
    assert_eq!(error("cpu.usr"), "no run has the metric `cpu.usr`");
}

#[test]
fn a_point_is_written_with_its_milliseconds() {
    let runs = runs(&[1.5]);
    let trend =
        Trend::read(&runs.store, TrendRequest { metric: "result.throughput", ..ALL }, &Room::default()).unwrap();
    let json = serde_json::to_value(&trend).unwrap();
    let point = serde_json::json!({
        "run": runs.ids[0].as_str(), "name": "r0", "start_ms": 1_795_269_600_000_i64 + 3_600_000, "value": 1.5,
    });
    assert_eq!((&json["points"][0], &json["better"]), (&point, &"higher".into()));
}
