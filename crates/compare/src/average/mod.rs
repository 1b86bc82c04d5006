//! Averages of runs: one run that stands for several.
//!
//! Numbers are averaged interval by interval from the begin of each run, or of its window, and their
//! standard deviations over the runs are kept apart, in the tables `spread.<table>`. Distributions are
//! merged. Percentiles have no average and are left out, which a note says. Facts are those of the
//! representative run; what is not the same in all runs is a fact of the topic `differs`.

mod cells;
mod facts;
mod rule;

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::RecordBatch;
use fenxi_model::{Micros, Rows, RunId, Table, table};
use fenxi_store::{Begin, End, RunEntry, SPREAD, Store, StoreError, Window};

use cells::{Cells, View};

/// The kind of run that an average is.
pub const KIND: &str = fenxi_store::AVERAGE;

/// One of the runs to average.
#[derive(Clone, Debug)]
pub struct Member {
    /// The run.
    pub id: RunId,
    /// The part of it that counts; None for all.
    pub window: Option<Window>,
}

/// Runs to average, and how.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Where the runs are, and where the average becomes one.
    pub store: &'a Store,
    /// The runs, the representative one first.
    pub members: Vec<Member>,
    /// Name of the average.
    pub name: Option<String>,
    /// Tags of the average.
    pub tags: BTreeMap<String, String>,
    /// A random number that makes its id unique.
    pub random: u64,
    /// Remarks on how the runs were chosen: name and text.
    pub remarks: Vec<(String, String)>,
}

/// The next item to average: one table of one run.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The table.
    pub table: &'a str,
    /// Its number, from 0.
    pub number: usize,
    /// How many tables there are.
    pub tables: usize,
    /// Bytes of memory that it takes at most: the rows as they are read, and the cells that they may become.
    pub bytes: u64,
}

/// Why runs cannot be averaged.
#[derive(Debug, thiserror::Error)]
pub enum AverageError {
    /// There are no runs.
    #[error("nothing to average: no run")]
    Nothing,
    /// The caller asked to stop.
    #[error("interrupted; nothing was kept")]
    Interrupted,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Averages the runs into a new one. `watch` is called before a table of a run is read; false ends it.
///
/// # Errors
/// When a run cannot be read, the store cannot be written, or `watch` ends it: then nothing is kept.
pub fn average(plan: Plan<'_>, mut watch: impl FnMut(Step<'_>) -> bool) -> Result<RunId, AverageError> {
    let entries = plan.members.iter().map(|m| plan.store.run(&m.id)).collect::<Result<Vec<_>, _>>()?;
    let spans = Spans::new(&plan.members, &entries).ok_or(AverageError::Nothing)?;
    let tables: BTreeSet<&'static str> = entries
        .iter()
        .flat_map(|entry| entry.manifest.files.iter().filter_map(|f| table(f.table.as_deref()?)))
        .filter(|table| cells::is_series(table))
        .map(|table| table.name)
        .collect();
    let mut open = plan.store.begin(begin(&plan, &entries, &spans))?;
    let mut left_out = Vec::new();
    let made = (|| {
        for (i, name) in tables.iter().enumerate() {
            let Some(table) = table(name) else { continue };
            let mut next = |bytes| watch(Step { table: name, number: i, tables: tables.len(), bytes });
            let cells = of_table(&plan, &entries, table, &spans, &mut next)?;
            left_out.extend(cells.missing().into_iter().map(|column| format!("{name}.{column}")));
            let (mut means, mut spreads) = cells.rows(spans.start, &spans.host);
            open.append(&mut means)?;
            open.append_apart(SPREAD, &mut spreads)?;
        }
        let (mut rows, mut spreads) = (Rows::new(&spans.host), Rows::new(&spans.host));
        let ids = || plan.members.iter().map(|member| &member.id);
        let results = ids().map(|id| plan.store.results(id)).collect::<Result<Vec<_>, _>>()?;
        left_out.extend(facts::results(&results, &mut rows, &mut spreads));
        let said = ids().map(|id| plan.store.facts(id)).collect::<Result<Vec<_>, _>>()?;
        facts::facts(&said, &mut rows);
        let first = plan.members.first().ok_or(AverageError::Nothing)?;
        facts::events(&plan.store.read(&first.id, "event")?, spans.start, spans.end(), &mut rows);
        remarks(&plan, &spans, &left_out, &mut rows);
        open.append(&mut rows)?;
        open.append_apart(SPREAD, &mut spreads)?;
        Ok(())
    })();
    match made {
        Ok(()) => Ok(open.seal(end(&entries, &spans))?),
        Err(error) => {
            // The first error is the one worth telling; recovery removes what cannot be removed now.
            let _ = open.discard();
            Err(error)
        }
    }
}

/// Where the runs begin, and how much of each counts.
struct Spans {
    /// The begin of the representative run, which is that of the average.
    start: Micros,
    /// Microseconds that count: those of the representative run.
    length: i64,
    /// Where each run begins.
    starts: Vec<Micros>,
    /// How long each run is in microseconds.
    lengths: Vec<i64>,
    /// Seconds of an interval: of the run with the longest. None where the representative run has no fixed
    /// one, as an import: then each table has its own.
    step: Option<f64>,
    /// The host of the representative run.
    host: String,
    /// Whether each run has one host only, whatever it is called.
    one_host: bool,
}

impl Spans {
    fn new(members: &[Member], entries: &[RunEntry]) -> Option<Spans> {
        let span = |(member, entry): (&Member, &RunEntry)| match &member.window {
            Some(window) => (window.start, window.end),
            None => (entry.manifest.start, entry.manifest.end),
        };
        let spans: Vec<(Micros, Micros)> = members.iter().zip(entries).map(span).collect();
        let (start, end) = *spans.first()?;
        let first = &entries.first()?.manifest;
        let longest = entries.iter().filter_map(|e| e.manifest.interval_s).reduce(f64::max);
        Some(Spans {
            start,
            length: end.0 - start.0,
            starts: spans.iter().map(|(start, _)| *start).collect(),
            lengths: spans.iter().map(|(start, end)| end.0 - start.0).collect(),
            step: first.interval_s.and(longest).map(|step| step.max(0.001)),
            host: first.hosts.first().cloned().unwrap_or_default(),
            one_host: entries.iter().all(|e| e.manifest.hosts.len() <= 1),
        })
    }

    fn end(&self) -> Micros {
        Micros(self.start.0 + self.length)
    }
}

/// Bytes of a value of a column as it is read.
const READ: u64 = 8;
/// Bytes of a value of a cell: what [`Cells`] keeps over the runs and of this one, and its share of the key.
const KEPT: u64 = 64;

fn of_table(
    plan: &Plan<'_>,
    entries: &[RunEntry],
    table: &'static Table,
    spans: &Spans,
    next: &mut dyn FnMut(u64) -> bool,
) -> Result<Cells, AverageError> {
    let mut cells = None;
    let mut most_rows = 0;
    for (i, (member, entry)) in plan.members.iter().zip(entries).enumerate() {
        let rows = entry.manifest.file(table.name).map_or(0, |file| file.rows);
        let fresh = rows.saturating_sub(most_rows);
        most_rows = most_rows.max(rows);
        let columns = table.columns.len() as u64;
        if !next(columns.saturating_mul(READ.saturating_mul(rows).saturating_add(KEPT.saturating_mul(fresh)))) {
            return Err(AverageError::Interrupted);
        }
        let batches = plan.store.read(&member.id, table.name)?;
        let cells = cells
            .get_or_insert_with(|| Cells::new(table, spans.step.or_else(|| usual_interval(&batches)).unwrap_or(1.0)));
        let start = spans.starts.get(i).copied().unwrap_or(spans.start);
        let end = Micros(start.0 + spans.length);
        cells.add(&batches, &View { start, end, host: spans.one_host.then_some(spans.host.as_str()) });
    }
    cells.ok_or(AverageError::Nothing)
}

/// The median of the intervals of rows, in seconds.
fn usual_interval(batches: &[RecordBatch]) -> Option<f64> {
    use arrow_array::{cast::AsArray, types::Float64Type};
    let mut intervals: Vec<f64> = Vec::new();
    for batch in batches {
        let array = batch.column_by_name("dt").and_then(|c| c.as_primitive_opt::<Float64Type>());
        intervals.extend(array.into_iter().flat_map(|a| a.iter().flatten()).filter(|dt| *dt > 0.0));
    }
    intervals.sort_by(f64::total_cmp);
    intervals.get(intervals.len() / 2).copied()
}

fn begin(plan: &Plan<'_>, entries: &[RunEntry], spans: &Spans) -> Begin {
    let first = entries.first().map(|e| &e.manifest);
    let mut params = first.map(|m| m.params.clone()).unwrap_or_default();
    params.retain(|key, value| entries.iter().all(|e| e.manifest.params.get(key) == Some(value)));
    Begin {
        name: plan.name.clone(),
        kind: KIND.to_owned(),
        host: spans.host.clone(),
        command: first.map(|m| m.command.clone()).unwrap_or_default(),
        params,
        tags: plan.tags.clone(),
        start: spans.start,
        interval_s: entries.iter().filter_map(|e| e.manifest.interval_s).reduce(f64::max),
        random: plan.random,
        sources: entries.iter().flat_map(|e| e.manifest.sources.clone()).collect(),
    }
}

fn end(entries: &[RunEntry], spans: &Spans) -> End {
    let status = |e: &RunEntry| e.manifest.exit_status;
    let same = entries.iter().all(|e| status(e) == entries.first().and_then(status));
    let missed = entries.iter().filter_map(|e| e.manifest.missed_ticks).sum();
    End {
        start: Some(spans.start),
        exit_status: if same { entries.first().and_then(status) } else { None },
        ticks: entries.iter().filter_map(|e| e.manifest.ticks).sum(),
        missed_ticks: missed,
        ..End::at(spans.end())
    }
}

/// Records of what the average was made, and what it lacks.
fn remarks(plan: &Plan<'_>, spans: &Spans, left_out: &[String], rows: &mut Rows) {
    let ids: Vec<&str> = plan.members.iter().map(|m| m.id.as_str()).collect();
    facts::fact(rows, KIND, "runs", &ids.join("\n"));
    facts::fact(rows, KIND, "representative", ids.first().copied().unwrap_or_default());
    for (name, text) in &plan.remarks {
        facts::fact(rows, KIND, name, text);
    }
    rows.set_source(KIND);
    if !left_out.is_empty() {
        let list = left_out.join(", ");
        rows.note("", None, &format!("percentiles cannot be averaged; omitted: {list}"));
    }
    let (shorter, longer) = (
        spans.lengths.iter().filter(|l| **l < spans.length * 95 / 100).count(),
        spans.lengths.iter().filter(|l| **l > spans.length * 105 / 100).count(),
    );
    if shorter + longer > 0 {
        let seconds = spans.length as f64 / 1e6;
        rows.note(
            "",
            None,
            &format!(
                "the average has the length of the representative run, {seconds:.1} s; {longer} of the runs are longer and \
                 cut there, {shorter} are shorter and lack in the intervals at its end"
            ),
        );
    }
}
