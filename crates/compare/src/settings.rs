//! Settings that were changed from one group of runs to the other: labels, parameters, the command.

use std::collections::{BTreeMap, BTreeSet};

use fenxi_store::RunEntry;
use schemars::JsonSchema;
use serde::Serialize;

/// The name of a command among settings.
const COMMAND: &str = "command";
/// The combination of levels, of a run of a study.
const CELL: &str = "cell";

/// A label, a parameter, the command or the plan of a statement, which all runs of a group have alike, and those of the other group otherwise.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Changed {
    /// Its name; `command` for the command, `plan of STATEMENT: RELATION` for a plan.
    pub name: String,
    /// Value in the first group; None where its runs have none.
    pub from: Option<String>,
    /// Value in the second group.
    pub to: Option<String>,
}

/// Labels, parameters and command of a run.
fn of_run(entry: &RunEntry) -> BTreeMap<String, String> {
    let tags = entry.labels.tags.iter().map(|(name, value)| (name.clone(), value.clone()));
    let params = entry.manifest.params.iter().map(|(name, value)| (name.clone(), value.clone()));
    let command = Some(entry.manifest.command.join(" ")).filter(|command| !command.is_empty());
    // A parameter is what a run was made with; a label of its name says the same, or is a mistake.
    tags.chain(params).chain(command.map(|command| (COMMAND.to_owned(), command))).collect()
}

/// Settings of these runs: a value that all have, or None where they differ in it.
pub(crate) fn alike<'e>(runs: impl Iterator<Item = &'e RunEntry>) -> BTreeMap<String, Option<String>> {
    let all: Vec<_> = runs.map(of_run).collect();
    let names: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
    let value = |name: &String| {
        let mut values = all.iter().map(|of_one| of_one.get(name));
        let first = values.next().flatten();
        (name.clone(), first.filter(|_| values.all(|other| other == first)).cloned())
    };
    names.into_iter().map(value).collect()
}

/// Settings that differ between two groups, by name. A value that differs within a group is no setting of it; a command
/// is left out where something else differs that is a part of it.
pub(crate) fn changed(a: &BTreeMap<String, Option<String>>, b: &BTreeMap<String, Option<String>>) -> Vec<Changed> {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let is_mixed = |name: &String| [a, b].iter().any(|of| of.get(name).is_some_and(Option::is_none));
    let told = |name: &String| {
        let (from, to) = (a.get(name).cloned().flatten(), b.get(name).cloned().flatten());
        (from != to).then(|| Changed { name: name.clone(), from, to })
    };
    let mut all: Vec<Changed> = names.into_iter().filter(|name| !is_mixed(name)).filter_map(told).collect();
    if all.len() > 1 {
        all.retain(|change| change.name != COMMAND && change.name != CELL);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(all: &[(&str, &str)]) -> BTreeMap<String, Option<String>> {
        all.iter().map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned()))).collect()
    }

    #[test]
    fn what_differs_is_told_with_both_values() {
        let (a, b) = (
            of(&[("level", "1"), ("workload", "pack"), ("command", "gzip -1")]),
            of(&[("level", "9"), ("workload", "pack"), ("command", "gzip -9")]),
        );
        let found = changed(&a, &b);
        assert_eq!(found, [Changed { name: "level".to_owned(), from: Some("1".to_owned()), to: Some("9".to_owned()) }]);
        assert_eq!(changed(&of(&[("command", "a")]), &of(&[("command", "b")])).len(), 1);
        assert!(changed(&a, &a).is_empty());
        let mixed = BTreeMap::from([("seed".to_owned(), None)]);
        assert!(changed(&mixed, &of(&[("seed", "7")])).is_empty(), "its runs differ in it");
        let only = changed(&of(&[]), &of(&[("kernel", "6.18")]));
        assert_eq!((only[0].from.as_deref(), only[0].to.as_deref()), (None, Some("6.18")));
    }
}
