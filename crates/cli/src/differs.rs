//! What is different in a time range of a run, as text and JSON.

use fenxi_compare::{CompareError, InRange, RangeChange, windows};
use fenxi_model::Unit;
use fenxi_query::Engine;
use serde_json::json;

use crate::print;

/// Changes that are printed; the others are counted.
const SHOWN: usize = 20;

/// The changes within the part of `run` that `window` names; None where it names all of it, or what is chosen by itself.
///
/// # Errors
/// A window that the run does not have, or a run that cannot be read.
pub fn within(engine: &Engine, run: &str, window: &str) -> Result<Option<InRange>, CompareError> {
    if window == windows::AUTO {
        return Ok(None);
    }
    let store = engine.store();
    let entry = store.run(&store.select_one(run)?)?;
    let Some(part) = windows::choose(store, &entry, window)? else { return Ok(None) };
    let second = |at: fenxi_model::Micros| at.seconds_since(entry.manifest.start);
    InRange::of(engine, &entry.manifest.id, second(part.start), second(part.end), SHOWN).map(Some)
}

/// As a table with a heading.
pub fn text(found: &InRange, markdown: bool) -> String {
    let mark = if markdown { "### " } else { "" };
    let range = format!("{:.0} s .. {:.0} s", found.from_s, found.to_s);
    let mut out = format!("{mark}Different in {range}, of {} series\n", found.looked);
    let sure: Vec<&RangeChange> = found.changed.iter().filter(|change| change.sure).collect();
    if sure.is_empty() {
        return out + "nothing differs from the rest of the run by more than it wanders anyway\n";
    }
    if markdown {
        out.push('\n');
    }
    let header = ["", "in the range", "rest", "change", "adjusted p"];
    let rows: Vec<Vec<String>> = sure.iter().map(|change| row(change)).collect();
    out += &print::table(&header, 1..header.len(), &rows, markdown);
    if found.more > 0 {
        out += &format!("and {} more series like these\n", found.more);
    }
    out
}

fn row(change: &RangeChange) -> Vec<String> {
    let unit = Unit::from_symbol(change.unit);
    let human = |value: f64| unit.human(value).to_string();
    let name = match change.table {
        "resource" => change.key.clone(),
        table => format!("{table}.{} {}", change.column, change.key).trim_end().to_owned(),
    };
    let by = match change.change {
        Some(by) if by >= 1.0 => format!("×{:.1}", by + 1.0),
        Some(by) => format!("{:+.0} %", 100.0 * by),
        None if change.rest == 0.0 => "new".to_owned(),
        None => format!("{}{}", if change.inside > change.rest { "+" } else { "" }, human(change.inside - change.rest)),
    };
    let p = if change.p < 0.001 { "< 0.001".to_owned() } else { format!("{:.3}", change.p) };
    vec![name, human(change.inside), human(change.rest), by, p]
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
