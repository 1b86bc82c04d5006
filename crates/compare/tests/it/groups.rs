//! Two groups side by side.

use std::collections::BTreeSet;

use fenxi_analyze::Verdict;
use fenxi_compare::{Chosen, CompareError, Comparison, Group, Line, Request, Room, SideBySide, summary};
use fenxi_model::catalog::{cpu, cpu_time, disk, result, text};

use crate::runs::{Made, Runs};

const AUTO: Chosen<'_> = Chosen { by: &[], window: "auto" };

/// By how much five runs differ from their mean.
const NOISE: [f64; 5] = [-1.0, -0.5, 0.0, 0.5, 1.0];

/// Two groups, `g=a` and `g=b`, of a run for each of `noise`; `fill` gets the group and its offset.
fn two_groups(noise: &[f64], fill: impl Fn(&mut Made, bool, f64)) -> Runs {
    let mut runs = Runs::new();
    for second in [false, true] {
        for (i, off) in noise.iter().enumerate() {
            let group = if second { "b" } else { "a" };
            runs.add(&format!("{group}{i}"), 10.0, |run| {
                run.tag("g", group);
                fill(run, second, *off);
            });
        }
    }
    runs
}

/// The groups `g=a` and `g=b`.
fn groups(runs: &Runs, chosen: Chosen<'_>) -> [Group; 2] {
    let engine = runs.engine();
    ["g=a", "g=b"].map(|selectors| Group::read(&engine, selectors, chosen).unwrap())
}

fn compared(runs: &Runs, request: Request<'_>) -> Comparison {
    let [a, b] = groups(runs, AUTO);
    SideBySide::of(&a, &b, request).unwrap().comparison.unwrap()
}

fn line<'c>(lines: &'c [Line], column: &str) -> &'c Line {
    lines.iter().find(|line| line.column == column).unwrap()
}

#[test]
fn a_clear_change_is_judged_by_which_direction_is_good() {
    let runs = two_groups(&NOISE, |run, second, off| {
        run.result("throughput", if second { 120.0 } else { 100.0 } + off, "/s", "higher");
        run.result("latency_mean", if second { 12.0 } else { 10.0 } + 0.1 * off, "ms", "lower");
        run.result("requests", if second { 500.0 } else { 900.0 } + off, "", "neither");
        run.cpu(if second { 60.0 } else { 50.0 } + off, 0.0, 0, 10);
    });
    let found = compared(&runs, Request::default());
    let throughput = line(&found.results, "throughput");
    assert_eq!((throughput.verdict, throughput.runs, throughput.is_change()), (Verdict::Better, [5, 5], true));
    assert_eq!((throughput.means, throughput.ranges), ([100.0, 120.0], [[99.0, 101.0], [119.0, 121.0]]));
    // Every run of B is above every run of A.
    assert_eq!((throughput.effect, throughput.unit.as_str(), throughput.relative), (1.0, "/s", true));
    assert!((throughput.change - 0.2).abs() < 0.01, "{}", throughput.change);
    let [low, high] = throughput.interval.unwrap();
    assert!(0.15 < low && low < 0.2 && 0.2 < high && high < 0.25, "{low} {high}");
    assert!(throughput.p.unwrap() < 0.05, "{:?}", throughput.p);
    assert_eq!(line(&found.results, "latency_mean").verdict, Verdict::Worse);
    assert_eq!(line(&found.results, "requests").verdict, Verdict::Different);
    let usr = line(&found.metrics, "usr");
    assert_eq!(
        (usr.verdict, usr.table.as_str(), usr.unit.as_str(), usr.group),
        (Verdict::Different, "cpu", "%", "cpu")
    );
    assert!(!usr.doc.is_empty() && throughput.doc.is_empty());
    assert_eq!(found.insufficient, None);
}

#[test]
fn what_differs_by_less_than_the_margin_is_the_same() {
    let runs = two_groups(&NOISE, |run, second, off| {
        run.result("throughput", if second { 1010.0 } else { 1000.0 } + off, "/s", "higher");
        run.result("errors", 0.0, "", "lower");
    });
    let found = compared(&runs, Request::default());
    assert_eq!(line(&found.results, "throughput").verdict, Verdict::Same);
    assert_eq!(line(&found.results, "errors").verdict, Verdict::Same);
    // One percent matters where it is asked for.
    let narrow = compared(&runs, Request { margin: 0.001, ..Request::default() });
    assert_eq!(line(&narrow.results, "throughput").verdict, Verdict::Better);
    // A result that was 0 throughout is no news.
    let news: Vec<String> = narrow.only_news().results.into_iter().map(|line| line.column).collect();
    assert_eq!(news, ["throughput"]);
}

#[test]
fn too_few_runs_are_insufficient_and_yet_show_what_differs_in_every_run() {
    let runs = two_groups(&[-1.0, 0.0, 1.0], |run, second, off| {
        run.result("throughput", if second { 200.0 } else { 100.0 } + off, "/s", "higher");
        run.cpu(if second { 80.0 } else { 50.0 } + off, 2.0 + off, 0, 10);
    });
    let found = compared(&runs, Request::default());
    assert_eq!(line(&found.results, "throughput").verdict, Verdict::Insufficient);
    // Of the 20 ways to divide six runs, two are as far apart: p is 0.1 at least.
    assert_eq!(found.insufficient.as_deref(), Some("insufficient runs (n=3 v 3 cannot reach p<0.05)"));
    let news: BTreeSet<String> = found.only_news().metrics.into_iter().map(|line| line.column).collect();
    // Steal is the same in both.
    assert_eq!(news, ["idle", "usr"].map(str::to_owned).into());
}

#[test]
fn other_work_is_refused_unless_forced() {
    let runs = two_groups(&[0.0], |run, second, _| {
        run.param("table_size", if second { "5000" } else { "1000" });
        run.result("throughput", 1.0, "/s", "higher");
    });
    let [a, b] = groups(&runs, AUTO);
    let refused = SideBySide::of(&a, &b, Request::default()).unwrap();
    assert!(refused.refused && refused.comparison.is_none() && refused.split.is_none());
    assert_eq!(refused.reasons[0].text, "different data sizes: `table_size` is 1000 in A and 5000 in B");
    let forced = SideBySide::of(&a, &b, Request { force: true, ..Request::default() }).unwrap();
    assert!(!forced.refused && forced.reasons[0].refuses);
    assert_eq!(forced.comparison.unwrap().results.len(), 1);
}

#[test]
fn findings_of_the_part_that_is_compared_are_reservations() {
    // The hypervisor steals half of the CPU time of the first 20 s of group A.
    let mut runs = Runs::new();
    for (name, steal) in [("a", 50.0), ("b", 0.0)] {
        runs.add(name, 60.0, |run| {
            run.tag("g", name);
            run.cpu(20.0, steal, 0, 20);
            run.cpu(20.0, 0.0, 20, 60);
            run.window("steady", 20.0, 60.0);
        });
    }
    let reasons = |window: &str| -> Vec<String> {
        let [a, b] = groups(&runs, Chosen { by: &[], window });
        let found = SideBySide::of(&a, &b, Request::default()).unwrap();
        assert!(found.reasons.iter().all(|reason| !reason.refuses) && !found.refused);
        found.reasons.into_iter().map(|reason| reason.text).collect()
    };
    // 50 % of 20 s is a sixth of a minute.
    let [all] = reasons("all").try_into().unwrap();
    assert!(all.starts_with("A (a): Steal was 16.7") && all.contains("of CPU time"), "{all}");
    let [first] = reasons("..20s").try_into().unwrap();
    assert!(first.starts_with("A (a): Steal was 50"), "{first}");
    for without in ["steady", "auto", "20s..40s"] {
        assert_eq!(reasons(without), [""; 0], "{without}");
    }
}

#[test]
fn a_group_tells_its_runs_windows_and_labels() {
    let mut runs = Runs::new();
    runs.add("r", 60.0, |run| {
        run.tag("g", "a");
        run.cpu(20.0, 0.0, 0, 30);
        run.cpu(80.0, 0.0, 30, 60);
        for (n, usr) in [("0", 10.0), ("1", 90.0)] {
            let t = run.at(50.0);
            run.rows.row(&cpu::TABLE, t, 1.0).str(cpu::cpu, n).f64(cpu::usr, usr);
        }
    });
    let engine = runs.engine();
    let usr = |window: &str, by: &[String]| -> Vec<(String, f64)> {
        let group = Group::read(&engine, " g=a, r ", Chosen { by, window }).unwrap();
        assert_eq!((group.runs.len(), &group.labels), (1, &BTreeSet::from(["cpu"])));
        let metrics = group.summaries[0].metrics.iter().filter(|(metric, _)| metric.column == "usr");
        metrics.map(|(metric, mean)| (metric.key.clone(), *mean)).collect()
    };
    assert_eq!(usr("all", &[]), [(String::new(), 50.0)]);
    assert_eq!(usr("30s..", &[]), [(String::new(), 80.0)]);
    let one_by_one = [("", 80.0), ("cpu=0", 10.0), ("cpu=1", 90.0)].map(|(key, mean)| (key.to_owned(), mean));
    assert_eq!(usr("30s..", &["cpu".to_owned()]), one_by_one);
    let [member] = Group::read(&engine, "r", Chosen { by: &[], window: "10s..40s" }).unwrap().runs.try_into().unwrap();
    assert_eq!((member.window.as_deref(), member.seconds), (Some("10.0 s .. 40.0 s"), 30.0));
    assert_eq!((member.name.as_str(), member.id), ("r", runs.ids[0].clone()));
}

#[test]
fn groups_without_runs_or_with_the_same_are_errors() {
    let runs = two_groups(&[0.0], |run, _, _| run.result("throughput", 1.0, "/s", "higher"));
    let engine = runs.engine();
    let read = |selectors| Group::read(&engine, selectors, AUTO);
    let none = read(" , ").unwrap_err();
    assert!(matches!(&none, CompareError::NoRun(selectors) if selectors == " , "), "{none}");
    let (a, both) = (read("a0").unwrap(), read("a0,b0").unwrap());
    let same = SideBySide::of(&both, &a, Request::default()).unwrap_err();
    assert_eq!(same.to_string(), "`a0,b0` and `a0` select the same runs");
    // A group may grow.
    assert!(SideBySide::of(&a, &both, Request::default()).is_ok());
}

#[test]
fn metrics_per_transaction_are_their_rates_over_its_rate() {
    let runs = two_groups(&[0.0], |run, second, _| {
        run.result("tps", if second { 200.0 } else { 100.0 }, "/s", "higher");
        for second in 1..=10 {
            let t = run.at(f64::from(second));
            run.rows.row(&cpu_time::TABLE, t, 1.0).f64(cpu_time::usr_cpus, 2.0);
            let mut row = run.rows.row(&disk::TABLE, t, 1.0);
            row.str(disk::device, "sda").f64(disk::read_bytes_per_s, 50_000.0).f64(disk::await_ms, 3.0);
        }
    });
    let found = compared(&runs, Request { per: Some("result.tps"), ..Request::default() });
    let usr = line(&found.metrics, "usr_cpus");
    // 2 CPU seconds and 50 kB in a second of 100 transactions, or 200.
    assert_eq!((usr.means, usr.unit.as_str()), ([0.02, 0.01], "s"));
    let bytes = line(&found.metrics, "read_bytes_per_s");
    assert_eq!((bytes.means, bytes.unit.as_str(), bytes.key.as_str()), ([500.0, 250.0], "B", "device=sda"));
    // A latency is no cost.
    assert_eq!(found.metrics.len(), 2);
    let [a, b] = groups(&runs, AUTO);
    let error = SideBySide::of(&a, &b, Request { per: Some("result.rate"), ..Request::default() }).unwrap_err();
    assert_eq!(error.to_string(), "run a0 has no rate or number `result.rate` above 0; it has result.tps");
}

#[test]
fn facts_that_differ_between_the_groups_are_told_line_by_line() {
    let runs = two_groups(&[0.0, 1.0], |run, second, off| {
        let swappiness = if second { "vm.swappiness = 10" } else { "vm.swappiness = 60" };
        for (name, value) in [("conf", swappiness), ("varies", if off > 0.0 { "1" } else { "2" })] {
            let mut row = run.rows.row(&text::TABLE, None, None);
            row.str(text::topic, "sysctl").str(text::name, name).text(text::value, value);
        }
    });
    let [fact] = compared(&runs, Request::default()).facts.try_into().unwrap();
    assert_eq!((fact.topic.as_str(), fact.name.as_str()), ("sysctl", "conf"));
    assert_eq!(fact.values, [Some("vm.swappiness = 60".to_owned()), Some("vm.swappiness = 10".to_owned())]);
    let lines: Vec<String> = fact.lines.iter().map(|l| serde_json::to_string(l).unwrap()).collect();
    assert_eq!(lines, [r#"{"op":"-","text":"vm.swappiness = 60"}"#, r#"{"op":"+","text":"vm.swappiness = 10"}"#]);
}

#[test]
fn every_line_of_json_has_its_kind_and_its_groups() {
    let runs = two_groups(&[0.0], |run, second, _| {
        run.end.exit_status = Some(if second { 3 } else { 0 });
        run.result("elapsed", 10.0, "s", "lower");
        run.result("user_time", if second { 4.0 } else { 2.0 }, "s", "lower");
        run.result("system_time", 1.0, "s", "lower");
        run.cpu(50.0, 0.0, 0, 1);
        let mut row = run.rows.row(&text::TABLE, None, None);
        row.str(text::topic, "app").str(text::name, "version").text(text::value, if second { "2" } else { "1" });
    });
    let [a, b] = groups(&runs, AUTO);
    let json = SideBySide::of(&a, &b, Request::default()).unwrap().json_lines();
    let lines: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["a"] == "g=a" && line["b"] == "g=b"), "{json}");
    let kinds: Vec<&str> = lines.iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["headline", "changed", "reason", "metric", "metric", "metric", "metric", "metric", "metric", "split", "fact"],
        "three results, then usr, steal and idle"
    );
    assert_eq!((&lines[1]["from"], &lines[1]["to"]), (&"a".into(), &"b".into()));
    assert_eq!((&lines[2]["refuses"], &lines[3]["column"]), (&false.into(), &"elapsed".into()));
    // 10 s are 2 s or 4 s in user code, 1 s in the kernel, and the rest.
    let split = &lines[9];
    assert_eq!((&split["what"], &split["whole"]["means"]), (&"elapsed".into(), &serde_json::json!([10.0, 10.0])));
    let parts: Vec<&serde_json::Value> = split["parts"].as_array().unwrap().iter().map(|p| &p["means"]).collect();
    assert_eq!(parts, [&serde_json::json!([2.0, 4.0]), &serde_json::json!([1.0, 1.0]), &serde_json::json!([7.0, 5.0])]);
}

#[test]
fn results_of_several_tools_and_series_of_several_hosts_are_kept_apart() {
    let mut runs = Runs::new();
    runs.add("r", 10.0, |run| {
        for (source, tps) in [("pgbench", 10.0), ("sysbench", 20.0)] {
            let mut row = run.rows.row(&result::TABLE, None, None);
            row.str(result::name, "tps").f64(result::value, tps).str(result::source, source);
        }
        run.result("elapsed", 10.0, "s", "lower");
        for (host, usr) in [("h1", 10.0), ("h2", 30.0)] {
            run.rows.set_host(host);
            run.cpu(usr, 0.0, 0, 10);
            let t = run.at(1.0);
            run.rows.row(&disk::TABLE, t, 1.0).str(disk::device, "sda").f64(disk::await_ms, usr);
        }
    });
    let found = summary(&runs.store, &runs.entry(0), AUTO, &mut Room::default()).unwrap();
    let results: Vec<(&str, f64)> = found.results.iter().map(|(name, o)| (name.as_str(), o.value)).collect();
    assert_eq!(results, [("elapsed", 10.0), ("pgbench tps", 10.0), ("sysbench tps", 20.0)]);
    let of = |column: &str| -> Vec<(&str, f64)> {
        let mine = found.metrics.iter().filter(|(metric, _)| metric.column == column);
        mine.map(|(metric, mean)| (metric.key.as_str(), *mean)).collect()
    };
    assert_eq!(of("usr"), [("host=h1", 10.0), ("host=h2", 30.0)]);
    assert_eq!(of("await_ms"), [("host=h1,device=sda", 10.0), ("host=h2,device=sda", 30.0)]);
}
