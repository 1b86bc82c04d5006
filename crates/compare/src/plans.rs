//! Statements of databases whose plans differ from one group of runs to the other.

use std::collections::BTreeMap;

use fenxi_model::plan::difference;
use fenxi_query::{Engine, QueryError, Scope};

use crate::{
    Changed,
    group::Counted,
    transactions::{part_of, rows},
};

/// How many statements are named, and how much of a text.
const NAMED: usize = 12;
const TEXT: usize = 100;

/// The plan of each statement at the end of each run.
const SQL: &str = "SELECT run, coalesce(server, '') || ' ' || coalesce(database, '') || ' ' || digest || ' ' || source AS whose, \
     any_value(statement) AS statement, arg_max(shape, t) AS shape FROM db_plan WHERE shape IS NOT NULL GROUP BY ALL ORDER BY run, whose";

/// A statement and the shape of its plan, by server, database, digest and kind of plan; the shape is None where runs differ in it.
pub type Plans = BTreeMap<String, (String, Option<String>)>;

/// The plans of a group's runs, each over the part of it that counts.
///
/// # Errors
/// When the engine or the store fails.
pub(crate) fn of_runs(engine: &Engine, runs: &[Counted]) -> Result<Plans, QueryError> {
    let mut all = Plans::new();
    for (entry, window) in runs.iter().filter(|(entry, _)| entry.manifest.file("db_plan").is_some()) {
        let scope = Scope { part: part_of(entry, window.as_ref()), ..Scope::of([entry.manifest.id.clone()]) };
        for row in rows(&engine.ours(SQL, &[], &scope)?).into_values().flatten() {
            let shape = row.word("shape").to_owned();
            let known = all
                .entry(row.word("whose").to_owned())
                .or_insert_with(|| (row.word("statement").to_owned(), Some(shape.clone())));
            if known.1.as_ref().is_some_and(|known| *known != shape) {
                known.1 = None;
            }
        }
    }
    Ok(all)
}

/// Statements that both groups have a plan of, and not the same.
pub(crate) fn changed(a: &Plans, b: &Plans) -> Vec<Changed> {
    let mut all: Vec<Changed> = Vec::new();
    for (key, (statement, shape)) in a {
        let other = b.get(key).and_then(|(_, other)| other.as_ref());
        let Some((from, to)) = shape.as_ref().zip(other) else { continue };
        let Some(change) = difference(from, to) else { continue };
        let text = &statement[..statement.floor_char_boundary(TEXT)];
        let more = if text.len() < statement.len() { " …" } else { "" };
        let of = format!("plan of {text}{more}");
        // One way that became another is reported alone; else both plans are.
        let one = change.split_once(" → ").filter(|(_, to)| !to.contains(" → "));
        let told = match one.map(|(from, to)| (from.rsplit_once(": ").unwrap_or(("", from)), to)) {
            Some((("", from), to)) => Changed { name: of, from: Some(from.to_owned()), to: Some(to.to_owned()) },
            Some(((relation, from), to)) => {
                Changed { name: format!("{of}: {relation}"), from: Some(from.to_owned()), to: Some(to.to_owned()) }
            }
            None => Changed { name: of, from: Some(line(from)), to: Some(line(to)) },
        };
        // The plan of an example and the one for any values may differ alike.
        if all.len() < NAMED && !all.contains(&told) {
            all.push(told);
        }
    }
    all
}

/// A shape in one line.
fn line(shape: &str) -> String {
    shape.lines().map(str::trim).collect::<Vec<_>>().join(" / ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(shape: Option<&str>) -> Plans {
        Plans::from([("s d 1 generic".to_owned(), ("select a from t".to_owned(), shape.map(str::to_owned)))])
    }

    #[test]
    fn a_plan_that_differs_is_told_with_both_ways() {
        let (a, b) = (of(Some("aggregate\n  index scan using i on t")), of(Some("aggregate\n  sequential scan on t")));
        let found = changed(&a, &b);
        let (from, to) = (Some("index scan using i".to_owned()), Some("sequential scan".to_owned()));
        assert_eq!(found, [Changed { name: "plan of select a from t: t".to_owned(), from, to }]);
        assert!(changed(&a, &a).is_empty());
        assert!(changed(&a, &of(None)).is_empty(), "runs of one group differ in it");
        assert!(changed(&a, &Plans::new()).is_empty(), "it was not seen in the other group");
        let joins = changed(
            &of(Some("nested loop\n  index scan using i on t\n  index scan using j on u")),
            &of(Some("hash join\n  sequential scan on t\n  sequential scan on u")),
        );
        assert_eq!(joins[0].from.as_deref(), Some("nested loop / index scan using i on t / index scan using j on u"));
    }
}
