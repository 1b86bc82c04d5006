//! Results of a run by a description: figures of a pattern's groups, and pairs of a key and a value.

use std::borrow::Cow;

use toml::de::DeValue;

use super::{
    document::{Keys, Wrong, number_of},
    goal::{self, Goal, ResultGoal},
    value::{From, Groups, Template, read_labels},
};
use crate::{
    Out,
    generic::{
        labels::Labels,
        sheet::{Decimal, number_in},
    },
    load::{
        names::{LATENCY_BUCKETS, Results},
        repeats::Repeats,
    },
    number,
};

/// Keys of `[pairs]`.
pub(super) const OF_PAIRS: &[&str] = &["between", "begins", "keys"];
/// Prefix of a percentile of the latency in `results`, before the group with the number.
const PERCENTILE: &str = "percentile ";

/// One result of a line: `"latency_mean[{operation}]" = "{us} us"`.
#[derive(Debug)]
pub(super) struct ResultRule {
    goal: ResultGoal,
    figure: Figure,
    /// Which percentile of the latency it is, where it is one.
    percent: Option<Template>,
    /// Of what, where not of all.
    operation: Template,
}

/// Source of a result's value.
#[derive(Clone, Copy, Debug)]
enum Figure {
    Group(From),
    /// One by another.
    Ratio(From, From),
    Constant(f64),
    /// Sum over lines of the report.
    Sum,
}

impl Figure {
    /// Reads `{group} unit`, `{group} / {group} unit` and `sum`, and gives the text behind the groups.
    fn read<'t>(value: &'t str, groups: Groups<'_>) -> Result<(Figure, &'t str), String> {
        if value == "sum" {
            return Ok((Figure::Sum, ""));
        }
        let group = |text: &'t str| text.trim().strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let wrong = || format!("`{value}` is no figure: expected `{{group}}`, with a unit behind it");
        let (from, unit) = group(value).ok_or_else(wrong)?;
        let from = groups.find(from)?;
        match unit.trim().strip_prefix("/ ").and_then(group) {
            Some((by, unit)) => Ok((Figure::Ratio(from, groups.find(by)?), unit.trim())),
            None => Ok((Figure::Group(from), unit.trim())),
        }
    }
}

impl ResultRule {
    /// Reads the table `results` or `sums` of a `[[line]]`.
    pub(super) fn read_all(keys: Keys<'_, '_>, groups: Groups<'_>) -> Result<Vec<ResultRule>, Wrong> {
        let mut rules = Vec::new();
        // In the order of the file, which is that of the rows.
        let mut all: Vec<_> = keys.all().collect();
        all.sort_by_key(|(key, _)| key.at);
        for (key, value) in all {
            let wrong = |why| keys.source.wrong(value.span().start, format!("`{}`: {why}", key.text));
            let several = value.get_ref().as_array().map(|values| values.iter()).into_iter().flatten();
            let one = Some(value).filter(|value| !matches!(value.get_ref(), DeValue::Array(_)));
            for value in one.into_iter().chain(several) {
                let rule = match (value.get_ref().as_str(), number_of(value.get_ref())) {
                    (Some(text), _) => ResultRule::read(key.text, text, groups),
                    (None, Some(number)) => ResultRule::constant(key.text, number, groups),
                    _ => return Err(keys.wrong_type(key.text, value, "a text such as \"{us} us\", or a number")),
                };
                rules.push(rule.map_err(wrong)?);
            }
        }
        Ok(rules)
    }

    fn read(key: &str, value: &str, groups: Groups<'_>) -> Result<ResultRule, String> {
        let (figure, unit) = Figure::read(value, groups)?;
        ResultRule::of(key, figure, unit, groups)
    }

    fn constant(key: &str, number: f64, groups: Groups<'_>) -> Result<ResultRule, String> {
        ResultRule::of(key, Figure::Constant(number), "", groups)
    }

    fn of(key: &str, figure: Figure, unit: &str, groups: Groups<'_>) -> Result<ResultRule, String> {
        let (name, operation) = match key.split_once('[') {
            Some((name, operation)) => (name, operation.trim_end_matches(']')),
            None => (key, ""),
        };
        let percent = name.strip_prefix(PERCENTILE).map(|which| Template::read(which, groups)).transpose()?;
        let name = if percent.is_some() { "latency_max" } else { name };
        let operation = Template::read(operation, groups)?;
        Ok(ResultRule { goal: goal::result(name, unit)?, figure, percent, operation })
    }
}

/// A bucket of the latency: `bucket = { below = "{hi} s", count = "{n}" }`.
#[derive(Debug)]
pub(super) struct Bucket {
    below: From,
    goal: ResultGoal,
    count: From,
    /// The count is of all values that are not above, and not of those in the bucket.
    is_total: bool,
    labels: Vec<(String, Template)>,
}

/// Keys of `bucket`.
const OF_BUCKET: &[&str] = &["below", "count", "labels"];

impl Bucket {
    /// Reads `bucket` of a `[[line]]`, if it is there.
    pub(super) fn read(line: Keys<'_, '_>, groups: Groups<'_>) -> Result<Option<Bucket>, Wrong> {
        let Some(keys) = line.table("bucket", "bucket", OF_BUCKET)? else { return Ok(None) };
        let wrong = |why| keys.source.wrong(keys.at, format!("`bucket`: {why}"));
        let figure = |text| match Figure::read(text, groups)? {
            (Figure::Group(from), unit) => Ok((from, unit)),
            _ => Err(format!("`{text}` is no group, with a unit behind it")),
        };
        let (below, unit) = figure(keys.needed("below", "\"{ms} ms\"")?.text).map_err(wrong)?;
        let (count, total) = figure(keys.needed("count", "\"{count}\", or \"{count} total\"")?.text).map_err(wrong)?;
        let labels = match keys.table("labels", "labels", &[])? {
            Some(labels) => read_labels(labels, groups)?,
            None => Vec::new(),
        };
        let goal = goal::result("latency_max", unit).map_err(wrong)?;
        Ok(Some(Bucket { below, goal, count, is_total: total == "total", labels }))
    }
}

/// The reports of a text, whose results it writes: those of the second end in `#2`.
#[derive(Debug)]
pub(super) struct Runs {
    number: u32,
    written: bool,
    results: Results,
    text: String,
    /// How often each text came with which a report begins.
    repeats: Repeats,
    /// Sums over lines of the report so far.
    sums: Vec<(ResultGoal, String, f64)>,
    decimal: Decimal,
    /// Where the next bucket begins, and how many values are below.
    edge: (f64, f64),
}

impl Runs {
    pub(super) fn new(decimal: Decimal) -> Runs {
        Runs {
            number: 1,
            written: false,
            results: Results::default(),
            text: String::new(),
            repeats: Repeats::default(),
            sums: Vec::new(),
            decimal,
            edge: (0.0, 0.0),
        }
    }

    /// A report begins, unless nothing came since one began.
    pub(super) fn begin(&mut self, out: &mut Out<'_>) {
        self.end(out);
        if std::mem::take(&mut self.written) {
            self.number = self.number.saturating_add(1);
            self.results = Results::nth(self.number);
        }
    }

    /// The report of what a text names begins: another one where it came before.
    pub(super) fn begin_of<'v>(&mut self, name: &Template, get: impl Fn(From) -> Option<&'v str>, out: &mut Out<'_>) {
        if !name.has_group() {
            return self.begin(out);
        }
        self.end(out);
        name.fill(get, &mut self.text);
        self.results = self.repeats.next(&self.text);
    }

    /// A report ends: what was added up is written.
    pub(super) fn end(&mut self, out: &mut Out<'_>) {
        self.edge = (0.0, 0.0);
        for (goal, operation, sum) in std::mem::take(&mut self.sums) {
            self.results.named(out, &goal.name, &operation, Some(sum), goal.unit, goal.better);
        }
    }

    /// A distribution begins.
    pub(super) fn begin_buckets(&mut self) {
        self.edge = (0.0, 0.0);
    }

    /// The figure of a rule in its unit; as an error a text that is none.
    fn figure<'v>(
        &mut self,
        rule: &ResultRule,
        get: &impl Fn(From) -> Option<&'v str>,
    ) -> Result<Option<f64>, &'v str> {
        let text = |from: From| get(from).map(str::trim).filter(|text| !text.is_empty());
        match rule.figure {
            Figure::Constant(value) => Ok(Some(value)),
            Figure::Sum => {
                let of = |(goal, operation, _): &(ResultGoal, String, f64)| {
                    goal.name == rule.goal.name && *operation == self.text
                };
                Ok(self.sums.iter().position(of).map(|at| self.sums.remove(at).2))
            }
            Figure::Group(from) => match text(from) {
                Some(found) => match rule.goal.of(&plain(found, self.decimal)) {
                    None if is_none(found) => Ok(None),
                    value => value.map(Some).ok_or(found),
                },
                None => Ok(None),
            },
            Figure::Ratio(from, by) => {
                let (Some(found), Some(by)) = (text(from), text(by)) else { return Ok(None) };
                let (value, by) = number_in(found, self.decimal).zip(number_in(by, self.decimal)).ok_or(found)?;
                Ok((by > 0.0).then(|| rule.goal.value(value / by)))
            }
        }
    }

    /// Writes a line's result; gives a text that is no figure, unless it marks a missing one.
    pub(super) fn write<'v>(
        &mut self,
        rule: &ResultRule,
        get: impl Fn(From) -> Option<&'v str>,
        out: &mut Out<'_>,
    ) -> Result<(), &'v str> {
        rule.operation.fill(&get, &mut self.text);
        let Some(value) = self.figure(rule, &get)? else { return Ok(()) };
        self.written = true;
        let Some(which) = &rule.percent else {
            self.results.named(out, &rule.goal.name, &self.text, Some(value), rule.goal.unit, rule.goal.better);
            return Ok(());
        };
        let operation = std::mem::take(&mut self.text);
        which.fill(&get, &mut self.text);
        let percent = number(&self.text).ok_or("")?;
        self.results.percentile(out, percent, &operation, value);
        Ok(())
    }

    /// Adds a line's figure to those of its report.
    pub(super) fn add<'v>(&mut self, rule: &ResultRule, get: impl Fn(From) -> Option<&'v str>) -> Result<(), &'v str> {
        rule.operation.fill(&get, &mut self.text);
        let Some(value) = self.figure(rule, &get)? else { return Ok(()) };
        self.written = true;
        let same = |(goal, operation, _): &&mut (ResultGoal, String, f64)| {
            goal.name == rule.goal.name && *operation == self.text
        };
        match self.sums.iter_mut().find(same) {
            Some((.., sum)) => *sum += value,
            None => self.sums.push((rule.goal.clone(), self.text.clone(), value)),
        }
        Ok(())
    }

    /// Writes a line's bucket; gives a text that is no figure.
    pub(super) fn bucket<'v>(
        &mut self,
        rule: &Bucket,
        get: impl Fn(From) -> Option<&'v str>,
        out: &mut Out<'_>,
    ) -> Result<(), &'v str> {
        let text = |from: From| get(from).map_or("", str::trim);
        let (below, count) = (text(rule.below), text(rule.count));
        let hi = rule.goal.of(&plain(below, self.decimal)).ok_or(below)?;
        let count = number_in(count, self.decimal).ok_or(count)?;
        let (lo, before) = self.edge;
        let inside = if rule.is_total { count - before } else { count };
        if inside > 0.0 && hi > lo {
            let mut labels = Labels::default();
            for (name, label) in &rule.labels {
                if label.fill(&get, &mut self.text) {
                    labels.push(name, &self.text);
                }
            }
            out.bucket(None, None, LATENCY_BUCKETS, labels.text(), lo, hi, "ms", inside);
            self.edge.1 = before + inside;
        }
        self.edge.0 = hi;
        Ok(())
    }

    /// Takes a pair of a key and a value; gives why it cannot.
    pub(super) fn pair(&mut self, pairs: &Pairs, line: &str, out: &mut Out<'_>) -> Result<(), &'static str> {
        let (key, value) = pairs.cut(line).ok_or("neither a pattern nor a key and its value")?;
        let (known, goal) = pairs.find(key).ok_or("no key that is known")?;
        if pairs.begins.as_ref() == Some(known) {
            self.begin(out);
        }
        let Some(goal) = goal else { return Ok(()) };
        let value = match goal.of(&plain(value, self.decimal)) {
            None if is_none(value) => return Ok(()),
            value => value.ok_or("no number behind the key")?,
        };
        self.written = true;
        self.results.named(out, &goal.name, "", Some(value), goal.unit, goal.better);
        Ok(())
    }
}

/// A text that begins with a figure, without separators of thousands and with a point before its decimals: `13,132 ms` is `13132 ms`.
fn plain(text: &str, decimal: Decimal) -> Cow<'_, str> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || "+-.,".contains(c))).unwrap_or(text.len());
    let (head, rest) = text.split_at(end);
    let figure = head.trim_end_matches([',', '.']);
    let is_plain = !figure.contains(',') && (decimal == Decimal::Point || !figure.contains('.'));
    match number_in(figure, decimal).filter(|_| !is_plain) {
        Some(value) => format!("{value}{}{rest}", &head[figure.len()..]).into(),
        None => text.into(),
    }
}

/// Whether a text says that there is no figure: `NaN secs`.
fn is_none(text: &str) -> bool {
    let first = text.split(' ').next().unwrap_or_default();
    matches!(first, "NaN" | "nan" | "-nan" | "N/A" | "-")
}

/// The text after the keys of lines `key: value`.
#[derive(Debug)]
pub(super) struct Pairs {
    pub(super) between: String,
    /// The key with which a report begins.
    begins: Option<String>,
    /// None for what follows from others.
    keys: Vec<(String, Option<ResultGoal>)>,
}

impl Pairs {
    /// Reads `[pairs]`, if it is there.
    pub(super) fn read(top: &Keys<'_, '_>) -> Result<Option<Pairs>, Wrong> {
        let Some(keys) = top.table("pairs", "[pairs]", OF_PAIRS)? else { return Ok(None) };
        let Some(named) = keys.table("keys", "[pairs.keys]", &[])? else {
            return Err(keys.source.wrong(keys.at, "[pairs] has no [pairs.keys]: nothing would be read"));
        };
        let mut pairs = Pairs {
            between: keys.text("between")?.map_or(":", |said| said.text).to_owned(),
            begins: keys.text("begins")?.map(|said| said.text.to_owned()),
            keys: Vec::new(),
        };
        for (key, value) in named.all() {
            let Some(text) = value.get_ref().as_str() else {
                return Err(named.wrong_type(key.text, value, "a text such as \"result.latency_mean s\""));
            };
            let wrong = |why: String| keys.source.wrong(value.span().start, format!("`{}`: {why}", key.text));
            pairs.keys.push((
                key.text.to_owned(),
                match Goal::read(text).map_err(wrong)? {
                    Goal::Result(result) => Some(result),
                    Goal::Skip => None,
                    _ => return Err(wrong("pairs are results, `result.name UNIT`, or `skip`".to_owned())),
                },
            ));
        }
        if let Some(begins) = &pairs.begins
            && !pairs.keys.iter().any(|(key, _)| key == begins)
        {
            return Err(keys.source.wrong(keys.at, format!("`begins`: [pairs.keys] has no `{begins}`")));
        }
        Ok(Some(pairs))
    }

    /// Key and value of a line, as text prints them and as a line of JSON does.
    pub(super) fn cut<'l>(&self, line: &'l str) -> Option<(&'l str, &'l str)> {
        Pairs::cut_at(line, &self.between)
    }

    /// The same at any separator.
    pub(super) fn cut_at<'l>(line: &'l str, between: &str) -> Option<(&'l str, &'l str)> {
        let (key, value) = line.trim_start_matches(['{', ' ', '\t']).split_once(between)?;
        Some((key.trim().trim_matches('"'), value.trim().trim_end_matches(',')))
    }

    /// Meaning of a key, whatever its case and whether its words are joined by `_`.
    pub(super) fn find(&self, key: &str) -> Option<&(String, Option<ResultGoal>)> {
        self.keys.iter().find(|(known, _)| same_key(known, key))
    }
}

/// Whether two keys are the same, but for case and `_` for a blank.
pub(super) fn same_key(a: &str, b: &str) -> bool {
    let plain = |byte: u8| if byte == b'_' { b' ' } else { byte.to_ascii_lowercase() };
    a.len() == b.len() && a.bytes().zip(b.bytes()).all(|(a, b)| plain(a) == plain(b))
}
