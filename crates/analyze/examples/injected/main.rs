//! Made-up groups of runs with a injected change, judged by us and written for another tool to judge:
//! `injected DIR RUNS PERCENT FAMILIES SEED`.
//!
//! A family is one comparison of two groups by 20 metrics. `DIR/a.txt` and `DIR/b.txt` hold the groups in
//! the format of Go's benchmarks; standard output gets `family,metric,found,alone` with a line for each metric:
//! whether a change is reported among all metrics, and whether it is reported for the only result, which is adjusted for no other.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for measurements only")]

use std::fmt::Write;

use fenxi_analyze::{Random, Settings, Verdict, benjamini_hochberg, compare, judge, pooled_test};
use fenxi_model::Better;

mod noise;

/// Metrics of each run.
const METRICS: usize = 20;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [dir, runs, percent, families, seed] = args.as_slice() else {
        panic!("usage: injected DIR RUNS PERCENT FAMILIES SEED");
    };
    let (runs, families): (usize, usize) = (runs.parse().unwrap(), families.parse().unwrap());
    let by = 1.0 + percent.parse::<f64>().unwrap() / 100.0;
    let mut random = Random::new(seed.parse().unwrap());
    let settings = Settings { margin: 0.0, ..Settings::default() };
    let (mut a_text, mut b_text) = (String::new(), String::new());
    for family in 0..families {
        let mut group = |level: f64, text: &mut String| -> Vec<Vec<f64>> {
            let metric = |kind: usize| -> Vec<f64> {
                let values: Vec<f64> = (0..runs).map(|_| noise::run(&mut random, level, kind)).collect();
                values.iter().for_each(|v| writeln!(text, "BenchmarkF{family}M{kind} 1 {v} ns/op").unwrap());
                values
            };
            (0..METRICS).map(metric).collect()
        };
        let (a, b) = (group(100.0, &mut a_text), group(100.0 * by, &mut b_text));
        let compared: Vec<_> = a.iter().zip(&b).filter_map(|(a, b)| compare(a, b, settings.level)).collect();
        let tested = pooled_test(&a.into_iter().zip(b).collect::<Vec<_>>());
        let adjusted = benjamini_hochberg(&tested);
        for (kind, ((compared, p), alone)) in compared.iter().zip(adjusted).zip(tested).enumerate() {
            let found = |p: f64| {
                let verdict = judge(compared, p, Better::Higher, &settings);
                u8::from(matches!(verdict, Verdict::Better | Verdict::Worse | Verdict::Different))
            };
            println!("{family},{kind},{},{}", found(p), found(alone));
        }
    }
    fs_err::write(format!("{dir}/a.txt"), a_text).unwrap();
    fs_err::write(format!("{dir}/b.txt"), b_text).unwrap();
}
