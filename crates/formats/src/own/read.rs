//! Reads a text by the rules of a format's file, line by line: the first pattern that matches a whole line decides what it becomes.

use fenxi_model::{Micros, Shape, Type};
use regex::CaptureLocations;
use rustc_hash::FxHashMap;

use super::{
    compile::{Line, RowRule, Rules},
    each::Parts,
    results::Runs,
    timing::Moments,
    unit::Per,
    value::{Amount, Cell, Values},
};
use crate::{
    Hints, Input, Out, Ticker,
    generic::{
        labels::Labels,
        sheet::{Decimal, missing, number_in},
    },
    scaled,
};

/// Series of totals that are followed; beyond it all begin anew.
const MAX_SERIES: usize = 1 << 18;
/// The longest value that is kept for following lines.
const LONGEST_KEPT: usize = 4096;
/// Beyond them a double does not hold each whole number.
const LARGEST_WHOLE: f64 = 9_007_199_254_740_992.0;

/// Reads all of the input.
pub(super) fn read(rules: &Rules, input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader::new(rules, &input.head(), out);
    if let Some(moments) = &mut reader.moments {
        moments.begin(input, out);
    }
    while input.line().is_some() {
        let (number, text) = (input.number(), rules.last_state(input.text().trim_end()));
        let text = reader.moments.as_mut().map_or(text, |moments| moments.strip(text, out));
        if text.is_empty() || rules.ignore.iter().any(|pattern| pattern.is_match(text)) {
            continue;
        }
        match reader.matching(text) {
            Some(at) => reader.line(at, number, text, out),
            None => match &rules.pairs {
                Some(pairs) => {
                    if let Err(why) = reader.runs.pair(pairs, text, out) {
                        out.unknown(number, text, why);
                    }
                }
                None if reader.moments.as_mut().is_some_and(|moments| moments.is_around(text, out)) => {}
                None => out.unknown(number, text, "no pattern matches"),
            },
        }
    }
    reader.runs.end(out);
    out.since_boot(false);
}

impl Rules {
    /// Of a line that was drawn over what counts.
    fn last_state<'l>(&self, line: &'l str) -> &'l str {
        let last = || line.rsplit('\r').map(str::trim).find(|part| !part.is_empty());
        if self.overwritten { last().unwrap_or(line) } else { line }
    }
}

struct Reader<'r> {
    rules: &'r Rules,
    /// Where the groups of each pattern matched last.
    places: Vec<CaptureLocations>,
    kept: Vec<Option<String>>,
    parts: Parts,
    moments: Option<Moments<'r>>,
    ticker: Ticker,
    /// The time and the length of the interval of the rows to come.
    t: Option<Micros>,
    dt: Option<f64>,
    totals: FxHashMap<(usize, usize, usize, String), (Micros, f64)>,
    text: String,
    labels: Labels,
    runs: Runs,
    section: usize,
    /// The host, as far as the content names it: part of what distinguishes series.
    host: String,
}

impl<'r> Reader<'r> {
    fn new(rules: &'r Rules, head: &str, out: &mut Out<'_>) -> Reader<'r> {
        if let Some(host) = &rules.host {
            out.set_host(host);
        }
        let places: Vec<_> = rules.lines.iter().map(|line| line.pattern.capture_locations()).collect();
        let moments = rules.timing.as_ref().map(|timing| Moments::new(timing, out));
        let mut reader = Reader {
            rules,
            places,
            kept: vec![None; rules.kept.len()],
            parts: Parts::default(),
            moments,
            ticker: Ticker::default(),
            t: None,
            dt: None,
            totals: FxHashMap::default(),
            text: String::new(),
            labels: Labels::default(),
            runs: Runs::new(rules.decimal),
            section: 0,
            host: String::new(),
        };
        reader.ticker = reader.usual(head, out.hints());
        reader
    }

    /// Learns the usual length of intervals from the beginning of the text.
    fn usual(&mut self, head: &str, hints: &Hints) -> Ticker {
        let Some(timing) = &self.rules.timing else { return Ticker::default() };
        let hints = Hints { interval_s: hints.interval_s.or(timing.interval), ..hints.clone() };
        // Reading reports its errors again.
        let mut aside = Out::new("", hints.clone(), |rows, _| rows.clear());
        let mut moments = Moments::new(timing, &aside);
        Ticker::new(&hints, head, |text| {
            let text = text.trim_end();
            let at = self.matching(text)?;
            let line = &self.rules.lines[at];
            let values = Values { line: text, places: &self.places[at], kept: &[], parts: &[] };
            let t = moments.stamp(line.times(&values), &mut aside).ok()??;
            (!line.is_event).then_some(t.0 as f64 / 1e6)
        })
    }

    /// The first pattern that matches a line; the places of its groups are set then.
    fn matching(&mut self, text: &str) -> Option<usize> {
        let section = self.section;
        let is_of = |line: &Line| line.within.is_empty() || line.within.contains(&section);
        let each = self.rules.lines.iter().zip(&mut self.places).enumerate();
        each.filter(|(_, (line, _))| is_of(line))
            .filter_map(|(at, (line, places))| line.pattern.captures_read(places, text).map(|_| at))
            .next()
    }

    fn line(&mut self, at: usize, number: u64, text: &str, out: &mut Out<'_>) {
        let rules = self.rules;
        let line = &rules.lines[at];
        let group = |places: &CaptureLocations, group: Option<usize>| {
            group.and_then(|group| places.get(group)).and_then(|(begin, end)| text.get(begin..end)).map(str::trim)
        };
        let values = Values { line: text, places: &self.places[at], kept: &self.kept, parts: &[] };
        let Some(parts) = self.parts.cut(&line.each, |from| values.get(from)) else {
            return out.unknown(number, text, "one group has more parts than another");
        };
        if let Some(host) = group(&self.places[at], line.host) {
            out.set_host(host);
            host.clone_into(&mut self.host);
        }
        let before = (self.t, self.dt);
        if self.time(at, number, text, out).is_none() {
            return;
        }
        for part in 0..parts {
            self.parts.at = part;
            for (place, row) in line.rows.iter().enumerate() {
                self.row((at, place), row, number, text, out);
            }
        }
        self.report(line, at, text, out);
        for part in 0..parts {
            self.parts.at = part;
            self.results(line, at, number, text, out);
        }
        if let Some(note) = &line.note {
            out.note(number, note);
        }
        // An event is at a moment between samples, and ends no interval.
        if line.is_event {
            (self.t, self.dt) = before;
        }
        for slot in &line.forget {
            self.kept[*slot] = None;
        }
        for (own, slot) in &line.keep {
            let value = group(&self.places[at], Some(*own)).filter(|value| !value.is_empty());
            self.kept[*slot] = value.map(|value| value.chars().take(LONGEST_KEPT).collect());
        }
    }

    /// The section and the report that begin with a line.
    fn report(&mut self, line: &Line, at: usize, text: &str, out: &mut Out<'_>) {
        if let Some(section) = line.section {
            self.section = section;
            self.runs.begin_buckets();
        }
        let values = Values { line: text, places: &self.places[at], kept: &self.kept, parts: self.parts.now() };
        if let Some(name) = &line.begins {
            self.runs.begin_of(name, |from| values.get(from), out);
        }
    }

    /// Writes the results of a line.
    fn results(&mut self, line: &Line, at: usize, number: u64, text: &str, out: &mut Out<'_>) {
        let values = Values { line: text, places: &self.places[at], kept: &self.kept, parts: self.parts.now() };
        let get = |from| values.get(from);
        let mut bad = None;
        for rule in &line.results {
            bad = bad.or(self.runs.write(rule, get, out).err());
        }
        for rule in &line.sums {
            bad = bad.or(self.runs.add(rule, get).err());
        }
        if let Some(rule) = &line.bucket {
            bad = bad.or(self.runs.bucket(rule, get, out).err());
        }
        if let Some(found) = bad {
            out.unknown(number, found, "no figure");
        }
    }

    /// Sets the time of what follows, if the line has one; None when it should and does not.
    fn time(&mut self, at: usize, number: u64, text: &str, out: &mut Out<'_>) -> Option<()> {
        let line = &self.rules.lines[at];
        let Some(moments) = &mut self.moments else { return Some(()) };
        let values = Values { line: text, places: &self.places[at], kept: &self.kept, parts: self.parts.now() };
        if moments.timing.when.is_none() {
            if moments.begins(line.sample, &values) {
                let (t, dt) = moments.count(out);
                (self.t, self.dt) = (Some(t), dt);
            }
        } else {
            match moments.stamp(line.times(&values), out) {
                Ok(None) => {}
                Ok(Some(t)) if line.is_event => self.t = Some(t),
                Ok(Some(t)) => (self.t, self.dt) = (Some(t), moments.length(t, &mut self.ticker)),
                Err(stamp) => {
                    out.unknown(number, &stamp, "no time in the form of [time]");
                    // Later lines would get the time of earlier ones.
                    (self.t, self.dt) = (None, None);
                    return None;
                }
            }
        }
        if let Some(amount) = &line.interval {
            let seconds = amount_of(amount, &values, self.rules.decimal, number, out);
            self.dt = seconds.filter(|seconds| *seconds > 0.0).or(self.dt);
        }
        Some(())
    }

    fn row(&mut self, id: (usize, usize), rule: &RowRule, number: u64, text: &str, out: &mut Out<'_>) {
        if rule.is_timed && self.t.is_none() {
            return out.unknown(number, text, "no time in this line, nor before it");
        }
        if let Some(slot) = rule.needs.iter().find(|slot| self.kept[**slot].is_none()) {
            let why = format!("no line before it had `{}`, which its row needs", self.rules.kept[*slot]);
            return out.unknown(number, text, &why);
        }
        let key = self.key(id.0, rule, text);
        let (numbers, any) = self.numbers(id, rule, (number, text), &key, out);
        // Without any value there is no row: a first total, or marks of what is missing.
        if any || rule.table.shape == Shape::Events {
            self.write(id.0, rule, (number, text), &numbers, out);
        }
    }

    /// Key of the row's series: its host, its labels and its table's keys. The labels are made too.
    fn key(&mut self, at: usize, rule: &RowRule, text: &str) -> String {
        let values = Values { line: text, places: &self.places[at], kept: &self.kept, parts: self.parts.now() };
        self.labels.cut(0);
        for (name, template) in &rule.labels {
            if template.fill(|from| values.get(from), &mut self.text) {
                self.labels.push(name, &self.text);
            }
        }
        let mut key = format!("{}\0{}", self.host, self.labels.text());
        for (_, cell) in rule.cells.iter().filter(|(place, _)| *place < rule.first_value()) {
            key.push('\0');
            match cell {
                Cell::Text(template) if template.fill(|from| values.get(from), &mut self.text) => {
                    key.push_str(&self.text)
                }
                Cell::Number(amount) => key.push_str(values.get(amount.from).unwrap_or_default()),
                Cell::Text(_) | Cell::Constant(_) => {}
            }
        }
        key
    }

    /// The numbers of the row's cells, and whether the line has a value at all, be it a text.
    fn numbers(
        &mut self,
        id: (usize, usize),
        rule: &RowRule,
        (number, text): (u64, &str),
        key: &str,
        out: &mut Out<'_>,
    ) -> (Vec<Option<f64>>, bool) {
        let values = Values { line: text, places: &self.places[id.0], kept: &self.kept, parts: self.parts.now() };
        let (mut numbers, mut any) = (Vec::with_capacity(rule.cells.len()), false);
        let measured = self.moments.as_ref().is_none_or(Moments::is_measured);
        for (place, cell) in &rule.cells {
            let is_value = *place >= rule.first_value();
            let value = match cell {
                Cell::Constant(value) => Some(*value),
                Cell::Text(template) => {
                    let told = is_value && template.has_group();
                    any |= told && template.fill(|from| values.get(from), &mut self.text);
                    None
                }
                Cell::Number(amount) => {
                    let value = amount_of(amount, &values, self.rules.decimal, number, out);
                    let value = match amount.conversion.per {
                        Per::Value => value,
                        Per::Interval => value.zip(self.dt).filter(|(_, dt)| *dt > 0.0).map(|(value, dt)| value / dt),
                        Per::Total | Per::Shown => self.t.zip(value).and_then(|now| {
                            let series = (id.0, id.1, *place, key.to_owned());
                            if self.totals.len() >= MAX_SERIES {
                                self.totals.clear();
                            }
                            growth(self.totals.insert(series, now)?, now).filter(|_| measured)
                        }),
                    };
                    any |= is_value && value.is_some();
                    value
                }
            };
            numbers.push(value);
        }
        (numbers, any)
    }

    fn write(
        &mut self,
        at: usize,
        rule: &RowRule,
        (number, text): (u64, &str),
        numbers: &[Option<f64>],
        out: &mut Out<'_>,
    ) {
        let values = Values { line: text, places: &self.places[at], kept: &self.kept, parts: self.parts.now() };
        let (t, dt) = match rule.table.shape {
            Shape::Facts => (None, None),
            Shape::Events => (self.t, None),
            _ => (self.t, self.dt),
        };
        let mut not_whole = None;
        let mut row = out.row(rule.table, t, dt);
        for ((place, cell), value) in rule.cells.iter().zip(numbers) {
            if let Cell::Text(template) = cell {
                if template.fill(|from| values.get(from), &mut self.text) {
                    row.str(*place, Some(self.text.as_str()));
                }
            } else if rule.table.columns[*place].ty == Type::I64 {
                let whole = value.filter(|v| v.fract() == 0.0 && v.abs() <= LARGEST_WHOLE);
                if whole.is_none() && value.is_some() {
                    not_whole = Some(*place);
                }
                row.i64(*place, whole.map(|v| v as i64));
            } else {
                row.f64(*place, *value);
            }
        }
        if let Some(place) = rule.table.index_of("labels").filter(|_| !self.labels.text().is_empty()) {
            row.str(place, Some(self.labels.text()));
        }
        if let Some(place) = not_whole {
            out.unknown(number, text, &format!("no whole number for `{}`", rule.table.columns[place].name));
        }
    }
}

/// The number of a line, in the column's unit; None where there is none, which is noted unless it is marked as missing.
fn amount_of(amount: &Amount, values: &Values<'_>, decimal: Decimal, number: u64, out: &mut Out<'_>) -> Option<f64> {
    let text = values.get(amount.from)?.trim();
    let value = match amount.conversion.prefixed {
        Some(base) => scaled(text, base),
        None => number_in(text, decimal),
    };
    if value.is_none() && !missing(text) {
        out.unknown(number, text, &format!("no number in the group `{}`", amount.group));
    }
    value.map(|value| value * amount.conversion.factor).filter(|value| value.is_finite())
}

/// How much a total grew per second; None when it went back, as it began anew then.
fn growth(last: (Micros, f64), now: (Micros, f64)) -> Option<f64> {
    // Not `seconds_since`: times of a damaged text can be as far apart as numbers go.
    let seconds = (now.0.0 as f64 - last.0.0 as f64) / 1e6;
    (seconds > 0.0 && now.1 >= last.1).then(|| (now.1 - last.1) / seconds)
}
