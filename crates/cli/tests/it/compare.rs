//! Comparing runs: verdicts, what forbids them, windows and the run that stands for all.

use fs_err as fs;
use serde_json::Value;

use crate::support::{Fenxi, text};

/// A pgbench report and a vmstat of `samples` seconds beside it, as one imported run.
pub fn import(fenxi: &Fenxi, name: &str, group: &str, scale: u32, tps: f64, usr: impl Fn(u32) -> u32, samples: u32) {
    import_at(fenxi, "2026-11-21 10:00", name, group, (scale, tps), usr, samples);
}

/// [`import`] of a run that began at `start`.
pub fn import_at(
    fenxi: &Fenxi,
    start: &str,
    name: &str,
    group: &str,
    (scale, tps): (u32, f64),
    usr: impl Fn(u32) -> u32,
    samples: u32,
) {
    let dir = tempfile::tempdir().unwrap();
    let latency = 1000.0 * 4.0 / tps;
    let report = format!(
        "pgbench (15.8)\ntransaction type: <builtin: TPC-B (sort of)>\nscaling factor: {scale}\nquery mode: simple\n\
         number of clients: 4\nnumber of threads: 1\nmaximum number of tries: 1\nduration: {samples} s\n\
         number of transactions actually processed: {}\nnumber of failed transactions: 0 (0.000%)\n\
         latency average = {latency:.3} ms\ninitial connection time = 2.000 ms\n\
         tps = {tps:.6} (without initial connection time)\n",
        (tps * f64::from(samples)) as u64
    );
    fs::write(dir.path().join("pgbench.txt"), report).unwrap();
    let mut vmstat = String::from(
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n \
         r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n",
    );
    for i in 0..=samples {
        let us = usr(i);
        vmstat.push_str(&format!(
            " 1  0      0 812340  10240 401200    0    0     0     0  500 {} {us}  5 {}  0  0\n",
            1000 + 10 * us,
            95 - us
        ));
    }
    fs::write(dir.path().join("vmstat.txt"), vmstat).unwrap();
    let tag = format!("g={group}");
    let path = dir.path().to_str().unwrap();
    fenxi.ok(&["import", "-q", "--start", start, "--interval", "1", "--name", name, "--tag", &tag, path]);
}

pub fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn line<'l>(lines: &'l [Value], table: &str, column: &str) -> &'l Value {
    lines.iter().find(|l| l["table"] == table && l["column"] == column).unwrap_or_else(|| panic!("{lines:#?}"))
}

/// Five runs of each of two groups; the second has 10 % less throughput for more CPU.
fn two_groups(fenxi: &Fenxi) {
    for i in 0..5u32 {
        import(fenxi, &format!("a{i}"), "a", 10, 1000.0 + f64::from(i), |s| 40 + (s + i) % 3, 60);
        import(fenxi, &format!("b{i}"), "b", 10, 900.0 + f64::from(i), |s| 60 + (s + i) % 3, 60);
    }
}

#[test]
fn groups_that_differ_are_told_apart_and_those_that_do_not_are_the_same() {
    let fenxi = Fenxi::new();
    two_groups(&fenxi);
    let found = lines(&fenxi.ok(&["compare", "g=a", "g=b", "--json"]));
    let tps = line(&found, "result", "throughput");
    assert_eq!((&tps["verdict"], &tps["runs"]), (&"worse".into(), &serde_json::json!([5, 5])));
    let change = tps["change"].as_f64().unwrap();
    assert!((change - (902.0 / 1002.0 - 1.0)).abs() < 1e-9, "{change}");
    let [low, high] = [0, 1].map(|i| tps["interval"][i].as_f64().unwrap());
    assert!(low < change && change < high && high < -0.09, "{low} {high}");
    assert_eq!(line(&found, "cpu", "usr")["verdict"], "different");
    assert_eq!(line(&found, "mem", "free_bytes")["verdict"], "same");

    let page = fenxi.ok(&["compare", "g=a", "g=b"]);
    let (tps, usr) = (page.find("\nthroughput").unwrap(), page.find("\nusr").unwrap());
    assert!(tps < usr && page.contains("-10.0 %") && page.contains("worse"), "{page}");
    assert!(!page.contains("free_bytes"), "{page}");
    assert!(fenxi.ok(&["compare", "g=a", "g=b", "--all"]).contains("free_bytes"));
    assert!(fenxi.ok(&["compare", "g=a", "g=b", "--markdown"]).contains("|---|---:|"));
    // A margin that no change crosses.
    let wide = lines(&fenxi.ok(&["compare", "g=a", "g=b", "--json", "--margin", "15%"]));
    assert_eq!(line(&wide, "result", "throughput")["verdict"], "same");

    assert_eq!(fenxi.run(&["compare", "g=a", "g=b", "--fail-on", "worse"]).status.code(), Some(1));
    assert!(fenxi.run(&["compare", "g=b", "g=a", "--fail-on", "worse"]).status.success());
    let few = fenxi.ok(&["compare", "a0,a1", "b0,b1"]);
    assert!(
        few.contains("insufficient runs (n=2 v 2 cannot reach p<0.05)") && few.contains("1.00 k/s … 1.00 k/s"),
        "{few}"
    );
    let errors = fenxi.fails(1, &["compare", "a0", "a0"]);
    assert!(errors.contains("the same runs"), "{errors}");
    fenxi.fails(2, &["compare", "a0", "b0", "--margin", "2x"]);
}

#[test]
fn a_comparison_begins_with_a_sentence_about_the_result_that_counts() {
    let fenxi = Fenxi::new();
    two_groups(&fenxi);
    let first = |args: &[&str]| {
        let page = fenxi.ok(&[&["compare", "g=a", "g=b"], args].concat());
        page.lines().next().unwrap().to_owned()
    };
    let text = first(&[]);
    assert!(text.starts_with("B is 1.11 × slower (95 % 1.11 to 1.11), p < 0.001"), "{text}");
    assert!(text.ends_with(", by throughput"), "{text}");
    assert_eq!(first(&["--markdown"]), format!("**{text}**"));
    let json: Value = serde_json::from_str(&first(&["--json"])).unwrap();
    assert_eq!((&json["kind"], &json["text"], &json["verdict"]), (&"headline".into(), &text.into(), &"worse".into()));
    assert!(first(&["--result", "latency_mean"]).ends_with(", by latency mean"));

    // Only what counts fails, by its own margin.
    let code =
        |args: &[&str]| fenxi.run(&[&["compare", "g=a", "g=b", "--fail-on", "worse"], args].concat()).status.code();
    assert_eq!(code(&["--result", "throughput"]), Some(1));
    assert_eq!(code(&["--result", "throughput=15%"]), Some(0));
    assert_eq!(code(&["--result", "clients"]), Some(0));
    let unknown = fenxi.fails(1, &["compare", "g=a", "g=b", "--result", "troughput"]);
    assert!(unknown.contains("no result `troughput` in common; did you mean `throughput`?"), "{unknown}");
}

#[test]
fn a_transaction_costs_what_division_says() {
    let fenxi = Fenxi::new();
    two_groups(&fenxi);
    let found = lines(&fenxi.ok(&["compare", "g=a", "g=b", "--json", "--per", "throughput", "--window", "all"]));
    let switches = &line(&found, "sched", "context_switches_per_s")["means"];
    // Run i has the shares of CPU time 40 + (s + i) % 3 in the seconds 1 to 60, 41 on average, and 10
    // switches for each percent above 1,000.
    let expected = (0..5).map(|i| 1410.0 / (1000.0 + f64::from(i))).sum::<f64>() / 5.0;
    assert!((switches[0].as_f64().unwrap() - expected).abs() < 1e-9, "{switches}");
    assert!(switches[1].as_f64().unwrap() > 1.7, "{switches}");
    assert!(found.iter().all(|l| l["table"] != "mem"), "memory is no cost of a transaction");
    let errors = fenxi.fails(1, &["compare", "g=a", "g=b", "--per", "nothing"]);
    assert!(errors.contains("no rate or number `nothing`") && errors.contains("result.throughput"), "{errors}");
}

#[test]
fn groups_that_did_different_work_are_refused() {
    let fenxi = Fenxi::new();
    for i in 0..5u32 {
        import(&fenxi, &format!("a{i}"), "a", 10, 1000.0, |_| 40, 10);
        import(&fenxi, &format!("b{i}"), "b", 50, 1000.0, |_| 40, 10);
    }
    let output = fenxi.run(&["compare", "g=a", "g=b"]);
    assert_eq!(output.status.code(), Some(1));
    let page = text(&output.stdout);
    assert!(page.contains("not comparable: different data sizes") && !page.contains("Results"), "{page}");
    assert!(fenxi.ok(&["compare", "g=a", "g=b", "--force"]).contains("Results"));
}

#[test]
fn a_window_limits_what_is_compared() {
    let fenxi = Fenxi::new();
    // The first 20 s are a warm-up.
    import(&fenxi, "a", "a", 10, 1000.0, |s| if s <= 20 { 5 } else { 50 }, 60);
    import(&fenxi, "b", "b", 10, 1000.0, |s| if s <= 20 { 80 } else { 60 }, 60);
    let usr = |args: &[&str]| {
        let all: Vec<&str> = ["compare", "a", "b", "--json"].iter().chain(args).copied().collect();
        let found = lines(&fenxi.ok(&all));
        let means = line(&found, "cpu", "usr")["means"].clone();
        (means[0].as_f64().unwrap(), means[1].as_f64().unwrap())
    };
    assert_eq!(usr(&[]), ((20.0 * 5.0 + 40.0 * 50.0) / 60.0, (20.0 * 80.0 + 40.0 * 60.0) / 60.0));
    assert_eq!(usr(&["--window", "20s..40s"]), (50.0, 60.0));
    fenxi.ok(&["window", "a", "steady", "auto"]);
    let steady = lines(&fenxi.ok(&["window", "a", "--json"]));
    assert_eq!((&steady[0]["window"], &steady[0]["to_s"]), (&"steady".into(), &60.0.into()));
    assert_eq!(steady[0]["from_s"], 20.0);
    fenxi.ok(&["window", "b", "steady", "20s.."]);
    assert_eq!(usr(&[]), (50.0, 60.0));
    // Made once, then read: the same again.
    assert_eq!(usr(&[]), (50.0, 60.0));
    assert_eq!(usr(&["--window", "all"]).0, (20.0 * 5.0 + 40.0 * 50.0) / 60.0);

    let errors = fenxi.fails(1, &["compare", "a", "b", "--window", "stedy"]);
    assert!(errors.contains("no window `stedy`") && errors.contains("did you mean `steady`?"), "{errors}");
    assert!(fenxi.fails(1, &["window", "a", "x", "70s..80s"]).contains("is outside the run"));
    assert!(fenxi.fails(1, &["window", "a", "x", "soon"]).contains("FROM..TO"));
    fenxi.ok(&["window", "a", "steady", "--remove"]);
    assert_eq!(fenxi.ok(&["window", "a"]), "no windows; `fenxi label window RUN steady 60s..540s` names one\n");
}

#[test]
fn the_run_that_stands_for_all_and_the_strange_one_are_named() {
    let fenxi = Fenxi::new();
    for (i, usr) in [40, 41, 42, 43, 90].into_iter().enumerate() {
        import(&fenxi, &format!("r{i}"), "a", 10, 1000.0, |s| usr + s % 2, 10);
    }
    let found = lines(&fenxi.ok(&["representative", "g=a", "--json"]));
    assert_eq!((&found[0]["representative"], &found[0]["distance"]), (&true.into(), &0.0.into()));
    assert!(["r1", "r2"].map(Value::from).contains(&found[0]["name"]), "{found:?}");
    assert_eq!((&found[4]["name"], &found[4]["outlier"]), (&"r4".into(), &true.into()));
}

#[test]
fn a_trend_tells_where_a_metric_changed() {
    let fenxi = Fenxi::new();
    for i in 0..12u32 {
        let tps = if i < 6 { 1000.0 } else { 900.0 } + f64::from(i % 3) + 0.001 * f64::from(i);
        import(&fenxi, &format!("r{i:02}"), if i % 2 == 0 { "even" } else { "odd" }, 10, tps, |_| 40, 5);
    }
    let found = lines(&fenxi.ok(&["trend", "throughput", "--json"]));
    assert_eq!(found.len(), 12);
    let changed: Vec<usize> = (0..12).filter(|i| !found[*i]["changed"].is_null()).collect();
    assert_eq!(changed, [6]);
    let before = found[6]["changed"]["before"].as_f64().unwrap();
    assert!((before - 1001.0025).abs() < 1e-6, "{before}");
    let page = fenxi.ok(&["trend", "result.throughput"]);
    assert!(page.contains("changed by -10.0 %") && page.contains("1.00 k/s → 901/s"), "{page}");
    assert!(fenxi.ok(&["trend", "cpu.usr"]).contains("no significant change point"));
    assert!(fenxi.ok(&["trend", "throughput", "--where", "g=odd"]).contains("of 6 runs"));
    let errors = fenxi.fails(1, &["trend", "throughputt"]);
    assert!(errors.contains("no run has the metric") && errors.contains("did you mean `throughput`"), "{errors}");
    assert!(fenxi.fails(1, &["trend", "cpu.user"]).contains("no numeric column `user`"));
}
