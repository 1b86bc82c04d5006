//! Differences between two periods: a time range of a run against the rest of it, or a run against another. Every
//! series is tested; what the changes mean together is in findings, and the series are ordered by what can be a cause.

mod causes;
mod new_problems;

use std::collections::BTreeMap;

use fenxi_analyze::{Bursts, RangeShift, benjamini_hochberg, bursts, range_shift};
use fenxi_model::RunId;
use fenxi_query::{Engine, Meaning, NamesCause};
use fenxi_store::Manifest;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Answer, BetterWord, CompareError, Diagnosis, Names,
    series::{self, Bins, Line, compared},
    windows,
};
use causes::SeriesRole;
pub(crate) use new_problems::is_large;

/// Found at this adjusted p, a difference counts as sure.
const SURE: f64 = 0.05;
/// Lower weights are no news: with a level change of half and every value on its side it is 0.6.
const LEAST_WEIGHT: f64 = 0.12;
/// So many lines of one thing, and so many of one column, stand among the first; the others are counted.
const OF_ONE_THING: usize = 3;
const OF_ONE_COLUMN: usize = 6;
/// Bursts count by no more than this power of two.
const MOST_POWER: f64 = 4.0;

/// Differences between a time range of a run and the rest of it.
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
    /// The run that it is compared with; None for the rest of the same run.
    #[schemars(with = "Option<String>")]
    pub baseline: Option<RunId>,
    /// Causes that the changes indicate, the one that explains most first.
    pub causes: Vec<Cause>,
    /// Series that differ: first what cannot follow from less throughput, series of one thing together.
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
    /// Values of the table's keys.
    pub key: String,
    /// Section of the report.
    pub section: &'static str,
    /// The unit of the means.
    pub unit: &'static str,
    /// Which direction is good.
    #[schemars(with = "BetterWord")]
    pub better: String,
    /// Meaning of the column.
    pub doc: &'static str,
    /// Mean in the range.
    pub inside: f64,
    /// Mean in the rest of the run.
    pub rest: f64,
    /// Change against the rest, 1 for twice as much; None where the rest is 0 or of another sign.
    pub change: Option<f64>,
    /// Cliff's delta, from -1 to 1: how surely a value shows on which side it was.
    pub effect: f64,
    /// p, adjusted for the number of series that were looked at.
    pub p: f64,
    /// True if it is more than such a series wanders by itself.
    pub sure: bool,
    /// The thing it has in common with others beside it.
    pub thing: String,
    /// Change of the amount per transaction, 1 for twice as much; None without transactions, or where it did not change.
    pub per_transaction: Option<f64>,
    /// The share of the range's values that go beyond what the rest has, from 0 to 1; None where they are not bursts.
    pub bursts: Option<f64>,
}

/// Cause that several changes indicate together.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Cause {
    /// The name of the rule.
    pub finding: String,
    /// The statement.
    pub title: String,
    /// It with figures.
    pub message: String,
    /// Advice: what to check or do next.
    pub advice: String,
    /// Kind: `problem`, `symptom`, `information`.
    pub kind: String,
    /// How far its rule names a cause, as its header has it.
    #[serde(skip)]
    pub names_cause: NamesCause,
}

/// A series and how it changed.
struct Judged {
    line: Line,
    shift: RangeShift,
    bursts: Option<Bursts>,
    /// Adjusted for the number of series; not a number where it never moves.
    p: f64,
}

impl Judged {
    fn of(line: Line, bins: &Bins) -> Option<Judged> {
        let (values, range) = compared(&line.values, bins);
        let found = range_shift(&values, range)?;
        let bursts = bursts(&line.values, bins.range.clone());
        let p = bursts.map_or(found.p, |bursts| found.p.min(2.0 * bursts.p));
        // A series that never moves is no test.
        let is_still = found.effect == 0.0 && bursts.is_none();
        Some(Judged { line, shift: found, bursts, p: if is_still { f64::NAN } else { p } })
    }

    fn is_sure(&self) -> bool {
        self.p <= SURE
    }

    /// The share of the range that bursts have and how much they stand out, where they say more than the mean.
    fn burst(&self) -> Option<(f64, f64)> {
        let bursts = self.bursts.as_ref().filter(|bursts| bursts.p <= SURE)?;
        let most = bursts.level.abs().max(self.shift.rest.abs());
        let lifted = |v: f64| v.abs() + 0.05 * most;
        let power = if most > 0.0 { (lifted(bursts.level) / lifted(self.shift.rest)).log2() } else { 0.0 };
        let weight = (bursts.share - bursts.share_rest) * power.abs().min(MOST_POWER);
        (weight > self.shift.weight).then_some((bursts.share, weight))
    }

    /// How much the eye should see it first.
    fn weight(&self) -> f64 {
        self.burst().map_or(self.shift.weight, |(_, weight)| weight)
    }
}

impl InRange {
    /// Compares the time from `from_s` to `to_s`, seconds since the begin of the run, with the rest of it; `most` changes are reported.
    ///
    /// # Errors
    /// A range outside the run, or one that leaves no rest; a run that cannot be read.
    pub fn of(engine: &Engine, run: &RunId, from_s: f64, to_s: f64, most: usize) -> Result<InRange, CompareError> {
        let entry = engine.store().run(run)?;
        let manifest = &entry.manifest;
        windows::range(&entry, "range", &format!("{}s", from_s.max(0.0)), &format!("{to_s}s"))?;
        let bins = Bins::of(manifest, from_s, to_s);
        let lines = series::of_run(engine, run, manifest, &bins)?;
        let second = |bin: usize| bin as f64 * bins.width_s;
        let span = (second(bins.range.start), second(bins.range.end).min(manifest.seconds()));
        Judging { engine, run, baseline: None, several_hosts: manifest.hosts.len() > 1 }.all(lines, &bins, span, most)
    }

    /// Compares all of `run` with all of `baseline`.
    ///
    /// # Errors
    /// A run that cannot be read.
    pub fn against(engine: &Engine, run: &RunId, baseline: &RunId, most: usize) -> Result<InRange, CompareError> {
        let (now, before) = (engine.store().run(run)?.manifest, engine.store().run(baseline)?.manifest);
        let whole = |manifest: &Manifest| Bins::of(manifest, 0.0, manifest.seconds());
        let (mut bins, earlier) = (whole(&now), whole(&before));
        let lines = series::of_run(engine, run, &now, &bins)?;
        let rest = series::of_run(engine, baseline, &before, &earlier)?;
        let several_hosts = now.hosts.len() > 1;
        let lines = behind(lines, rest, several_hosts, (bins.count, earlier.count));
        bins.range = earlier.count..earlier.count + bins.count;
        bins.together = series::of_together(bins.count, earlier.count);
        let span = (0.0, now.seconds());
        Judging { engine, run, baseline: Some(baseline), several_hosts }.all(lines, &bins, span, most)
    }

    /// The answer of a range, beside what the rules of single runs found in it: a large problem that only the range has, what changed, or else
    /// what was found.
    pub fn answer_beside(&self, diagnosis: &Diagnosis) -> Answer {
        let (found, change) = (&diagnosis.answer, self.answer());
        let is_problem = matches!(found.names, Names::Bottleneck | Names::Symptom);
        let is_only_guess = self.named().is_none_or(|cause| cause.names_cause.is_fallback());
        if diagnosis.is_large_news() || diagnosis.elsewhere.is_some() && is_problem && is_only_guess {
            return found.clone();
        }
        change.unwrap_or_else(|| match self.causes.first().filter(|_| found.names == Names::Unknown) {
            Some(most) => Answer {
                text: "What made the difference is not known.".to_owned(),
                detail: format!("{} {}", most.message, found.detail),
                finding: Some(most.finding.clone()),
                names: Names::Unknown,
            },
            None => found.clone(),
        })
    }

    /// The first cause that is one.
    fn named(&self) -> Option<&Cause> {
        self.causes.iter().find(|cause| cause.names_cause != NamesCause::No)
    }

    /// One sentence that names the cause; None where the changes name none.
    pub fn answer(&self) -> Option<Answer> {
        let first = self.named()?;
        let names = match first.kind.as_str() {
            "problem" => Names::Bottleneck,
            "symptom" => Names::Symptom,
            _ => Names::Nothing,
        };
        Some(Answer {
            names,
            text: format!("{}.", first.title),
            detail: first.message.clone(),
            finding: Some(first.finding.clone()),
        })
    }
}

/// The series of a run behind those of its baseline. One that a baseline does not have, where it adds up, was 0.
fn behind(lines: Vec<Line>, rest: Vec<Line>, several_hosts: bool, counts: (usize, usize)) -> Vec<Line> {
    let name = |line: &Line| {
        let host = if several_hosts { line.host.clone() } else { String::new() };
        (line.of.table, line.of.column, host, line.key.clone())
    };
    let known: Vec<&'static str> = rest.iter().map(|line| line.of.table).collect();
    let now: Vec<&'static str> = lines.iter().map(|line| line.of.table).collect();
    let mut before: BTreeMap<_, Line> = rest.into_iter().map(|line| (name(&line), line)).collect();
    let absent = |line: &Line, tables: &[&str], n: usize| {
        vec![(line.is_sum && tables.contains(&line.of.table)).then_some(0.0); n]
    };
    let mut all = Vec::new();
    for mut line in lines {
        let mut values =
            before.remove(&name(&line)).map_or_else(|| absent(&line, &known, counts.1), |earlier| earlier.values);
        values.append(&mut line.values);
        all.push(Line { values, ..line });
    }
    for mut line in before.into_values() {
        let zeros = absent(&line, &now, counts.0);
        line.values.extend(zeros);
        all.push(line);
    }
    all
}

/// Whose series are judged.
struct Judging<'a> {
    engine: &'a Engine,
    run: &'a RunId,
    baseline: Option<&'a RunId>,
    several_hosts: bool,
}

impl Judging<'_> {
    fn all(&self, mut lines: Vec<Line>, bins: &Bins, span: (f64, f64), most: usize) -> Result<InRange, CompareError> {
        let meanings = causes::meanings(self.engine, self.run, &lines)?;
        causes::leave_out_idle(&mut lines, &meanings, bins);
        let known =
            lines.into_iter().zip(meanings).filter_map(|(line, meaning)| Some((Judged::of(line, bins)?, meaning)));
        let (mut judged, meanings): (Vec<Judged>, Vec<Meaning>) = known.unzip();
        let adjusted = benjamini_hochberg(&judged.iter().map(|j| j.p).collect::<Vec<_>>());
        judged.iter_mut().zip(adjusted).for_each(|(j, p)| j.p = p);
        let looked = judged.len();
        let (roles, causes) = causes::of(self.engine, self.run, &judged, &meanings, bins)?;
        let (changed, more) = self.ranked(judged, roles, most);
        Ok(InRange {
            run: self.run.clone(),
            from_s: span.0,
            to_s: span.1,
            step_s: bins.width_s,
            looked,
            baseline: self.baseline.cloned(),
            causes,
            changed,
            more,
        })
    }

    /// Series that differ, possible causes first and series of one thing together; how many more do.
    fn ranked(&self, judged: Vec<Judged>, roles: Vec<SeriesRole>, most: usize) -> (Vec<Change>, usize) {
        let mut news: Vec<(Judged, SeriesRole)> =
            judged.into_iter().zip(roles).filter(|(j, _)| j.weight() >= LEAST_WEIGHT && !j.p.is_nan()).collect();
        let place = |j: &Judged, roles: &SeriesRole| (!j.is_sure(), roles.class);
        let mut things: BTreeMap<(String, String), (bool, u8, f64)> = BTreeMap::new();
        let thing = |j: &Judged, roles: &SeriesRole| (j.line.host.clone(), roles.thing.clone());
        for (j, roles) in &news {
            let (unsure, class) = place(j, roles);
            let of = things.entry(thing(j, roles)).or_insert((unsure, class, j.weight()));
            let is_better = (unsure, class).cmp(&(of.0, of.1)).then(of.2.total_cmp(&j.weight())).is_lt();
            if is_better {
                *of = (unsure, class, j.weight());
            }
        }
        news.sort_by(|(a, ta), (b, tb)| {
            let (of_a, of_b) = (things[&thing(a, ta)], things[&thing(b, tb)]);
            let name = |j: &Judged| (j.line.of.table, j.line.of.column, j.line.host.clone(), j.line.key.clone());
            let by_thing = (of_a.0, of_a.1).cmp(&(of_b.0, of_b.1)).then(of_b.2.total_cmp(&of_a.2));
            by_thing
                .then_with(|| thing(a, ta).cmp(&thing(b, tb)))
                .then_with(|| place(a, ta).cmp(&place(b, tb)))
                .then_with(|| b.weight().total_cmp(&a.weight()))
                .then_with(|| name(a).cmp(&name(b)))
        });
        let total = news.len();
        let (mut shown, mut columns) = (BTreeMap::new(), BTreeMap::new());
        let mut changed = Vec::new();
        for (j, roles) in news {
            let of_thing = shown.entry(thing(&j, &roles)).or_insert(0);
            let of_column = columns.entry((j.line.of.table, j.line.of.column)).or_insert(0);
            let is_metric = j.line.of.table == "metric";
            if changed.len() == most || *of_thing >= OF_ONE_THING || *of_column >= OF_ONE_COLUMN && !is_metric {
                continue;
            }
            *of_thing += 1;
            *of_column += 1;
            changed.push(change(j, roles, self.several_hosts));
        }
        let more = total - changed.len();
        (changed, more)
    }
}

fn change(j: Judged, roles: SeriesRole, several_hosts: bool) -> Change {
    let bursts = j.burst().map(|(share, _)| share);
    let (line, m) = (j.line, j.shift);
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
        p: j.p,
        sure: j.p <= SURE,
        thing: roles.thing,
        per_transaction: roles.cost.filter(|cost| *cost != 0.0).map(|cost| cost.exp2() - 1.0),
        bursts,
    }
}
