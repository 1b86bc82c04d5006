//! Snapshot of a plan as names and texts: a resumed study must match the one that was started.

use std::collections::BTreeMap;

use crate::plan::{Around, Command, From, Import, Probe, ProbeHow, StudyPlan, Warmup};

/// The content of a plan: `command`, `factors.threads`, `run.setup` and so on, with the text of each.
pub type Facets = BTreeMap<String, String>;

/// Beginnings of the names of facets that a study may have more or fewer of without measuring anything else.
const EXTENSIBLE: [&str; 8] = ["repeats", "cells", "exclude", "levels.", "response.", "timeout", "cooldown", "seed"];

/// The facets of a plan. What only words or the handling of failures depends on is not among them.
pub fn facets(plan: &StudyPlan) -> Facets {
    let mut all = Facets::new();
    let mut put = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            all.insert(name.to_owned(), value);
        }
    };
    let text = |command: &Option<Command>| command.as_ref().map(Command::to_string);
    let seconds = |value: Option<f64>| value.map(|s| format!("{s}s"));
    let patterns = |list: &[Vec<(String, String)>]| (!list.is_empty()).then(|| format!("{list:?}"));
    put("repeats", Some(plan.repeats.to_string()));
    put("seed", plan.seed.map(|seed| seed.to_string()));
    put("series", plan.series.clone());
    put("order", plan.in_order.then(|| "given".to_owned()));
    put("command", Some(plan.command.to_string()));
    // As in the plan: the study may go on from another directory.
    let here = plan.path.parent().and_then(|here| plan.directory.strip_prefix(here).ok()).unwrap_or(&plan.directory);
    put("directory", Some(here.display().to_string()).filter(|dir| !dir.is_empty() && dir != "."));
    put("cells", plan.cells.as_deref().and_then(patterns));
    put("exclude", patterns(&plan.exclude));
    put("cooldown", (plan.cooldown_s > 0.0).then(|| format!("{}s", plan.cooldown_s)));
    put("duration", seconds(plan.duration_s));
    put("timeout", seconds(plan.timeout_s));
    put("record.interval", Some(format!("{}s", plan.record.interval_s)));
    put("record.db", (!plan.record.databases.is_empty()).then(|| plan.record.databases.join(",")));
    put("record.on", (!plan.record.hosts.is_empty()).then(|| plan.record.hosts.join(", ")));
    put("record.role", (!plan.record.roles.is_empty()).then(|| plan.record.roles.join(", ")));
    put("record.sources", (!plan.record.sources.is_empty()).then(|| plan.record.sources.join(",")));
    put("run.ready", plan.ready.as_ref().map(probe));
    put(
        "run.warmup",
        plan.warmup.as_ref().map(|warmup| match warmup {
            Warmup::Seconds(s) => format!("{s}s"),
            Warmup::Command(command) => command.to_string(),
        }),
    );
    let mut put_around = |prefix: &str, around: &Around| {
        put(&format!("{prefix}setup"), text(&around.setup));
        put(&format!("{prefix}teardown"), text(&around.teardown));
    };
    put_around("", &plan.around);
    put_around("run.", &plan.each);
    for factor in &plan.factors {
        for level in &factor.levels {
            put_around(&format!("level.{}.{}.", factor.name, level.name), &level.around);
        }
    }
    put_named(plan, &mut all);
    all
}

/// Facets whose names come from the plan.
fn put_named(plan: &StudyPlan, all: &mut Facets) {
    for (key, value) in &plan.env {
        all.insert(format!("env.{key}"), value.clone());
    }
    for factor in &plan.factors {
        all.insert(format!("factors.{}", factor.name), "a factor".to_owned());
        for level in &factor.levels {
            all.insert(format!("levels.{}.{}", factor.name, level.name), "a level".to_owned());
            for (key, value) in &level.env {
                all.insert(format!("level.{}.{}.env.{key}", factor.name, level.name), value.clone());
            }
        }
    }
    match plan.import {
        Import::Recognised => {}
        Import::As(name) => drop(all.insert("import".to_owned(), name.to_owned())),
        Import::Off => drop(all.insert("import".to_owned(), "off".to_owned())),
    }
    for response in &plan.responses {
        let from = match &response.from {
            From::Result(name) => format!("result {name}"),
            From::Pattern(pattern) => format!("pattern {pattern}"),
            From::Work(work) => format!("work {work}"),
            From::Asked(asked) => asked.to_string(),
        };
        all.insert(format!("response.{}", response.name), from);
    }
}

fn probe(probe: &Probe) -> String {
    match &probe.how {
        ProbeHow::Command(command) => command.to_string(),
        ProbeHow::Tcp(address) => format!("tcp {address}"),
    }
}

/// Differences between the plan with which a study began and its plan now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// A line each.
    pub lines: Vec<String>,
    /// True if runs of both would still measure the same thing.
    pub is_extension: bool,
}

/// Compares what was with what is; empty when nothing changed.
pub fn changes(was: &Facets, is: &Facets) -> Changes {
    let mut changes = Changes { lines: Vec::new(), is_extension: true };
    let names: std::collections::BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    for name in names {
        let line = match (was.get(name), is.get(name)) {
            (Some(before), Some(now)) if before == now => continue,
            (Some(before), Some(now)) => format!("`{name}` was `{before}`, is `{now}`"),
            (Some(before), None) => format!("`{name}` was `{before}`, is not there"),
            (None, now) => format!("`{name}` was not there, is `{}`", now.map_or("", String::as_str)),
        };
        // A change of a level that is new, or is gone, does not affect the runs of the others.
        let of_level = name.strip_prefix("level.").is_some_and(|rest| {
            let level = |facets: &Facets| {
                facets.keys().filter_map(|k| k.strip_prefix("levels.")).any(|l| rest.starts_with(&format!("{l}.")))
            };
            level(was) != level(is)
        });
        changes.is_extension &= of_level || EXTENSIBLE.iter().any(|prefix| name.starts_with(prefix));
        changes.lines.push(line);
    }
    changes
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{changes, facets};
    use crate::parse;

    fn changed(was: &str, is: &str) -> (Vec<String>, bool) {
        let of = |text: &str| facets(&parse(Path::new("p"), &format!("name = \"n\"\n{text}")).unwrap());
        let found = changes(&of(was), &of(is));
        (found.lines, found.is_extension)
    }

    #[test]
    fn what_changed_is_named_and_what_measures_the_same_is_told_from_what_does_not() {
        let base = "command = \"a\"\nrepeats = 2\n[factors]\nx = [1]\n";
        assert_eq!(changed(base, base), (vec![], true));
        let (lines, extension) =
            changed(base, "command = \"a\"\nrepeats = 3\n[factors]\nx = [1, { name = 2, setup = \"s\" }]\n");
        let expected = [
            "`level.x.2.setup` was not there, is `s`",
            "`levels.x.2` was not there, is `a level`",
            "`repeats` was `2`, is `3`",
        ];
        assert_eq!((lines.as_slice(), extension), (expected.map(String::from).as_slice(), true));
        let (lines, extension) = changed(base, "command = \"b\"\nrepeats = 2\n[factors]\nx = [1]\n");
        assert_eq!((lines, extension), (vec!["`command` was `a`, is `b`".to_owned()], false));
        // A set-up of a level that was there before changes what its runs measure.
        let (_, extension) =
            changed(base, "command = \"a\"\nrepeats = 2\n[factors]\nx = [{ name = 1, setup = \"s\" }]\n");
        assert!(!extension);
        let (_, extension) = changed(base, "command = \"a\"\nrepeats = 2\n[factors]\nx = [1]\ny = [1]\n");
        assert!(!extension);
        let words = format!("about = \"words\"\non_failure = \"continue\"\n{base}");
        assert_eq!(changed(base, &words), (vec![], true));
    }
}
