//! Marks as rows of `event`: they are kept beside the runs, so the view of that table adds them.

use fenxi_model::{Micros, RunId};
use fenxi_store::{Mark, Store};

use super::literal;
use crate::{Part, QueryError, Scope};

/// A mark, as a row.
pub struct Marked {
    /// The run's id.
    pub run: String,
    /// The host that it is about.
    pub host: String,
    /// The moment.
    pub t: Micros,
    /// Text of the mark.
    pub text: String,
}

/// The statement that selects the marks of the runs of `scope`; None when they have none.
pub(super) fn rows(store: &Store, scope: &Scope) -> Result<Option<String>, QueryError> {
    let row = |mark: &Marked| {
        let (run, host, text) = (literal(&mark.run), literal(&mark.host), literal(&mark.text));
        format!("({run}, {host}, CAST({} AS BIGINT), {text})", mark.t.0)
    };
    let rows: Vec<String> = marked(store, scope)?.iter().map(row).collect();
    if rows.is_empty() {
        return Ok(None);
    }
    Ok(Some(format!(
        "SELECT run, host, make_timestamptz(us) AS t, CAST(NULL AS DOUBLE) AS dt, 'mark' AS kind, \
         CAST(NULL AS VARCHAR) AS subject, CAST(NULL AS VARCHAR) AS priority, message \
         FROM (VALUES {}) AS marks(run, host, us, message)",
        rows.join(", ")
    )))
}

/// The marks of the runs of `scope`.
pub fn marked(store: &Store, scope: &Scope) -> Result<Vec<Marked>, QueryError> {
    let mut rows = Vec::new();
    match &scope.runs {
        Some(runs) => {
            for id in runs {
                let entry = store.run(id)?;
                let host = entry.manifest.hosts.first().map_or("", String::as_str);
                add(&mut rows, id, host, entry.manifest.start, &entry.labels.marks, scope.part);
            }
        }
        None => {
            for run in store.summaries()? {
                let host = run.hosts.first().map_or("", String::as_str);
                add(&mut rows, &run.id, host, run.start, &run.labels.marks, scope.part);
            }
        }
    }
    Ok(rows)
}

fn add(rows: &mut Vec<Marked>, run: &RunId, host: &str, start: Micros, marks: &[Mark], part: Option<Part>) {
    let is_in = |t: Micros| {
        let since = t.0.saturating_sub(start.0);
        part.is_none_or(|part| part.from_us.is_none_or(|from| since >= from) && part.to_us.is_none_or(|to| since <= to))
    };
    for mark in marks.iter().filter(|mark| is_in(mark.t)) {
        let host = mark.host.as_deref().unwrap_or(host).to_owned();
        rows.push(Marked { run: run.to_string(), host, t: mark.t, text: mark.text.clone() });
    }
}
