//! Culprits that a sentence names: the processes, functions, locks, files and statements that had most of something.
//!
//! Each kind is one file in `culprits/`, written as a finding: its rows are names with their shares, the largest first, and
//! its title precedes them. A finding asks for kinds in its header (`names: process, function`); an answer that knows
//! no cause asks for them too. So culprits are defined once and reported wherever they help.

use crate::{
    Engine, Finding, Occurrence, QueryError, SHIPPED_FINDINGS, Scope,
    views::{Mentions, tables_in},
};

/// So many names of a kind are reported.
const MOST: usize = 3;

macro_rules! culprits {
    ($($name:literal,)+) => {
        /// All kinds: each is one file in `culprits/` and one line here.
        pub const CULPRITS: &[(&str, &str)] = &[$(($name, include_str!(concat!("culprits/", $name, ".sql")))),+];
    };
}

culprits! {
    "command-cpu",
    "command-queued",
    "command-serial",
    "cpu-full",
    "cpu-one",
    "db-wait",
    "disk",
    "file",
    "flush",
    "function",
    "holder",
    "lock",
    "memory",
    "metric",
    "process",
    "queued",
    "session-wait",
    "statement",
    "switching",
    "syscall",
    "thread-wait",
}

/// Who had most of something, in the runs that were looked at.
#[derive(Clone, Debug)]
pub struct Culprits {
    title: String,
    rows: Vec<Occurrence>,
}

impl Culprits {
    /// The largest of a run and, where it is given, a host; none where none is known.
    pub fn of(&self, run: &str, host: Option<&str>) -> Vec<&str> {
        let is_meant = |row: &&Occurrence| row.run == run && (host.is_none() || row.host.as_deref() == host);
        self.rows.iter().filter(is_meant).take(MOST).map(|row| row.message.as_str()).collect()
    }

    /// The same as a sentence without its full stop: `Most CPU time: gzip 50%, python3 40%`.
    pub fn sentence(&self, run: &str, host: Option<&str>) -> Option<String> {
        let names = self.of(run, host);
        (!names.is_empty()).then(|| format!("{}: {}", self.title, names.join(", ")))
    }
}

/// The kinds in a header; which one there is not as a message.
pub(crate) fn kinds(value: &str) -> Result<Vec<String>, String> {
    let one = |name: &str| match CULPRITS.iter().any(|(kind, _)| *kind == name) {
        true => Ok(name.to_owned()),
        false => {
            let known: Vec<&str> = CULPRITS.iter().map(|(kind, _)| *kind).collect();
            Err(format!("names: `{name}` is not one of {}", known.join(", ")))
        }
    };
    value.split(',').map(|name| one(name.trim())).collect()
}

/// The text of a kind, by which a new version is distinguished from an old one.
pub(crate) fn text(name: &str) -> &'static str {
    CULPRITS.iter().find(|(kind, _)| *kind == name).map_or("", |(_, text)| text)
}

impl Engine {
    /// Who had most of what each of `kinds` counts, in the runs of `scope`, in their order. What is found in a run is kept.
    ///
    /// # Errors
    /// When the runs cannot be read, or the engine is lost.
    pub fn culprits(&self, kinds: &[&'static str], scope: &Scope) -> Result<Vec<Culprits>, QueryError> {
        let parsed = kinds.iter().map(|kind| parsed(kind)).collect::<Result<Vec<_>, _>>()?;
        let mut found = self.look(parsed.clone(), scope)?;
        let of = |finding: Finding| -> Result<Culprits, QueryError> {
            let place = found.iter().position(|found| found.finding.name == finding.name);
            let rows = place.map(|place| found.swap_remove(place).outcome).transpose()?;
            Ok(Culprits { title: finding.title, rows: rows.unwrap_or_default() })
        };
        parsed.into_iter().map(of).collect()
    }

    /// The same of one kind, each time anew: what asks is kept itself.
    pub(crate) fn culprits_anew(&self, kind: &str, scope: &Scope) -> Result<Culprits, QueryError> {
        let finding = parsed(kind)?;
        let rows = if self.has_any(&finding.sql, scope)? { self.find(&finding, scope)? } else { Vec::new() };
        Ok(Culprits { title: finding.title, rows })
    }

    /// Whether the shipped finding `name` had all of its tables in every run of `scope`: then no finding is a result.
    ///
    /// # Errors
    /// When the runs cannot be read.
    pub fn could_look(&self, name: &str, scope: &Scope) -> Result<bool, QueryError> {
        let Some((_, text)) = SHIPPED_FINDINGS.iter().find(|(of, _)| *of == name) else { return Ok(false) };
        let sql: Vec<&str> = text.lines().skip_while(|line| line.starts_with("--")).collect();
        let tables = tables_in(&sql.join("\n"));
        for run in scope.runs.iter().flatten() {
            let manifest = &self.store().run(run)?.manifest;
            if tables.iter().any(|table| manifest.file(table).is_none()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a run of `scope` has any of the tables that `sql` reads: planning a statement over none of them is for nothing.
    fn has_any(&self, sql: &str, scope: &Scope) -> Result<bool, QueryError> {
        let Some(runs) = &scope.runs else { return Ok(true) };
        let tables = Mentions::of(sql).tables;
        for run in runs {
            let manifest = &self.store().run(run)?.manifest;
            if tables.iter().any(|table| manifest.file(table).is_some()) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// A kind as the finding that it is written as, under a name that no finding has.
fn parsed(kind: &str) -> Result<Finding, QueryError> {
    Finding::parse(&format!("culprits/{kind}"), text(kind))
}
