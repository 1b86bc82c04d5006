//! The series of a run, each averaged over bins of time: what is compared between two periods.

use std::ops::Range;

use fenxi_model::{
    Better, Column, Keys, Kind, RunId, Section, Shape, Table, Type, Unit,
    catalog::{N_COMMON, load, metric},
    table,
};
use fenxi_query::{Engine, Scope};
use fenxi_store::Manifest;

use crate::CompareError;

/// A range and its rest are cut into so many bins at least for the test of their means, where samples are close enough.
const IN_RANGE: f64 = 12.0;
/// Of a range with fewer values than these all count.
const LEAST_WITH_ENDS: usize = 8;
/// A run is cut into no more bins than these.
const MOST_BINS: f64 = 1500.0;
/// Tables of a passing kind with more rows than these are not looked at: what they have is in others as a sum.
const MOST_ROWS: u64 = 30_000_000;
/// Tables whose rows are no measurements of the machine: settings, texts, ages.
const SILENT: [&str; 7] = ["db_setting", "db_plan", "db_session", "db_lock", "db_progress", "file_cache", "net_driver"];
/// The view of how full each resource was.
const RESOURCES: &str = "resource_use";

/// A series before it is judged.
#[derive(Clone)]
pub(crate) struct Line {
    pub of: Of,
    pub host: String,
    pub key: String,
    pub values: Vec<Option<f64>>,
    /// True if it adds up, so that it is 0 where its table does not mention it.
    pub is_sum: bool,
}

/// The column of a series.
#[derive(Clone, Copy)]
pub(crate) struct Of {
    pub table: &'static str,
    pub column: &'static str,
    pub section: Section,
    pub unit: Unit,
    pub kind: Kind,
    pub better: Better,
    pub doc: &'static str,
}

/// Bins of time, and those of the range.
pub(crate) struct Bins {
    pub start_us: i64,
    pub width_s: f64,
    pub count: usize,
    pub range: Range<usize>,
    /// So many of them together make a bin for the test of a mean, which forgives noise; bursts are looked for in the bins themselves.
    pub together: usize,
}

impl Bins {
    /// Bins as fine as the samples of a run, and those of the time from `from_s` to `to_s`.
    pub fn of(manifest: &Manifest, from_s: f64, to_s: f64) -> Bins {
        let seconds = manifest.seconds();
        // Of an import the interval is unknown: bins without a sample are left out.
        let interval = manifest.interval_s.unwrap_or(seconds / MOST_BINS).max(1e-3);
        let width_s = interval * (seconds / MOST_BINS / interval - 1e-6).ceil().max(1.0);
        let count = (seconds / width_s - 1e-6).ceil().max(1.0) as usize;
        let begin = ((from_s / width_s).round().max(0.0) as usize).min(count - 1);
        let end = ((to_s / width_s).round() as usize).clamp(begin + 1, count);
        let together = of_together(end - begin, count - (end - begin));
        Bins { start_us: manifest.start.0, width_s, count, range: begin..end, together }
    }
}

/// How many bins are put together for the tests of means, of so many within and outside a range.
pub(crate) fn of_together(inside: usize, rest: usize) -> usize {
    let fewer = if rest == 0 { inside } else { inside.min(rest) };
    (fewer as f64 / IN_RANGE).floor().max(1.0) as usize
}

/// All series of a run.
pub(crate) fn of_run(
    engine: &Engine,
    run: &RunId,
    manifest: &Manifest,
    bins: &Bins,
) -> Result<Vec<Line>, CompareError> {
    let mut lines = Vec::new();
    for held in &manifest.files {
        let known = held.table.as_deref().and_then(table).filter(|t| has_series(t, held.rows));
        if let Some(table) = known {
            read(engine, run, table, bins, &mut lines)?;
        }
    }
    resources(engine, run, bins, &mut lines)?;
    Ok(lines)
}

/// The means of bins that are put together, so that none lies on both sides of an end of the range; and those within it.
fn together(values: &[Option<f64>], range: &Range<usize>, n: usize) -> (Vec<Option<f64>>, Range<usize>) {
    let mean = |bins: &[Option<f64>]| {
        let known: Vec<f64> = bins.iter().flatten().copied().filter(|v| v.is_finite()).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    let mut out: Vec<Option<f64>> = values[..range.start].rchunks(n).map(mean).collect();
    out.reverse();
    let begin = out.len();
    out.extend(values[range.clone()].chunks(n).map(mean));
    let end = out.len();
    out.extend(values[range.end..].chunks(n).map(mean));
    (out, begin..end)
}

/// The values that are compared, put together as `bins` has it, and those of them within the range: without those next to its ends, which
/// are drawn by eye. A tenth of the range is left out on either side of an end, and no more than a quarter of what is there.
pub(crate) fn compared(values: &[Option<f64>], bins: &Bins) -> (Vec<Option<f64>>, Range<usize>) {
    let (range, len) = (&bins.range, values.len());
    let tenth = if range.len() < LEAST_WITH_ENDS { 0 } else { range.len().div_ceil(10) };
    // The ends of the run are no ends of the range.
    let beside =
        |outside: usize| if outside == 0 { (0, 0) } else { (tenth.min(range.len() / 4), tenth.min(outside / 4)) };
    let mut values = values.to_vec();
    let (within, beyond) = beside(range.start);
    values[range.start - beyond..range.start + within].fill(None);
    let (within, beyond) = beside(len - range.end);
    values[range.end - within..range.end + beyond].fill(None);
    together(&values, range, bins.together)
}

/// A counter that was imported as it was has events in its differences: one that never goes down, and goes up at most
/// moments or by more than it began with.
fn differences(values: &mut [Option<f64>]) {
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    let (Some(first), Some(last)) = (known.first(), known.last()) else { return };
    let ups = known.windows(2).filter(|two| two[1] > two[0]).count();
    let never_down = known.windows(2).all(|two| two[1] >= two[0]);
    if known.len() < 20 || !never_down || last <= first || ups * 2 < known.len() {
        return;
    }
    let mut before = None;
    for value in values {
        let now = *value;
        *value = before.zip(now).map(|(before, now): (f64, f64)| now - before);
        before = now.or(before);
    }
}

fn has_series(table: &Table, rows: u64) -> bool {
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
        kind: column.kind,
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
            if table.name == metric::TABLE.name {
                differences(&mut line);
            }
            let [host, key] = [&hosts[row], &keys[row]].map(|text| text.clone().unwrap_or_default());
            lines.push(Line { of: of(column), host, key, values: line, is_sum: is_sum && adds_up(column) });
        }
    }
    Ok(())
}

/// The statement that gives the series of a table as lists of their bins. An order by the very same expression would
/// become a function that a cluster does not have.
fn statement(table: &Table, columns: &[&Column], is_sum: bool, bins: &Bins) -> String {
    let names = table.keys().iter().filter(|key| !key.is_of_one_run && (!is_sum || key.ty == Type::Label));
    // Some columns are called as words of SQL are. A latency of 0 is that of a moment in which nothing ended.
    let is_latency = |column: &Column| table.name == load::TABLE.name && column.name.starts_with("latency");
    let quoted = |column: &Column| match is_latency(column) {
        true => format!("nullif(\"{}\", 0)", column.name),
        false => format!("\"{}\"", column.name),
    };
    let names: Vec<String> = names.map(quoted).collect();
    let whole: Vec<String> = table.keys().iter().map(|key| format!("{} IS NULL", quoted(key))).collect();
    let whole = if whole.is_empty() { "true".to_owned() } else { whole.join(" AND ") };
    let key = if names.is_empty() { "''".to_owned() } else { format!("concat_ws(' ', {})", names.join(", ")) };
    let value = |column: &Column| match is_sum && adds_up(column) {
        // Rows for everything together are each the sum already: several tools may have written them at the same moment.
        true => format!(
            "CASE WHEN any_value(has_whole) THEN wmean({0}, fenxi_dt) ELSE sum({0} * fenxi_dt) / any_value(seconds) END",
            quoted(column)
        ),
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
        ), samples AS (
            SELECT * FROM (SELECT *, bool_or(whole) OVER () AS has_whole FROM placed) {chosen}
        ), spans AS (
            SELECT bin, sum(fenxi_dt) AS seconds FROM (SELECT DISTINCT bin, t, fenxi_dt FROM samples) GROUP BY bin
        )
        SELECT coalesce(host, '') AS host, key, list(bin ORDER BY bin + 0) AS bins, {lists}
        FROM (SELECT host, {key} AS key, bin, {each} FROM samples JOIN spans USING (bin) GROUP BY host, key, bin)
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
        kind: Kind::Gauge,
        better: Better::Neither,
        doc: "How full the resource was, or for how much of the time somebody waited for it.",
    };
    let all = answer.strings("host").into_iter().zip(answer.strings("resource")).zip(answer.lists("bins"));
    for (((host, key), places), values) in all.zip(answer.lists("v")) {
        let mut line = vec![None; bins.count];
        places.iter().zip(&values).for_each(|(bin, value)| set(&mut line, bin.unwrap_or(-1.0), *value));
        let [host, key] = [host, key].map(Option::unwrap_or_default);
        lines.push(Line { of, host, key, values: line, is_sum: false });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{differences, together};

    #[test]
    fn bins_are_put_together_on_each_side_of_the_ends_of_a_range() {
        let values: Vec<Option<f64>> = (0..7).map(|v| Some(f64::from(v))).collect();
        let (means, range) = together(&values, &(3..5), 2);
        assert_eq!((means, range), (vec![Some(0.0), Some(1.5), Some(3.5), Some(5.5)], 2..3));
        assert_eq!(together(&[None, Some(1.0)], &(0..1), 2).0, [None, Some(1.0)]);
    }

    #[test]
    fn a_counter_becomes_its_differences_and_a_value_stays() {
        let mut counter: Vec<Option<f64>> = (0..30).map(|v| Some(1000.0 + 5.0 * f64::from(v))).collect();
        counter[7] = None;
        differences(&mut counter);
        assert_eq!((counter[0], counter[1], counter[8]), (None, Some(5.0), Some(10.0)));
        let mut steps: Vec<Option<f64>> = (0..30).map(|v| Some(f64::from(v / 10))).collect();
        let before = steps.clone();
        differences(&mut steps);
        assert_eq!(steps, before);
    }
}
