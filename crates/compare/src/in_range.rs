//! What is different in a time range of a run: the change of every series against the rest of the run, ranked.

use std::collections::BTreeMap;

use fenxi_analyze::{Moved, benjamini_hochberg, moved};
use fenxi_model::{Better, Column, Keys, Kind, RunId, Section, Shape, Table, Type, Unit, catalog::N_COMMON, table};
use fenxi_query::{Engine, Scope};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{BetterWord, CompareError, windows};

/// A range is cut into so many bins at least, where samples are close enough; a run into no more than these.
const IN_RANGE: f64 = 12.0;
const MOST_BINS: f64 = 1500.0;
/// Found at this adjusted p, a difference counts as sure.
const SURE: f64 = 0.05;
/// Lower weights are no news: with a level change of half and every value on its side it is 0.6.
const LEAST_WEIGHT: f64 = 0.12;
/// So many lines of one thing, and so many of one column, stand among the first; the others are counted.
const OF_ONE_THING: usize = 3;
const OF_ONE_COLUMN: usize = 6;
/// Tables of a passing kind with more rows than these are not looked at: what they have is in others as a sum.
const MOST_ROWS: u64 = 30_000_000;
/// Tables whose rows are no measurements of the machine: settings, texts, ages.
const SILENT: [&str; 6] = ["db_setting", "db_session", "db_lock", "db_progress", "file_cache", "net_driver"];
/// The view of how full each resource was.
const RESOURCES: &str = "resource_use";

/// What is different in a time range of a run.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct InRange {
    /// The run.
    #[schemars(with = "String")]
    pub run: RunId,
    /// Begin of the range, seconds since the begin of the run, widened to whole bins.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
    /// Length of a bin, over which values are averaged first.
    pub step_s: f64,
    /// How many series were looked at.
    pub looked: usize,
    /// Those that differ, what changed most first.
    pub changed: Vec<Change>,
    /// Series that differ and are not among these.
    pub more: usize,
}

/// A series that is another one in the range.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "RangeChange")]
pub struct Change {
    /// The table, `resource` for how full a resource was.
    pub table: &'static str,
    /// The column; `use` of a resource.
    pub column: &'static str,
    /// What it is about: the values of the table's keys.
    pub key: String,
    /// What it belongs to.
    pub section: &'static str,
    /// The unit of the means.
    pub unit: &'static str,
    /// Which direction is good.
    #[schemars(with = "BetterWord")]
    pub better: String,
    /// What the column means.
    pub doc: &'static str,
    /// Mean in the range.
    pub inside: f64,
    /// Mean in the rest of the run.
    pub rest: f64,
    /// Change against the rest, 1 for twice as much; None where the rest is 0 or of another sign.
    pub change: Option<f64>,
    /// Cliff's delta, from -1 to 1: how surely a value tells on which side it was.
    pub effect: f64,
    /// p, adjusted for the number of series that were looked at.
    pub p: f64,
    /// Whether it is more than such a series wanders by itself.
    pub sure: bool,
}

/// A series before it is judged.
struct Line {
    of: Of,
    host: String,
    key: String,
    values: Vec<Option<f64>>,
}

/// The column of a series.
#[derive(Clone, Copy)]
struct Of {
    table: &'static str,
    column: &'static str,
    section: Section,
    unit: Unit,
    better: Better,
    doc: &'static str,
}

/// Bins of time, and those of the range.
struct Bins {
    start_us: i64,
    width_s: f64,
    count: usize,
    range: std::ops::Range<usize>,
}

impl InRange {
    /// Compares the time from `from_s` to `to_s`, seconds since the begin of the run, with the rest of it; `most` changes are told.
    ///
    /// # Errors
    /// A range outside the run, or one that leaves no rest; a run that cannot be read.
    pub fn of(engine: &Engine, run: &RunId, from_s: f64, to_s: f64, most: usize) -> Result<InRange, CompareError> {
        let entry = engine.store().run(run)?;
        let manifest = &entry.manifest;
        windows::range(&entry, "range", &format!("{}s", from_s.max(0.0)), &format!("{to_s}s"))?;
        let seconds = manifest.seconds();
        let interval = manifest.interval_s.unwrap_or(seconds / 300.0).max(1e-3);
        let wanted = ((to_s - from_s) / IN_RANGE).max(seconds / MOST_BINS);
        let width_s = interval * (wanted / interval).floor().max(1.0);
        let count = (seconds / width_s - 1e-6).ceil().max(1.0) as usize;
        let begin = ((from_s / width_s).round().max(0.0) as usize).min(count - 1);
        let end = ((to_s / width_s).round() as usize).clamp(begin + 1, count);
        let bins = Bins { start_us: manifest.start.0, width_s, count, range: begin..end };
        let mut lines = Vec::new();
        for held in &manifest.files {
            let known = held.table.as_deref().and_then(table).filter(|t| is_told(t, held.rows));
            if let Some(table) = known {
                read(engine, run, table, &bins, &mut lines)?;
            }
        }
        resources(engine, run, &bins, &mut lines)?;
        let several_hosts = manifest.hosts.len() > 1;
        let (changed, more, looked) = ranked(lines, &bins, several_hosts, most);
        let second = |bin: usize| bin as f64 * width_s;
        Ok(InRange {
            run: run.clone(),
            from_s: second(bins.range.start),
            to_s: second(bins.range.end).min(seconds),
            step_s: width_s,
            looked,
            changed,
            more,
        })
    }
}

fn is_told(table: &Table, rows: u64) -> bool {
    table.shape == Shape::Series
        && !SILENT.contains(&table.name)
        && rows > 0
        && (table.keys_are == Keys::Lasting || rows < MOST_ROWS)
}

/// Adds the series of a table: of one with lasting keys each, of another one those that names tell apart, added up over the rest. What
/// such a table does not mention at a moment had nothing of what adds up.
fn read(
    engine: &Engine,
    run: &RunId,
    table: &'static Table,
    bins: &Bins,
    lines: &mut Vec<Line>,
) -> Result<(), CompareError> {
    let columns: Vec<&'static Column> =
        table.columns[N_COMMON + table.n_keys..].iter().filter(|c| c.is_value()).collect();
    if columns.is_empty() {
        return Ok(());
    }
    let is_sum = table.keys_are == Keys::Passing;
    let sql = statement(table, &columns, is_sum, bins);
    let answer = engine.ours(&sql, &[], &Scope::of([run.clone()]))?;
    let of = |column: &'static Column| Of {
        table: table.name,
        column: column.name,
        section: table.section,
        unit: column.unit,
        better: column.better,
        doc: column.doc,
    };
    let (hosts, keys, places) = (answer.strings("host"), answer.strings("key"), answer.lists("bins"));
    let mut spoken = vec![false; bins.count];
    places.iter().flatten().flatten().for_each(|bin| set(&mut spoken, *bin, true));
    for (i, column) in columns.iter().enumerate() {
        let absent = |bin: usize| (is_sum && adds_up(column) && spoken[bin]).then_some(0.0);
        for (row, values) in answer.lists(&format!("v{i}")).iter().enumerate() {
            if values.iter().all(Option::is_none) {
                continue;
            }
            let mut line: Vec<Option<f64>> = (0..bins.count).map(absent).collect();
            places[row].iter().zip(values).for_each(|(bin, value)| set(&mut line, bin.unwrap_or(-1.0), *value));
            let [host, key] = [&hosts[row], &keys[row]].map(|text| text.clone().unwrap_or_default());
            lines.push(Line { of: of(column), host, key, values: line });
        }
    }
    Ok(())
}

/// The statement that gives the series of a table as lists of their bins. An order by the very same expression would
/// become a function that a cluster does not have.
fn statement(table: &Table, columns: &[&Column], is_sum: bool, bins: &Bins) -> String {
    let names = table.keys().iter().filter(|key| !key.is_of_one_run && (!is_sum || key.ty == Type::Label));
    // Some columns are called as words of SQL are.
    let quoted = |column: &Column| format!("\"{}\"", column.name);
    let names: Vec<String> = names.map(quoted).collect();
    let whole: Vec<String> = table.keys().iter().map(|key| format!("{} IS NULL", quoted(key))).collect();
    let whole = if whole.is_empty() { "true".to_owned() } else { whole.join(" AND ") };
    let key = if names.is_empty() { "''".to_owned() } else { format!("concat_ws(' ', {})", names.join(", ")) };
    let value = |column: &Column| match is_sum && adds_up(column) {
        true => format!("sum({} * fenxi_dt) / any_value(seconds)", quoted(column)),
        false => format!("wmean({}, fenxi_dt)", quoted(column)),
    };
    let each: Vec<String> = columns.iter().enumerate().map(|(i, c)| format!("{} AS v{i}", value(c))).collect();
    let lists: Vec<String> = (0..columns.len()).map(|i| format!("list(v{i} ORDER BY bin) AS v{i}")).collect();
    // Where a table has rows for everything together, those for its parts say the same again.
    let chosen = if is_sum { "WHERE whole OR NOT has_whole" } else { "" };
    format!(
        "WITH placed AS (
            SELECT *, coalesce(CASE WHEN dt > 0 THEN dt END, 1) AS fenxi_dt, {whole} AS whole,
                CAST(floor((epoch_us(t) - coalesce(dt, 0) * 5e5 - {start}) / {width:?}) AS BIGINT) AS bin
            FROM {table} WHERE t IS NOT NULL
        ), told AS (
            SELECT * FROM (SELECT *, bool_or(whole) OVER () AS has_whole FROM placed) {chosen}
        ), spans AS (
            SELECT bin, sum(fenxi_dt) AS seconds FROM (SELECT DISTINCT bin, t, fenxi_dt FROM told) GROUP BY bin
        )
        SELECT coalesce(host, '') AS host, key, list(bin ORDER BY bin + 0) AS bins, {lists}
        FROM (SELECT host, {key} AS key, bin, {each} FROM told JOIN spans USING (bin) GROUP BY host, key, bin)
        GROUP BY host, key",
        start = bins.start_us,
        width = bins.width_s * 1e6,
        table = table.name,
        lists = lists.join(", "),
        each = each.join(", "),
    )
}

fn adds_up(column: &Column) -> bool {
    matches!(column.kind, Kind::Rate | Kind::Percent | Kind::Count)
}

fn set<T>(line: &mut [T], bin: f64, value: T) {
    if let Some(place) = line.get_mut(bin as usize).filter(|_| bin >= 0.0) {
        *place = value;
    }
}

/// Adds how full each resource was.
fn resources(engine: &Engine, run: &RunId, bins: &Bins, lines: &mut Vec<Line>) -> Result<(), CompareError> {
    let sql = format!(
        "SELECT coalesce(host, '') AS host, resource, list(bin ORDER BY bin + 0) AS bins, list(v ORDER BY bin) AS v
        FROM (
            SELECT host, resource, CAST(floor((epoch_us(t) - coalesce(dt, 0) * 5e5 - {start}) / {width:?}) AS BIGINT) AS bin,
                wmean(value, coalesce(dt, 1)) AS v
            FROM {RESOURCES} WHERE t IS NOT NULL GROUP BY ALL
        )
        GROUP BY host, resource",
        start = bins.start_us,
        width = bins.width_s * 1e6,
    );
    let answer = engine.ours(&sql, &[], &Scope::of([run.clone()]))?;
    let of = Of {
        table: "resource",
        column: "use",
        section: Section::Result,
        unit: Unit::Percent,
        better: Better::Neither,
        doc: "How full the resource was, or for how much of the time somebody waited for it.",
    };
    let all = answer.strings("host").into_iter().zip(answer.strings("resource")).zip(answer.lists("bins"));
    for (((host, key), places), values) in all.zip(answer.lists("v")) {
        let mut line = vec![None; bins.count];
        places.iter().zip(&values).for_each(|(bin, value)| set(&mut line, bin.unwrap_or(-1.0), *value));
        lines.push(Line { of, host: host.unwrap_or_default(), key: key.unwrap_or_default(), values: line });
    }
    Ok(())
}

/// What differs, what changed most first; how many more do, and how many were looked at.
fn ranked(lines: Vec<Line>, bins: &Bins, several_hosts: bool, most: usize) -> (Vec<Change>, usize, usize) {
    let judged: Vec<(Line, Moved)> = lines
        .into_iter()
        .filter_map(|line| {
            let found = moved(&line.values, bins.range.clone())?;
            Some((line, found))
        })
        .collect();
    // What never moves is no test.
    let p: Vec<f64> = judged.iter().map(|(_, m)| if m.effect == 0.0 { f64::NAN } else { m.p }).collect();
    let adjusted = benjamini_hochberg(&p);
    let looked = judged.len();
    let mut news: Vec<(Line, Moved, f64)> = judged
        .into_iter()
        .zip(adjusted)
        .filter(|((_, m), p)| m.weight >= LEAST_WEIGHT && !p.is_nan())
        .map(|((line, m), p)| (line, m, p))
        .collect();
    news.sort_by(|(a, ma, pa), (b, mb, pb)| {
        let sure = |p: f64| p > SURE;
        let name = |line: &Line| (line.of.table, line.of.column, line.host.clone(), line.key.clone());
        sure(*pa).cmp(&sure(*pb)).then(mb.weight.total_cmp(&ma.weight)).then_with(|| name(a).cmp(&name(b)))
    });
    let total = news.len();
    let (mut things, mut columns) = (BTreeMap::new(), BTreeMap::new());
    let mut changed = Vec::new();
    for (line, m, p) in news {
        let thing = things.entry((line.of.table, line.host.clone(), line.key.clone())).or_insert(0);
        let column = columns.entry((line.of.table, line.of.column)).or_insert(0);
        if changed.len() == most || *thing >= OF_ONE_THING || *column >= OF_ONE_COLUMN {
            continue;
        }
        *thing += 1;
        *column += 1;
        changed.push(change(line, m, p, several_hosts));
    }
    let more = total - changed.len();
    (changed, more, looked)
}

fn change(line: Line, m: Moved, p: f64, several_hosts: bool) -> Change {
    let key = match (several_hosts, line.key.is_empty()) {
        (true, true) => line.host,
        (true, false) => format!("{} {}", line.host, line.key),
        (false, _) => line.key,
    };
    let is_ratio = m.rest != 0.0 && m.inside * m.rest >= 0.0;
    Change {
        table: line.of.table,
        column: line.of.column,
        key,
        section: line.of.section.word(),
        unit: line.of.unit.symbol(),
        better: line.of.better.to_string(),
        doc: line.of.doc,
        inside: m.inside,
        rest: m.rest,
        change: is_ratio.then(|| m.inside / m.rest - 1.0),
        effect: m.effect,
        p,
        sure: p <= SURE,
    }
}
