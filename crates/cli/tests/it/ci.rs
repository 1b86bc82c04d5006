//! Output of a comparison for CI systems: OpenMetrics and JUnit, batches of runs, and the trend of all results.

use std::collections::{BTreeMap, BTreeSet};

use quick_xml::{Reader, events::Event};

use crate::{
    compare::{import, import_at, lines},
    support::{Fenxi, text},
};

/// A value of a tag that each form has to escape.
const HOSTILE: &str = "a\"b\\c<d>&";

/// Samples of OpenMetrics text by name and labels; panics where the text breaks the grammar of OpenMetrics 1.0.
pub fn openmetrics(text: &str) -> BTreeMap<String, f64> {
    let (mut samples, mut families, mut types, mut family) =
        (BTreeMap::new(), BTreeSet::new(), BTreeMap::new(), String::new());
    let body = text.strip_suffix("# EOF\n").expect("the text ends with # EOF");
    for line in body.lines() {
        if let Some(meta) = line.strip_prefix("# ") {
            let (kind, rest) = meta.split_once(' ').unwrap();
            let (name, value) = rest.split_once(' ').unwrap();
            if kind == "TYPE" {
                assert!(["gauge", "stateset"].contains(&value), "{line}");
                assert!(families.insert(name.to_owned()), "the samples of {name} follow each other");
                name.clone_into(&mut family);
                types.insert(name.to_owned(), value.to_owned());
            }
            assert!(["TYPE", "UNIT", "HELP"].contains(&kind) && name == family, "{line}");
            assert!(kind != "UNIT" || name.ends_with(&format!("_{value}")), "a name ends with its unit: {line}");
            continue;
        }
        let (name, rest) = line.split_once('{').unwrap();
        assert_eq!(name, family, "{line}");
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_' || b.is_ascii_digit()), "{line}");
        let (labels, value) = labels(rest);
        assert!(types[name] != "stateset" || labels.contains_key(name), "a state has the label of its name: {line}");
        let value: f64 = value.parse().unwrap();
        assert!(value.is_finite(), "{line}");
        let all = format!("{name} {labels:?}");
        assert!(samples.insert(all, value).is_none(), "each sample comes once: {line}");
    }
    samples
}

/// Labels, and what follows them.
fn labels(mut rest: &str) -> (BTreeMap<String, String>, &str) {
    let mut found = BTreeMap::new();
    loop {
        let (name, after) = rest.split_once("=\"").unwrap();
        let (mut value, mut chars) = (String::new(), after.char_indices());
        let end = loop {
            match chars.next().unwrap() {
                (at, '"') => break at,
                (_, '\\') => value.push(match chars.next().unwrap().1 {
                    'n' => '\n',
                    c @ ('\\' | '"') => c,
                    c => panic!("\\{c} is no escape"),
                }),
                (_, c) => value.push(c),
            }
        };
        assert!(found.insert(name.to_owned(), value).is_none());
        match after[end + 1..].strip_prefix(',') {
            Some(next) => rest = next,
            None => return (found, after[end + 1..].strip_prefix("} ").unwrap()),
        }
    }
}

/// The cases of a JUnit document with what is in each, and the counts of the first suite.
pub fn junit(text: &str) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let (mut reader, mut cases, mut suite, mut case) =
        (Reader::from_str(text), BTreeMap::new(), BTreeMap::new(), String::new());
    loop {
        let event = reader.read_event().unwrap();
        let (Event::Start(element) | Event::Empty(element)) = &event else {
            if matches!(event, Event::Eof) {
                return (cases, suite);
            }
            continue;
        };
        let attributes: BTreeMap<String, String> = element
            .attributes()
            .map(Result::unwrap)
            .map(|a| (text_of(a.key.as_ref()), quick_xml::escape::unescape(&text_of(&a.value)).unwrap().into_owned()))
            .collect();
        match element.name().as_ref() {
            b"testsuite" if suite.is_empty() => suite = attributes,
            b"testcase" => {
                case.clone_from(&attributes["name"]);
                assert!(cases.insert(case.clone(), String::new()).is_none(), "{case} comes once");
            }
            b"failure" | b"skipped" | b"error" => {
                let kind = text_of(element.name().as_ref());
                let message = attributes.get("message").cloned().unwrap_or_default();
                cases.insert(case.clone(), format!("{kind}: {message}"));
            }
            _ => {}
        }
    }
}

fn text_of(bytes: &[u8]) -> String {
    text(bytes)
}

/// Five runs of each of two groups; the second has 10 % less throughput.
fn two_groups(fenxi: &Fenxi) {
    for i in 0..5u32 {
        import(fenxi, &format!("a{i}"), HOSTILE, 10, 1000.0 + f64::from(i), |s| 40 + (s + i) % 3, 60);
        import(fenxi, &format!("b{i}"), "b", 10, 900.0 + f64::from(i), |s| 60 + (s + i) % 3, 60);
    }
}

#[test]
fn a_comparison_is_valid_openmetrics_without_a_sample_for_what_is_unknown() {
    let fenxi = Fenxi::new();
    two_groups(&fenxi);
    let a = format!("g={HOSTILE}");
    let samples = openmetrics(&fenxi.ok(&["compare", &a, "g=b", "-f", "openmetrics"]));
    let find = |name: &str, metric: &str| {
        let all: Vec<f64> = samples
            .iter()
            .filter(|(key, _)| {
                key.starts_with(&format!("{name} ")) && key.contains(&format!("\"metric\": \"{metric}\""))
            })
            .map(|(_, value)| *value)
            .collect();
        all
    };
    assert!(samples.keys().all(|key| key.contains(&format!("{:?}", a))), "{samples:#?}");
    assert_eq!(find("fenxi_compare_centre", "throughput"), [1002.0, 902.0]);
    let change = find("fenxi_compare_change_ratio", "throughput")[0];
    assert!((change - (902.0 / 1002.0 - 1.0)).abs() < 1e-9, "{change}");
    assert_eq!(find("fenxi_compare_verdict", "throughput").iter().sum::<f64>(), 1.0);
    assert_eq!(find("fenxi_compare_p_value", "throughput").len(), 1);
    // Milliseconds are seconds.
    let latency = find("fenxi_compare_centre_seconds", "latency_mean")[0];
    assert!((latency - 0.004).abs() < 0.0005, "{latency}");
    assert!(find("fenxi_compare_change_ratio", "cpu.usr").is_empty());
    let all = openmetrics(&fenxi.ok(&["compare", &a, "g=b", "-f", "openmetrics", "--all"]));
    assert!(all.keys().any(|key| key.contains("\"cpu.usr\"")), "{all:#?}");

    // One run each: no interval and no p-value, and no NaN in their place.
    let few = openmetrics(&fenxi.ok(&["compare", "a0", "b0", "-f", "openmetrics"]));
    let of_throughput: Vec<&String> = few.keys().filter(|key| key.contains("\"throughput\"")).collect();
    let is_known = |key: &&String| !["p_value", "_low", "_high"].iter().any(|unknown| key.contains(unknown));
    assert!(!of_throughput.is_empty() && of_throughput.iter().all(is_known), "{few:#?}");
    // Groups that are not comparable have one sample, and a group that is named twice is one.
    import(&fenxi, "big", "big", 50, 900.0, |_| 50, 60);
    let output = fenxi.run(&["compare", "g=b", "g=big", "g=big", "-f", "openmetrics"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(openmetrics(&text(&output.stdout)).into_values().collect::<Vec<_>>(), [0.0]);
}

#[test]
fn a_comparison_is_junit_with_a_case_for_each_result() {
    let fenxi = Fenxi::new();
    two_groups(&fenxi);
    let a = format!("g={HOSTILE}");
    let output = fenxi.run(&[
        "compare",
        &a,
        "g=b",
        "-f",
        "junit",
        "--fail-on",
        "worse",
        "--result",
        "throughput",
        "--result",
        "clients",
    ]);
    assert_eq!(output.status.code(), Some(1));
    let (cases, suite) = junit(&text(&output.stdout));
    assert!(
        cases["throughput"].starts_with("failure: B is 1.11 × slower (95 % 1.11 to 1.11), p < 0.001"),
        "{cases:#?}"
    );
    // Worse as well, and not one of those that count.
    assert_eq!((cases["latency_mean"].as_str(), cases["clients"].as_str()), ("", ""));
    let count = |name: &str| suite[name].parse::<usize>().unwrap();
    assert_eq!((count("tests"), count("failures"), count("errors"), count("skipped")), (cases.len(), 1, 0, 0));
    assert_eq!(suite["name"], format!("{a} and g=b"));

    let few = fenxi.ok(&["compare", "a0,a1", "b0,b1", "-f", "junit", "--fail-on", "worse"]);
    let (cases, suite) = junit(&few);
    assert!(cases["throughput"].starts_with("skipped: B is 1.11 × slower by throughput; 2 v 2 runs"), "{cases:#?}");
    assert_eq!(suite["failures"], "0");

    import(&fenxi, "big", "big", 50, 900.0, |_| 50, 60);
    let refused = fenxi.run(&["compare", "g=b", "g=big", "-f", "junit", "--fail-on", "worse"]);
    let (cases, _) = junit(&text(&refused.stdout));
    assert!(cases["comparable"].starts_with("error: not comparable"), "{cases:#?}");
}

/// Numbers from -1 to 1 that look random and are the same each time.
fn noise(seed: u32) -> f64 {
    let mut x = seed.wrapping_mul(0x9e37_79b9) ^ 0x85eb_ca6b;
    for _ in 0..3 {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    f64::from(x) / f64::from(u32::MAX) * 2.0 - 1.0
}

/// Four runs of a job, whose machine makes all of them faster or slower by up to 3 %.
fn job(fenxi: &Fenxi, name: &str, n: u32, branch: &str, factor: f64) {
    let machine = 1.0 + 0.03 * noise(1000 + n);
    for i in 0..4 {
        let tps = 1000.0 * factor * machine * (1.0 + 0.001 * noise(10 * n + i));
        let run = format!("{name}-{i}");
        import(fenxi, &run, name, 10, tps, |_| 50, 10);
        fenxi.ok(&["label", "tag", &run, &format!("job={name}"), &format!("branch={branch}")]);
    }
}

#[test]
fn jobs_are_judged_by_how_far_other_jobs_differ_without_a_cause() {
    let fenxi = Fenxi::new();
    for n in 0..8 {
        job(&fenxi, &format!("main-{n}"), n, "main", 1.0);
    }
    job(&fenxi, "alike", 9, "alike", 1.0);
    job(&fenxi, "slow", 10, "slow", 0.8);
    let verdict = |args: &[&str]| {
        let found = lines(&fenxi.ok(&[&["compare", "--json", "--result", "throughput=1%"], args].concat()));
        let line = found.iter().find(|l| l["table"] == "result" && l["column"] == "throughput").unwrap();
        line["verdict"].as_str().unwrap().to_owned()
    };
    // The runs of one job are alike, so that any other job seems to differ.
    assert!(["better", "worse"].contains(&verdict(&["branch=main", "branch=alike"]).as_str()));
    assert_eq!(verdict(&["branch=main", "branch=alike", "--batch", "job"]), "unclear");
    assert_eq!(verdict(&["branch=main", "branch=slow", "--batch", "job"]), "worse");
    // Three jobs do not show how far jobs differ.
    assert_eq!(verdict(&["g=main-0,g=main-1,g=main-2", "branch=slow", "--batch", "job"]), "insufficient runs");
    let page = fenxi.ok(&["compare", "g=main-0,g=main-1,g=main-2", "branch=slow", "--batch", "job"]);
    assert!(page.contains("warning: A has 3 batches by `job`"), "{page}");
    let errors = fenxi.fails(1, &["compare", "branch=main", "branch=slow", "--batch", "jobb"]);
    assert!(errors.contains("no run of `branch=main` has the tag `jobb`"), "{errors}");
}

#[test]
fn the_trend_of_all_results_is_one_table_with_what_became_worse_first() {
    let fenxi = Fenxi::new();
    for n in 0..14 {
        let run = format!("r{n}");
        let level = if n < 8 { 1000.0 } else { 900.0 };
        let tps = level * (1.0 + 0.002 * noise(n));
        import_at(&fenxi, &format!("2026-11-21 10:{n:02}"), &run, "x", (10, tps), |_| 50, 10);
        fenxi.ok(&["label", "tag", &run, &format!("job={}", n / 2)]);
    }
    let page = fenxi.ok(&["trend"]);
    let first = page.lines().nth(1).unwrap();
    assert!(page.starts_with("result") && page.contains("never varied"), "{page}");
    assert!(first.contains("worse") && first.contains("r8") && first.contains('▁'), "{page}");
    let throughput = page.lines().find(|l| l.starts_with("throughput")).unwrap();
    assert!(throughput.contains("-10.") && throughput.contains("14"), "{page}");
    let markdown = fenxi.ok(&["trend", "-f", "markdown"]);
    assert!(markdown.contains("| throughput | 14 |"), "{markdown}");
    let batches = fenxi.ok(&["trend", "throughput", "--batch", "job"]);
    assert!(batches.starts_with("throughput of 7 batches\n") && batches.contains("needs 10 batches"), "{batches}");
    let json = lines(&fenxi.ok(&["trend", "--json"]));
    assert!(json.iter().any(|l| l["metric"] == "throughput" && !l["changed"].is_null()), "{json:#?}");
}
