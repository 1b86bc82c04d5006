//! Which findings could not be asked of runs, and what would make it.
//!
//! The rows on which a finding must fire, in its own header, define what it needs: a table, and columns with numbers. It can be asked
//! where a run has all that one of these cases has. What lacks every table of its cases is about something else.

use std::collections::{BTreeMap, BTreeSet};

use fenxi_model::{Table, Type};

use super::{Case, Expected, Finding, findings};
use crate::{Engine, QueryError, Scope, views};

/// Data that runs lack, and the findings that need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Columns, as `queue_depth of disk`, and tables, of which nothing is there.
    pub what: Vec<String>,
    /// Names of the findings.
    pub findings: Vec<String>,
}

/// Findings that could be evaluated on runs, and those that lack data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CanAsk {
    /// How many findings could be asked.
    pub asked: usize,
    /// Missing data, ordered by the number of findings that need it.
    pub missing: Vec<Missing>,
    /// Names of findings about something of which the runs have nothing.
    pub elsewhere: Vec<String>,
}

/// The numbers that runs have, by table.
type NumericColumns = BTreeMap<&'static str, BTreeSet<String>>;

/// Things that the line names; further ones are counted.
const NAMED: usize = 4;

impl Engine {
    /// Which findings can be asked of the runs of `scope`.
    ///
    /// # Errors
    /// When a finding of the store cannot be read, or a table of a run.
    pub fn asked(&self, scope: &Scope) -> Result<CanAsk, QueryError> {
        let mut all = findings(self.store())?;
        let mut elsewhere = Vec::new();
        if let Some(runs) = &scope.runs {
            let known = runs.iter().map(|run| Ok(self.store().run(run)?.manifest));
            let known = known.collect::<Result<Vec<_>, QueryError>>()?;
            let is_elsewhere = |finding: &mut Finding| !known.iter().any(|manifest| finding.is_about(manifest));
            elsewhere = all.extract_if(.., is_elsewhere).map(|finding| finding.name).collect();
        }
        let tables: BTreeSet<&'static str> =
            all.iter().flat_map(|f| &f.cases).flat_map(Case::needs).map(|(table, _)| table.name).collect();
        let mut known = NumericColumns::new();
        for table in tables {
            let there = views::columns_with_values(self.store(), table, scope)?;
            if !there.is_empty() {
                known.insert(table, there);
            }
        }
        let mut asked = sorted(&all, &known);
        asked.elsewhere.append(&mut elsewhere);
        Ok(asked)
    }
}

fn sorted(all: &[Finding], known: &NumericColumns) -> CanAsk {
    let mut asked = CanAsk::default();
    let mut missing: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    for finding in all.iter().filter(|finding| finding.cases.iter().any(|case| case.expected == Expected::Found)) {
        let cases = finding.cases.iter().filter(|case| case.expected == Expected::Found);
        let lacking = cases.map(|case| lacks(case, known)).min_by_key(|(here, what)| (what.len(), !here));
        match lacking {
            Some((_, what)) if what.is_empty() => asked.asked += 1,
            Some((true, what)) => missing.entry(what).or_default().push(finding.name.clone()),
            _ => asked.elsewhere.push(finding.name.clone()),
        }
    }
    asked.missing = missing.into_iter().map(|(what, findings)| Missing { what, findings }).collect();
    asked.missing.sort_by_key(|missing| std::cmp::Reverse(missing.findings.len()));
    asked
}

/// Tables and columns that runs lack for the rows of a case, and whether they have any of its tables.
fn lacks(case: &Case, known: &NumericColumns) -> (bool, Vec<String>) {
    let (mut here, mut what) = (false, BTreeSet::new());
    for (table, columns) in case.needs() {
        let Some(there) = known.get(table.name) else {
            what.insert(table.name.to_owned());
            continue;
        };
        here = true;
        what.extend(columns.into_iter().filter(|c| !there.contains(*c)).map(|c| format!("{c} of {}", table.name)));
    }
    (here, what.into_iter().collect())
}

impl Case {
    /// The tables of its rows, each with the columns that have a number there.
    fn needs(&self) -> impl Iterator<Item = (&'static Table, Vec<&'static str>)> + '_ {
        self.columns().map(|(table, places)| {
            let is_number = |place: &usize| table.columns[*place].ty == Type::F64;
            (table, places.into_iter().filter(is_number).map(|place| table.columns[place].name).collect())
        })
    }
}

impl CanAsk {
    /// How many findings lack something that the runs could have.
    pub fn not_asked(&self) -> usize {
        self.missing.iter().map(|missing| missing.findings.len()).sum()
    }

    /// It in a sentence: `12 rules not asked: no queue_depth of disk (3), …`. None where nothing is missing.
    pub fn sentence(&self) -> Option<String> {
        let n = self.not_asked();
        if n == 0 {
            return None;
        }
        // Names that several lists have in common appear once.
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        for missing in &self.missing {
            missing.what.iter().for_each(|what| *count.entry(what).or_default() += missing.findings.len());
        }
        let mut count: Vec<(&str, usize)> = count.into_iter().collect();
        count.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        let named: Vec<String> = count.iter().take(NAMED).map(|(what, n)| format!("{what} ({n})")).collect();
        let more = if count.len() > NAMED { ", …" } else { "" };
        let rules = if n == 1 { "1 rule".to_owned() } else { format!("{n} rules") };
        Some(format!("{rules} not asked: no {}{more}", named.join(", ")))
    }

    /// Data that the finding called `name` lacks; empty where it can be evaluated.
    pub fn lacks(&self, name: &str) -> String {
        let of = |names: &[String]| names.iter().any(|known| known == name);
        match self.missing.iter().find(|missing| of(&missing.findings)) {
            Some(missing) => missing.what.join(", "),
            None if of(&self.elsewhere) => "none of its tables is there".to_owned(),
            None => String::new(),
        }
    }
}
