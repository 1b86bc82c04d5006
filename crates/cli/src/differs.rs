//! Differences in a time range of a run, or from one run to another, as text and JSON.

use fenxi_compare::{Cause, CompareError, Group, InRange, RangeChange, windows};
use fenxi_model::{Micros, Selector, Unit};
use fenxi_query::Engine;
use fenxi_store::RunEntry;
use serde_json::json;

use crate::print;

/// Changes that are printed; the others are counted.
const SHOWN: usize = 20;
/// Ranges that are longer are not compared with the time before by themselves: it takes long to read both, and days differ by their hours.
const LONGEST_S: f64 = 6.0 * 3600.0;

/// The changes within the part of `run` that `window` names; without a window, where `run` is a range of time, those against as much
/// time before it. None where there is nothing to compare with.
///
/// # Errors
/// A window that the run does not have, or a run that cannot be read.
pub fn of(engine: &Engine, run: &str, window: &str) -> Result<Option<InRange>, CompareError> {
    let store = engine.store();
    let [run_id] = &store.select(run)?[..] else { return Ok(None) };
    let entry = store.run(run_id)?;
    if window == windows::AUTO {
        return before(engine, run, &entry);
    }
    let Some(part) = windows::choose(store, &entry, window)? else { return Ok(None) };
    let second = |at: fenxi_model::Micros| at.seconds_since(entry.manifest.start);
    let (from, to) = (second(part.start), second(part.end));
    // All of a run has no rest.
    if from <= 0.0 && to >= entry.manifest.seconds() {
        return Ok(None);
    }
    InRange::of(engine, &entry.manifest.id, from, to, SHOWN).map(Some)
}

/// The changes of a range of time against as much time before it, of the same runs.
fn before(engine: &Engine, range: &str, entry: &RunEntry) -> Result<Option<InRange>, CompareError> {
    let Ok(Selector::Range { of, .. }) = range.parse() else { return Ok(None) };
    let (start, end) = (entry.manifest.start, entry.manifest.end);
    if end.seconds_since(start) > LONGEST_S {
        return Ok(None);
    }
    let earlier = Micros(start.0.saturating_sub(end.0.saturating_sub(start.0)));
    let of = of.map_or_else(String::new, |of| format!("{of}/"));
    let selector = format!("{of}{}..{}", earlier.iso(), start.iso());
    // A recording that begins with the range has nothing before it.
    let Ok(baseline) = engine.store().select_one(&selector) else { return Ok(None) };
    let ends = engine.store().run(&baseline)?.manifest.end;
    if baseline == entry.manifest.id || ends > start {
        return Ok(None);
    }
    InRange::against(engine, &entry.manifest.id, &baseline, SHOWN).map(Some)
}

/// Changes from the only run of a group to the only one of another, as sentences or lines of JSON; else an empty text.
///
/// # Errors
/// A run that cannot be read.
pub fn between(engine: &Engine, first: &Group, second: &Group, form: Form) -> Result<String, CompareError> {
    let ([baseline], [run]) = (first.runs.as_slice(), second.runs.as_slice()) else { return Ok(String::new()) };
    let found = InRange::between(engine, &run.id, &baseline.id, SHOWN)?;
    let json = |cause: &Cause| {
        let mut line = json!(cause);
        line["is"] = line["kind"].take();
        line["kind"] = json!("cause");
        line["run"] = json!(run.id.as_str());
        line.to_string() + "\n"
    };
    let sentence = |cause: &Cause| {
        let mark = if form == Form::Markdown { "* " } else { "" };
        print::visible(&format!("{mark}{}. {}", cause.title, cause.message)).into_owned() + "\n"
    };
    let text: String = match form {
        Form::Json => found.causes.iter().map(json).collect(),
        _ => found.causes.iter().map(sentence).collect(),
    };
    Ok(if text.is_empty() || form == Form::Json { text } else { text + "\n" })
}

/// How something is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Text,
    /// The same with the marks of Markdown.
    Markdown,
    /// An object each line.
    Json,
}

/// As a table with a heading.
pub fn text(found: &InRange, markdown: bool) -> String {
    let mark = if markdown { "### " } else { "" };
    let range = format!("{:.0} s .. {:.0} s", found.from_s, found.to_s);
    let rest = if found.baseline.is_some() { "before" } else { "rest" };
    let against = if found.baseline.is_some() { " against as long before" } else { "" };
    let mut out = format!("{mark}Different in {range}{against}, of {} series\n", found.looked);
    let sure: Vec<&RangeChange> = found.changed.iter().filter(|change| change.sure).collect();
    if sure.is_empty() {
        let what = if found.baseline.is_some() { "the time before" } else { "the rest of the run" };
        return out + &format!("nothing differs from {what} by more than it wanders anyway\n");
    }
    if markdown {
        out.push('\n');
    }
    let header = ["", "in the range", rest, "change", "per transaction", "adjusted p"];
    // The same statements about a thing are indented below the first.
    let is_same = |n: usize| n > 0 && sure[n].thing == sure[n - 1].thing;
    let rows: Vec<Vec<String>> = sure.iter().enumerate().map(|(n, change)| row(change, is_same(n))).collect();
    out += &print::table(&header, 1..header.len(), &[4, 5], &rows, markdown);
    if found.more > 0 {
        out += &format!("and {} more series like these\n", found.more);
    }
    out
}

fn row(change: &RangeChange, is_same: bool) -> Vec<String> {
    let unit = Unit::from_symbol(change.unit);
    let human = |value: f64| unit.human(value).to_string();
    let name = match change.table {
        "resource" => change.key.clone(),
        table => format!("{table}.{} {}", change.column, change.key).trim_end().to_owned(),
    };
    let name = if is_same { format!("  {name}") } else { name };
    let ratio = |by: f64| if by >= 1.0 { format!("×{:.1}", by + 1.0) } else { format!("{:+.0} %", 100.0 * by) };
    let by = match change.change {
        Some(by) => ratio(by),
        None if change.rest == 0.0 => "new".to_owned(),
        None => format!("{}{}", if change.inside > change.rest { "+" } else { "" }, human(change.inside - change.rest)),
    };
    let p = if change.p < 0.001 { "< 0.001".to_owned() } else { format!("{:.3}", change.p) };
    let by = if change.bursts.is_some() { by + " in bursts" } else { by };
    let per = change.per_transaction.map_or_else(String::new, ratio);
    vec![name, human(change.inside), human(change.rest), by, per, p]
}

/// A line of JSON for each change.
pub fn json_lines(found: &InRange) -> String {
    let line = |change: &RangeChange| {
        let mut line = json!(change);
        line["kind"] = json!("different");
        line["run"] = json!(found.run.as_str());
        line["from_s"] = json!(found.from_s);
        line["to_s"] = json!(found.to_s);
        line.to_string() + "\n"
    };
    found.changed.iter().map(line).collect()
}
