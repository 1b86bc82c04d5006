//! Changes of series taken together: the meaning of each series, its cost per transaction, and the findings over two
//! periods that follow.

use std::{collections::BTreeMap, ops::Range};

use fenxi_analyze::range_shift;
use fenxi_model::{Kind, RunId, Unit};
use fenxi_query::{ChangeRow, Engine, Found, Meaning, Scope};

use super::{Cause, Judged, SURE};
use crate::{
    CompareError,
    series::{Bins, Line, compared},
};

/// A cost per transaction changed where chance gives as much this seldom.
const SURE_COST: f64 = 0.01;
/// Of a moment with less throughput than this share of the rest's, costs are no figures: what runs in the background is all there is.
const LEAST_THROUGHPUT: f64 = 0.1;
/// Changes of less than this power of two are none to speak of.
const SMALL: f64 = 0.2;
/// Rows that findings are given at most: those that mean something, then those that changed most.
const MOST_ROWS: usize = 4000;
/// Bursts are looked at by themselves from so many moments on, and where they have less than this share of the range.
const LEAST_MOMENTS: usize = 3;
const NEARLY_ALL: f64 = 0.8;
/// Seldom enough for a series that was not sure before moments were chosen.
const VERY_SURE: f64 = 0.001;
/// Meanings that are no amount that transactions use, although their kind does not show it.
const NO_COST: [&str; 8] =
    ["throughput", "latency", "sessions", "active", "queue", "iowait", "disk_busy", "round_trip"];

/// Properties of a series beside its change.
pub(super) struct SeriesRole {
    /// The thing it has in common with others.
    pub thing: String,
    /// The power of two by which it changed per transaction; None where that has no meaning.
    pub cost: Option<f64>,
    /// Role: 0 a cause, 1 perhaps one, 2 goes along with more work, 3 a consequence.
    pub class: u8,
}

/// How a series changed in the moments that are looked at.
struct Seen {
    inside: f64,
    rest: f64,
    /// The power of two by which it changed; 0 where that may be chance.
    change: f64,
}

/// Moments of the range that are looked at: all, or those of its bursts.
struct Moments<'a> {
    bins: &'a Bins,
    of_bursts: Option<Vec<usize>>,
}

impl Moments<'_> {
    /// Where series have bursts, the bins in which most of them do: a mean over all of the range would hide what is different then.
    fn of<'a>(judged: &[Judged], bins: &'a Bins) -> Moments<'a> {
        let bursting: Vec<_> = judged
            .iter()
            .filter(|j| j.is_sure())
            .filter_map(|j| Some((j, j.bursts.as_ref().filter(|bursts| bursts.p <= SURE)?)))
            .collect();
        let share = |bin: usize| {
            let known: Vec<bool> =
                bursting.iter().filter_map(|(j, bursts)| Some(bursts.has(j.line.values[bin]?))).collect();
            let with = known.iter().filter(|is| **is).count();
            (!known.is_empty()).then(|| with as f64 / known.len() as f64)
        };
        let shares: Vec<(usize, f64)> = bins.range.clone().filter_map(|bin| Some((bin, share(bin)?))).collect();
        let at: Vec<usize> = shares.iter().filter(|(_, share)| *share >= 0.5).map(|(bin, _)| *bin).collect();
        let are_some = at.len() >= LEAST_MOMENTS && at.len() as f64 <= NEARLY_ALL * shares.len() as f64;
        Moments { bins, of_bursts: are_some.then_some(at) }
    }

    /// The values outside the range and at these moments, and where among them these are.
    fn of_values(&self, values: &[Option<f64>]) -> (Vec<Option<f64>>, Range<usize>) {
        let range = &self.bins.range;
        let Some(at) = &self.of_bursts else { return compared(values, self.bins) };
        let mut out = values[..range.start].to_vec();
        out.extend(at.iter().map(|bin| values[*bin]));
        out.extend_from_slice(&values[range.end..]);
        (out, range.start..range.start + at.len())
    }

    /// How a series changed at these moments.
    fn seen(&self, j: &Judged) -> Seen {
        let m = match &self.of_bursts {
            None => Some(j.shift),
            Some(_) => {
                let (values, range) = self.of_values(&j.line.values);
                range_shift(&values, range)
            }
        };
        let Some(m) = m else { return Seen { inside: j.shift.inside, rest: j.shift.rest, change: 0.0 } };
        // The moments were chosen because some series are different then; of the others only what is very sure counts.
        let is_sure = match self.of_bursts {
            None => j.is_sure(),
            Some(_) => j.is_sure() && m.p <= SURE || m.p <= VERY_SURE,
        };
        Seen { inside: m.inside, rest: m.rest, change: if is_sure { m.by } else { 0.0 } }
    }
}

/// Properties of each of the series, and the causes that they show together.
pub(super) fn of(
    engine: &Engine,
    run: &RunId,
    judged: &[Judged],
    meanings: &[Meaning],
    bins: &Bins,
) -> Result<(Vec<SeriesRole>, Vec<Cause>), CompareError> {
    let moments = Moments::of(judged, bins);
    let seen: Vec<Seen> = judged.iter().map(|j| moments.seen(j)).collect();
    let throughput = best_work(meanings, |n| judged[n].shift.rest);
    let work = throughput.map_or(0.0, |n| seen[n].change);
    let roles: Vec<SeriesRole> = (0..judged.len())
        .map(|n| {
            let (meaning, change) = (&meanings[n], seen[n].change);
            let cost = throughput
                .filter(|_| is_amount(meaning, judged[n].line.of.kind))
                .and_then(|t| cost(&judged[n], change, &judged[t], &moments));
            SeriesRole { thing: meaning.thing.clone(), cost, class: class(change, meaning, cost, work) }
        })
        .collect();
    let rows = rows(&CauseInputs { run, judged, meanings, seen: &seen, roles: &roles, throughput, moments: &moments });
    let found = engine.find_changes(&rows, &Scope::of([run.clone()]))?;
    Ok((roles, found.iter().filter_map(cause).collect()))
}

/// The meaning of each series.
///
/// # Errors
/// When the statement cannot be answered.
pub(super) fn meanings(engine: &Engine, run: &RunId, lines: &[Line]) -> Result<Vec<Meaning>, CompareError> {
    let names: Vec<[&str; 3]> = lines.iter().map(|line| [line.of.table, line.of.column, line.key.as_str()]).collect();
    Ok(engine.meanings(&names, &Scope::of([run.clone()]))?)
}

/// Leaves out what is outside the range before the first transaction and after the last one, in which nothing could be different: the load
/// had not begun, or was over. Where that leaves less than half of the rest, it is the rest.
pub(super) fn leave_out_idle(lines: &mut [Line], meanings: &[Meaning], bins: &Bins) {
    let rest = |values: &[Option<f64>]| [&values[..bins.range.start], &values[bins.range.end..]].concat();
    let sum = |n: usize| rest(&lines[n].values).iter().flatten().sum();
    let Some(work) = best_work(meanings, sum) else { return };
    let is_idle = |value: &&Option<f64>| value.is_none_or(|value| value <= 0.0);
    let values = &lines[work].values;
    let before = values[..bins.range.start].iter().take_while(is_idle).count();
    let after = values[bins.range.end..].iter().rev().take_while(is_idle).count();
    if 2 * (before + after) > rest(values).len() {
        return;
    }
    let end = values.len() - after;
    for line in lines {
        line.values[..before].fill(None);
        line.values[end..].fill(None);
    }
}

/// The series with the number of transactions, of those that have some outside the range.
fn best_work(meanings: &[Meaning], rest: impl Fn(usize) -> f64) -> Option<usize> {
    let best = |what: &str| {
        let of = (0..meanings.len()).filter(|n| meanings[*n].means.as_deref() == Some(what) && rest(*n) > 0.0);
        of.min_by(|a, b| meanings[*a].place.cmp(&meanings[*b].place).then(rest(*b).total_cmp(&rest(*a))))
    };
    best("throughput").or_else(|| best("statements"))
}

/// Whether transactions use amounts of it.
fn is_amount(meaning: &Meaning, kind: Kind) -> bool {
    match &meaning.means {
        Some(means) => !NO_COST.contains(&means.as_str()),
        None => matches!(kind, Kind::Rate | Kind::Count),
    }
}

/// The power of two by which a series changed per transaction; 0 where that may be chance.
fn cost(j: &Judged, change: f64, throughput: &Judged, moments: &Moments<'_>) -> Option<f64> {
    let least = LEAST_THROUGHPUT * throughput.shift.rest;
    let per = |(value, work): (&Option<f64>, &Option<f64>)| Some((*value)? / (*work)?.max(least));
    let of = |j: &Judged| moments.of_values(&j.line.values);
    let ((values, range), (works, _)) = (of(j), of(throughput));
    let each: Vec<Option<f64>> = values.iter().zip(&works).map(per).collect();
    let found = range_shift(&each, range)?;
    Some(if found.p > SURE_COST && change <= 0.0 { 0.0 } else { found.by })
}

/// The role of a series in the search for a cause.
fn class(change: f64, meaning: &Meaning, cost: Option<f64>, work: f64) -> u8 {
    let is_work = matches!(meaning.means.as_deref(), Some("throughput" | "statements"));
    match cost {
        _ if is_work && change > 0.0 => 0,
        _ if is_work => 3,
        Some(_) if change > work.max(0.0) + SMALL => 0,
        Some(_) if change > 0.0 => 2,
        Some(cost) if cost > SMALL => 1,
        None if change > 0.0 => 1,
        _ => 3,
    }
}

/// Known data of all series.
struct CauseInputs<'a> {
    run: &'a RunId,
    judged: &'a [Judged],
    meanings: &'a [Meaning],
    seen: &'a [Seen],
    roles: &'a [SeriesRole],
    throughput: Option<usize>,
    moments: &'a Moments<'a>,
}

/// The rows that findings read.
fn rows<'a>(known: &CauseInputs<'a>) -> Vec<ChangeRow<'a>> {
    let (judged, meanings) = (known.judged, known.meanings);
    let mut order: Vec<usize> =
        (0..judged.len()).filter(|n| !judged[*n].p.is_nan() || meanings[*n].means.is_some()).collect();
    let weight = |n: usize| {
        let cost = known.roles[n].cost.unwrap_or(0.0).abs();
        if judged[n].is_sure() { judged[n].weight().max(cost) } else { cost }
    };
    order.sort_by(|a, b| {
        let unknown = |n: usize| meanings[n].means.is_none();
        unknown(*a).cmp(&unknown(*b)).then(weight(*b).total_cmp(&weight(*a))).then(a.cmp(b))
    });
    order.truncate(MOST_ROWS);
    // Of several series of work one counts it; the others are statements.
    let means = |n: usize| match meanings[n].means.as_deref() {
        _ if known.throughput == Some(n) => "throughput",
        Some("throughput") => "statements",
        Some(means) => means,
        None => "",
    };
    // Rules speak of what rose: itself, or else per transaction; what fell is the first of its meaning only where nothing rose.
    let rise = |n: usize| match (&known.seen[n], known.roles[n].cost.unwrap_or(0.0)) {
        (seen, _) if seen.change > 0.0 => 2,
        (seen, cost) if cost > 0.0 || seen.rest == 0.0 && seen.inside > 0.0 => 1,
        _ => 0,
    };
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for n in &order {
        let best = first.entry(means(*n)).or_insert(*n);
        if rise(*n) > rise(*best) {
            *best = *n;
        }
    }
    let row = |n: usize| {
        let (j, seen, means) = (&judged[n], &known.seen[n], means(n));
        ChangeRow {
            run: known.run.as_str(),
            host: &j.line.host,
            name: [j.line.of.table, j.line.of.column, &j.line.key],
            means,
            inside: seen.inside,
            rest: seen.rest,
            change: seen.change,
            cost: known.roles[n].cost,
            weight: weight(n),
            is_first: !means.is_empty() && first.get(means) == Some(&n),
            summary: summary(j, seen, known.moments),
        }
    };
    order.into_iter().map(row).collect()
}

/// A change in words: `db.rows_inserted_per_s 1.4 k/s instead of 120/s`.
fn summary(j: &Judged, seen: &Seen, moments: &Moments<'_>) -> String {
    let of = j.line.of;
    let unit = if of.table == "metric" { Unit::None } else { of.unit };
    let name = match of.table {
        "metric" | "resource" => j.line.key.clone(),
        "process" => format!("{} of {}", of.column, j.line.key),
        table => format!("{table}.{}", of.column),
    };
    let when = if moments.of_bursts.is_some() { " in bursts" } else { "" };
    format!("{name} {}{when} instead of {}", unit.human(seen.inside), unit.human(seen.rest))
}

/// The cause that a finding names; one that could not be evaluated names none here.
pub(super) fn cause(found: &Found) -> Option<Cause> {
    let first = found.outcome.as_ref().ok()?.first()?;
    Some(Cause {
        finding: found.finding.name.clone(),
        title: found.finding.title.clone(),
        message: first.message.clone(),
        advice: found.finding.advice.clone(),
        kind: found.kind().word().to_owned(),
        names_cause: found.finding.names_cause,
    })
}
