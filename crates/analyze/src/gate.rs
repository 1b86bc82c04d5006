//! Validity gate: whether two groups of runs are comparable at all.

use std::collections::BTreeSet;

use fenxi_model::Better;

use crate::{
    group::{RunSummary, fact_differences},
    sample::mean,
};

/// Something to know before believing a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// True if the comparison has no meaning because of it.
    pub refuses: bool,
    /// Reason in words.
    pub text: String,
}

/// Results and settings that say how much work there was. Groups that differ in one did not do the same.
const SIZES: [&str; 11] = [
    "scale",
    "scale_factor",
    "scaling_factor",
    "table_size",
    "tables",
    "rows",
    "warehouses",
    "data_size",
    "dataset",
    "record_count",
    "recordcount",
];
/// Those that say how much work was asked for.
const OFFERED: [&str; 6] = ["offered", "offered_rate", "offered_per_s", "target_rate", "rate_limit", "rate"];
/// Characters of a fact that is reported with its values.
const SHORT: usize = 40;
/// Runs that are called by their names.
const NAMED: usize = 3;
/// Factor between the lengths of runs from which it is one.
const LENGTH: f64 = 1.25;

/// All that speaks against comparing the groups, the worst first.
pub fn gate(a: &[RunSummary], b: &[RunSummary]) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let mut add = |refuses: bool, text: String| reasons.push(Reason { refuses, text });
    work(a, b, &mut add);
    params(a, b, &mut add);
    machines(a, b, &mut add);
    programs(a, b, &mut add);
    conduct(a, b, &mut add);
    reasons.sort_by_key(|r| !r.refuses);
    reasons
}

/// Data sizes and offered rates.
fn work(a: &[RunSummary], b: &[RunSummary], add: &mut impl FnMut(bool, String)) {
    // A result of which one direction is good is what was achieved, and not what was asked for.
    let asked = a.iter().chain(b).flat_map(|r| &r.results).filter(|(_, outcome)| outcome.better == Better::Neither);
    let names: BTreeSet<&String> = asked.map(|(name, _)| name).collect();
    for name in names {
        let Some(kind) = kind_of_work(name) else { continue };
        let of = |group: &[RunSummary]| {
            mean(&group.iter().filter_map(|r| r.results.get(name)).map(|o| o.value).collect::<Vec<_>>())
        };
        compare_work(kind, name, of(a), of(b), add);
    }
    let facts: BTreeSet<&(String, String)> = a.iter().chain(b).flat_map(|r| r.facts.keys()).collect();
    for fact in facts {
        // Facts of a load generator have its name before them.
        let own = fact.1.split_once(' ').filter(|_| fact.0 == "load").map_or(fact.1.as_str(), |(_, own)| own);
        let Some(kind) = kind_of_work(own) else { continue };
        let of = |group: &[RunSummary]| values(group, |r| r.facts.get(fact).cloned());
        let (of_a, of_b) = (of(a), of(b));
        if !of_a.is_empty() && !of_b.is_empty() && of_a != of_b {
            add(true, format!("different {kind}: `{}` is {} in A and {} in B", fact.1, words(of_a), words(of_b)));
        }
    }
    let offered =
        |group: &[RunSummary]| mean(&group.iter().filter_map(|r| r.value("load", "offered_per_s")).collect::<Vec<_>>());
    compare_work("offered rates", "load.offered_per_s", offered(a), offered(b), add);
}

fn values(group: &[RunSummary], of: impl Fn(&RunSummary) -> Option<String>) -> BTreeSet<String> {
    group.iter().filter_map(of).collect()
}

fn words(values: BTreeSet<String>) -> String {
    values.into_iter().collect::<Vec<_>>().join(", ")
}

fn kind_of_work(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase().replace(['-', ' '], "_");
    if SIZES.contains(&name.as_str()) {
        return Some("data sizes");
    }
    OFFERED.contains(&name.as_str()).then_some("offered rates")
}

fn compare_work(kind: &str, name: &str, a: f64, b: f64, add: &mut impl FnMut(bool, String)) {
    if (a - b).abs() > 0.01 * a.abs().max(b.abs()) {
        add(true, format!("different {kind}: `{name}` is {a} in A and {b} in B"));
    }
}

/// Parameters that a study stores with each of its runs besides the levels of its factors.
const BOOKKEEPING: [&str; 5] = ["study", "study_id", "block", "cell", "attempt"];

/// Settings: one that differs is the factor of the experiment, two cannot be told apart.
fn params(a: &[RunSummary], b: &[RunSummary], add: &mut impl FnMut(bool, String)) {
    let of_study = |name: &&String| BOOKKEEPING.contains(&name.as_str());
    let names: BTreeSet<&String> =
        a.iter().chain(b).flat_map(|r| r.params.keys()).filter(|name| !of_study(name)).collect();
    let mut differing = Vec::new();
    for name in names {
        let of = |group: &[RunSummary]| values(group, |r| Some(r.params.get(name).cloned().unwrap_or_default()));
        let (of_a, of_b) = (of(a), of(b));
        if of_a == of_b {
            continue;
        }
        if let Some(kind) = kind_of_work(name) {
            add(true, format!("different {kind}: `{name}` is {} in A and {} in B", words(of_a), words(of_b)));
        } else {
            differing.push(format!("{name} ({} | {})", words(of_a), words(of_b)));
        }
    }
    if differing.len() > 1 {
        add(false, format!("several settings differ, so that none alone explains a change: {}", differing.join(", ")));
    }
}

/// Facts of the machine that change how fast it is, by topic and name; all of a topic where no name is given.
const MACHINE: [(&str, &str); 12] = [
    ("cpu", "model"),
    ("cpu", "processors"),
    ("cpu", "online"),
    ("cpu", "smt active"),
    ("cpu", "microcode"),
    ("cpufreq", ""),
    ("kernel", "release"),
    ("kernel", "command line"),
    ("kernel", "clock source"),
    ("memory", "MemTotal"),
    ("thp", "enabled"),
    ("vulnerability", ""),
];

/// So many facts that a group does not know are named.
const UNKNOWN: usize = 3;

/// Differences between the machines besides the settings, and facts that one of them does not report.
fn machines(a: &[RunSummary], b: &[RunSummary], add: &mut impl FnMut(bool, String)) {
    let matters = |topic: &str, name: &str| MACHINE.iter().any(|(t, n)| *t == topic && (n.is_empty() || *n == name));
    let value = |text: Option<String>| text.filter(|t| t.chars().count() <= SHORT && !t.contains('\n'));
    let (mut differ, mut unknown) = (Vec::new(), [Vec::new(), Vec::new()]);
    for fact in fact_differences(a, b).into_iter().filter(|fact| matters(&fact.topic, &fact.name)) {
        let name = format!("{} {}", fact.topic, fact.name);
        // A fact that one side does not know is no difference.
        match fact.values {
            (None, _) => unknown[0].push(name),
            (_, None) => unknown[1].push(name),
            (of_a, of_b) => differ.push(match (value(of_a), value(of_b)) {
                (Some(a), Some(b)) => format!("{name} ({a} | {b})"),
                _ => name,
            }),
        }
    }
    if !differ.is_empty() {
        add(false, format!("the machines differ, which may explain a change: {}", differ.join(", ")));
    }
    for (which, names) in ["A", "B"].into_iter().zip(unknown) {
        let more = names.len().saturating_sub(UNKNOWN);
        let more = if more > 0 { format!(", {more} more") } else { String::new() };
        if !names.is_empty() {
            let names = names[..names.len().min(UNKNOWN)].join(", ");
            add(false, format!("whether the machines are alike is unknown, as {which} does not report: {names}{more}"));
        }
    }
}

/// Facts of a program that make it another one.
const PROGRAM: [&str; 4] = ["build id", "content", "allocator", "preload"];

/// Programs of the same name that are not the same binary, or that are served by another allocator. Where the names differ,
/// the experiment is about that.
fn programs(a: &[RunSummary], b: &[RunSummary], add: &mut impl FnMut(bool, String)) {
    let file = |group: &[RunSummary], whose: &str| {
        let paths = values(group, |run| run.facts.get(&("binary".to_owned(), format!("{whose} file"))).cloned());
        let names = paths.iter().map(|path| path.rsplit('/').next().unwrap_or(path).to_owned());
        names.collect::<BTreeSet<String>>()
    };
    let mut differ = Vec::new();
    for fact in fact_differences(a, b).into_iter().filter(|fact| fact.topic == "binary") {
        let Some((whose, what)) =
            PROGRAM.iter().find_map(|what| Some((fact.name.strip_suffix(what)?.strip_suffix(' ')?, *what)))
        else {
            continue;
        };
        let (names, others) = (file(a, whose), file(b, whose));
        if names.is_empty() || names != others {
            continue;
        }
        let short = |value: Option<String>| match value {
            Some(id) if what == "build id" || what == "content" => id.chars().take(12).collect(),
            Some(text) => text,
            None => "none".to_owned(),
        };
        // A library that is preloaded in one group only is a difference; a build-id that one lacks is unknown.
        let is_known = fact.values.0.is_some() && fact.values.1.is_some();
        if is_known || what == "preload" {
            let (of_a, of_b) = fact.values;
            differ.push(format!("{} {what} ({} | {})", words(names), short(of_a), short(of_b)));
        }
    }
    if !differ.is_empty() {
        add(
            false,
            format!("the programs are not the same binaries, which may explain a change: {}", differ.join(", ")),
        );
    }
}

/// How the runs went, and how they were made.
fn conduct(a: &[RunSummary], b: &[RunSummary], add: &mut impl FnMut(bool, String)) {
    for (which, group) in [("A", a), ("B", b)] {
        caveats(which, group, add);
    }
    let lengths: Vec<f64> = a.iter().chain(b).map(|r| r.seconds).filter(|s| *s > 0.0).collect();
    let (least, most) = lengths.iter().fold((f64::INFINITY, 0.0_f64), |(l, m), s| (l.min(*s), m.max(*s)));
    if most > least * LENGTH {
        add(false, format!("run durations differ: {least:.1} s to {most:.1} s"));
    }
    let kinds: BTreeSet<&str> = a.iter().chain(b).map(|r| r.kind.as_str()).collect();
    if kinds.len() > 1 {
        let kinds: Vec<_> = kinds.into_iter().collect();
        add(false, format!("runs of different origin: {}", kinds.join(", ")));
    }
}

/// Caveats that findings reported for the runs of a group, each finding once.
fn caveats(which: &str, group: &[RunSummary], add: &mut impl FnMut(bool, String)) {
    let mut said: Vec<&str> = Vec::new();
    for caveat in group.iter().flat_map(|run| &run.caveats) {
        if said.contains(&caveat.finding.as_str()) {
            continue;
        }
        said.push(&caveat.finding);
        let has = |run: &&RunSummary| run.caveats.iter().any(|other| other.finding == caveat.finding);
        let runs: Vec<&str> = group.iter().filter(has).map(|run| run.name.as_str()).collect();
        let text = match runs.as_slice() {
            [only] => format!("{which} ({only}): {}", caveat.message),
            [first, ..] => {
                format!("{which} ({}): {}; in {first}: {}", named(&runs, group.len()), caveat.title, caveat.message)
            }
            [] => continue,
        };
        add(caveat.refuses, text);
    }
}

/// The runs by name; many by their number.
fn named(runs: &[&str], of: usize) -> String {
    match runs.len() {
        n if n > NAMED && n == of => format!("all {n} runs"),
        n if n > NAMED => format!("{n} of {of} runs"),
        // Names that are all alike name none.
        n if n > 1 && runs.iter().all(|run| *run == runs[0]) => format!("{n} of {of} runs"),
        _ => runs.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::{Caveat, Outcome};

    fn run(params: &[(&str, &str)], results: &[(&str, f64)]) -> RunSummary {
        RunSummary {
            kind: "record".to_owned(),
            seconds: 60.0,
            params: params.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            results: results
                .iter()
                .map(|(k, v)| {
                    let outcome = Outcome { value: *v, unit: String::new(), better: Better::Neither };
                    ((*k).to_owned(), outcome)
                })
                .collect(),
            ..RunSummary::default()
        }
    }

    fn texts(a: RunSummary, b: RunSummary) -> Vec<(bool, String)> {
        gate(&[a], &[b]).into_iter().map(|r| (r.refuses, r.text)).collect()
    }

    #[test]
    fn different_work_is_refused_and_one_factor_is_not() {
        assert_eq!(
            texts(run(&[("threads", "1")], &[("throughput", 5.0)]), run(&[("threads", "2")], &[("throughput", 9.0)])),
            []
        );
        let sizes = texts(run(&[("table_size", "1000")], &[]), run(&[("table_size", "5000")], &[]));
        assert_eq!(sizes, [(true, "different data sizes: `table_size` is 1000 in A and 5000 in B".to_owned())]);
        let rates = texts(run(&[], &[("offered", 100.0)]), run(&[], &[("offered", 200.0)]));
        assert_eq!(rates, [(true, "different offered rates: `offered` is 100 in A and 200 in B".to_owned())]);
        let two = texts(run(&[("x", "1"), ("y", "1")], &[]), run(&[("x", "2"), ("y", "2")], &[]));
        assert!(!two[0].0 && two[0].1.contains("x (1 | 2), y (1 | 2)"), "{two:?}");
    }

    #[test]
    fn a_rate_that_was_achieved_is_none_that_was_offered_and_a_cell_is_no_further_setting() {
        let with = |rate: f64, level: &str, better: Better| {
            let mut run = run(&[("build", level), ("cell", level), ("study", level)], &[("rate", rate)]);
            run.results.get_mut("rate").unwrap().better = better;
            run
        };
        assert_eq!(texts(with(100.0, "a", Better::Higher), with(90.0, "b", Better::Higher)), []);
        assert!(texts(with(100.0, "a", Better::Neither), with(90.0, "b", Better::Neither))[0].0);
    }

    #[test]
    fn machines_that_differ_are_a_reservation() {
        let with = |release: &str, modules: &str| {
            let fact = |name: &str, value: &str| (("kernel".to_owned(), name.to_owned()), value.to_owned());
            RunSummary { facts: [fact("release", release), fact("modules", modules)].into(), ..run(&[], &[]) }
        };
        let found = texts(with("6.17", "a b"), with("6.18", "a c"));
        let text = "the machines differ, which may explain a change: kernel release (6.17 | 6.18)";
        assert_eq!(found, [(false, text.to_owned())]);
    }

    #[test]
    fn the_same_program_of_two_builds_is_a_reservation_and_another_program_is_not() {
        let with = |file: &str, id: &str, more: &[(&str, &str)]| {
            let fact = |name: &str, value: &str| (("binary".to_owned(), name.to_owned()), value.to_owned());
            let own = [fact("command file", file), fact("command build id", id)];
            let facts = own.into_iter().chain(more.iter().map(|(name, value)| fact(name, value))).collect();
            RunSummary { facts, ..run(&[], &[]) }
        };
        let found = texts(with("/old/app", "0123456789abcdef", &[]), with("/new/app", "fedcba9876543210", &[]));
        let text = "the programs are not the same binaries, which may explain a change: app build id (0123456789ab | fedcba987654)";
        assert_eq!(found, [(false, text.to_owned())]);
        // gzip against zstd is what the experiment is about; runs of before know nothing.
        assert_eq!(texts(with("/bin/gzip", "01", &[]), with("/bin/zstd", "02", &[])), []);
        assert_eq!(texts(with("/bin/gzip", "01", &[]), run(&[], &[])), []);
        let preload = [("command preload", "libjemalloc.so.2")];
        let found = texts(with("/bin/app", "01", &[]), with("/bin/app", "01", &preload));
        assert!(found[0].1.ends_with("app preload (none | libjemalloc.so.2)"), "{found:?}");
    }

    #[test]
    fn a_fact_that_one_side_does_not_know_is_unknown_and_not_different() {
        let fact = |name: &str| (("cpu".to_owned(), name.to_owned()), "8".to_owned());
        let known =
            RunSummary { facts: ["model", "processors", "online", "microcode"].map(fact).into(), ..run(&[], &[]) };
        let text = "whether the machines are alike is unknown, as B does not report: cpu microcode, cpu model, cpu online, 1 more";
        assert_eq!(texts(known.clone(), run(&[], &[])), [(false, text.to_owned())]);
        assert_eq!(texts(run(&[], &[]), known.clone())[0].1, text.replace("as B", "as A"));
        let some = RunSummary { facts: [fact("model")].into(), ..run(&[], &[]) };
        assert!(texts(known, some)[0].1.starts_with("whether the machines are alike"), "nothing differs");
    }

    fn with(name: &str, finding: &str, refuses: bool) -> RunSummary {
        let caveat = Caveat {
            finding: finding.to_owned(),
            title: "The hypervisor steals CPU time".to_owned(),
            refuses,
            message: format!("Steal was 7% in {name}."),
        };
        RunSummary { name: name.to_owned(), caveats: vec![caveat], ..run(&[], &[]) }
    }

    #[test]
    fn what_findings_said_is_told_once_for_each_group() {
        assert_eq!(
            texts(run(&[], &[]), with("b1", "steal", false)),
            [(false, "B (b1): Steal was 7% in b1.".to_owned())]
        );
        assert!(gate(&[run(&[], &[])], &[with("b1", "x", true)])[0].refuses);
        let many: Vec<RunSummary> = ["b1", "b2", "b3", "b4"].map(|name| with(name, "steal", false)).into();
        let found = gate(&[run(&[], &[])], &many);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].text, "B (all 4 runs): The hypervisor steals CPU time; in b1: Steal was 7% in b1.");
        let some = [many[0].clone(), run(&[], &[]), many[1].clone()];
        assert!(gate(&[run(&[], &[])], &some)[0].text.starts_with("B (b1, b2): The hypervisor"), "by name");
    }

    #[test]
    fn runs_of_other_lengths_are_a_reservation() {
        let found = texts(run(&[], &[]), RunSummary { seconds: 600.0, ..run(&[], &[]) });
        assert_eq!(found, [(false, "run durations differ: 60.0 s to 600.0 s".to_owned())]);
    }
}
