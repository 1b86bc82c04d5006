//! `/api/v1/run`: metadata of runs, without data.

use fenxi_model::{RunId, catalog::event};
use fenxi_query::{Scope, questions};
use fenxi_store::{Manifest, RunEntry, Store};
use schemars::JsonSchema;
use serde::Serialize;

use super::{ApiError, Context, Endpoint, Query, Reply, chosen, schema};
use crate::payload::{Header, Run};

pub(super) const RUN: Endpoint = Endpoint {
    path: "/api/v1/run",
    about: "Metadata of runs: facts, windows, recording overhead, tables; and the questions that apply to them, by \
            section: those that read a table of theirs. No data.",
    params: &[chosen::RUN],
    changes: true,
    answer,
    schema: schema::of::<Opened>,
};

/// What there is to see of runs, without data.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Opened {
    pub title: String,
    runs: Vec<Details>,
    pub sections: Vec<Section>,
}

impl Opened {
    /// Whether any of the runs has rows in `table`.
    pub(crate) fn holds(&self, table: &str) -> bool {
        self.runs.iter().any(|run| run.tables.iter().any(|held| held.table == table && held.rows > 0))
    }

    /// How often the first run was sampled, seconds.
    pub(crate) fn interval_s(&self) -> Option<f64> {
        self.runs.first()?.run.interval_s
    }
}

/// Questions about one thing.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Section {
    id: &'static str,
    title: String,
    pub panels: Vec<Header>,
}

/// A run with its windows, costs and tables.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Run")]
pub(crate) struct Details {
    #[serde(flatten)]
    run: Run,
    /// Named parts.
    windows: Vec<Named>,
    /// Where the steady part begins, seconds since the start; null where the load does not show it.
    warmup_s: Option<f64>,
    /// What each source of the recording cost.
    costs: Vec<Cost>,
    tables: Vec<Held>,
    notes: Notes,
}

/// A part of a run, seconds since its begin.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "RunWindow")]
struct Named {
    name: String,
    from_s: f64,
    to_s: f64,
}

/// What a source of a recording cost.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "SourceCost")]
struct Cost {
    source: String,
    ticks: u64,
    cpu_s: f64,
    elapsed_s: f64,
    longest_s: f64,
    failures: u64,
    rows: u64,
}

/// A table of a run.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "HeldTable")]
struct Held {
    table: String,
    rows: u64,
    bytes: u64,
}

/// Notes of a run.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "NoteCount")]
struct Notes {
    count: u64,
}

fn answer(context: &Context<'_>, query: &Query) -> Result<Reply, ApiError> {
    Reply::json(&open(context, &chosen::runs(context, query)?)?)
}

/// Overview of `ids`: title, details and sections.
pub(crate) fn open(context: &Context<'_>, ids: &[RunId]) -> Result<Opened, ApiError> {
    let runs = all(context, ids)?;
    let title = runs.iter().map(|r| r.run.name.as_str()).collect::<Vec<_>>().join(" and ");
    let mut opened = Opened { title, runs, sections: Vec::new() };
    let is_marked = has_marks(context, ids)?;
    let holds = |table: &str| opened.holds(table) || (is_marked && table == event::TABLE.name);
    opened.sections = sections(context, &Scope::of(ids.iter().cloned()), &holds)?;
    Ok(opened)
}

/// Whether somebody marked a moment of any of `ids`.
fn has_marks(context: &Context<'_>, ids: &[RunId]) -> Result<bool, ApiError> {
    for id in ids {
        if !context.store.run(id)?.labels.marks.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Details of `ids`, read without their data.
pub(crate) fn all(context: &Context<'_>, ids: &[RunId]) -> Result<Vec<Details>, ApiError> {
    let entries = ids.iter().map(|id| context.store.run(id)).collect::<Result<Vec<_>, _>>()?;
    let runs = Run::all(&entries);
    runs.into_iter().zip(&entries).map(|(run, entry)| details(context.store, run, entry)).collect()
}

fn details(store: &Store, run: Run, entry: &RunEntry) -> Result<Details, ApiError> {
    let m = &entry.manifest;
    let named = |w: fenxi_store::Window| Named {
        name: w.name,
        from_s: w.start.seconds_since(m.start),
        to_s: w.end.seconds_since(m.start),
    };
    Ok(Details {
        run,
        windows: entry.windows().into_iter().map(named).collect(),
        warmup_s: fenxi_compare::windows::warmup(store, entry)?,
        costs: costs(m),
        tables: tables(m),
        notes: Notes { count: m.file("note").map_or(0, |f| f.rows) },
    })
}

fn costs(manifest: &Manifest) -> Vec<Cost> {
    let cost = |c: &fenxi_store::SourceCost| Cost {
        source: c.source.clone(),
        ticks: c.samples,
        cpu_s: c.cpu_s,
        elapsed_s: c.wall_s,
        longest_s: c.max_s,
        failures: c.failures,
        rows: c.rows,
    };
    manifest.costs.iter().map(cost).collect()
}

fn tables(manifest: &Manifest) -> Vec<Held> {
    let held = |f: &fenxi_store::FileEntry| Some(Held { table: f.table.clone()?, rows: f.rows, bytes: f.bytes });
    manifest.files.iter().filter_map(held).filter(|h| h.table != "stats").collect()
}

/// The questions that may have an answer, those that runs bring with them after those that are always asked.
fn sections(context: &Context<'_>, scope: &Scope, holds: &dyn Fn(&str) -> bool) -> Result<Vec<Section>, ApiError> {
    let mut all = questions(context.store)?;
    all.retain(|question| question.may_answer(holds));
    all.extend(context.engine.carried_questions(scope)?);
    all.sort_by_key(|q| q.section);
    let mut sections: Vec<Section> = Vec::new();
    for question in &all {
        let (id, header) = (question.section.word(), Header::of(question));
        match sections.last_mut() {
            Some(last) if last.id == id => last.panels.push(header),
            _ => sections.push(Section { id, title: heading(id), panels: vec![header] }),
        }
    }
    Ok(sections)
}

/// A section's word as a heading: short ones are abbreviations.
pub(super) fn heading(word: &str) -> String {
    if word.len() <= 3 {
        return word.to_uppercase();
    }
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn short_words_of_sections_are_abbreviations() {
        assert_eq!(super::heading("cpu"), "CPU");
        assert_eq!(super::heading("memory"), "Memory");
    }
}
