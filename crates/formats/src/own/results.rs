//! Results of a run by a description: figures of a pattern's groups, and pairs of a key and a value.

use super::{
    document::{Keys, Wrong},
    goal::{self, Goal, ResultGoal},
    value::{From, Groups, Template},
};
use crate::{Out, load::names::Results, number};

/// Keys of `[pairs]`.
pub(super) const OF_PAIRS: &[&str] = &["between", "begins", "keys"];
/// What a percentile of the latency is called in `results`, before the group with the number.
const PERCENTILE: &str = "percentile ";

/// One result of a line: `"latency_mean[{operation}]" = "{us} us"`.
#[derive(Debug)]
pub(super) struct ResultRule {
    goal: ResultGoal,
    from: From,
    /// Which percentile of the latency it is, where it is one.
    percent: Option<Template>,
    /// Of what, where not of all.
    operation: Template,
}

impl ResultRule {
    /// Reads the table `results` of a `[[line]]`.
    pub(super) fn read_all(keys: Keys<'_, '_>, groups: Groups<'_>) -> Result<Vec<ResultRule>, Wrong> {
        let mut rules = Vec::new();
        // In the order of the file, which is that of the rows.
        let mut all: Vec<_> = keys.all().collect();
        all.sort_by_key(|(key, _)| key.at);
        for (key, value) in all {
            let Some(text) = value.get_ref().as_str() else {
                return Err(keys.wrong_type(key.text, value, "a text such as \"{us} us\""));
            };
            let wrong = |why| keys.source.wrong(value.span().start, format!("`{}`: {why}", key.text));
            rules.push(ResultRule::read(key.text, text, groups).map_err(wrong)?);
        }
        Ok(rules)
    }

    fn read(key: &str, value: &str, groups: Groups<'_>) -> Result<ResultRule, String> {
        let (name, operation) = match key.split_once('[') {
            Some((name, operation)) => (name, operation.trim_end_matches(']')),
            None => (key, ""),
        };
        let (from, unit) = value
            .strip_prefix('{')
            .and_then(|rest| rest.split_once('}'))
            .ok_or_else(|| format!("`{value}` is no figure: expected `{{group}}`, with a unit behind it"))?;
        let percent = name.strip_prefix(PERCENTILE).map(|which| Template::read(which, groups)).transpose()?;
        let name = if percent.is_some() { "latency_max" } else { name };
        Ok(ResultRule {
            goal: goal::result(name, unit.trim())?,
            from: groups.find(from)?,
            percent,
            operation: Template::read(operation, groups)?,
        })
    }
}

/// The reports of a text, whose results it writes: those of the second end in `#2`.
#[derive(Debug)]
pub(super) struct Runs {
    number: u32,
    written: bool,
    results: Results,
    text: String,
}

impl Runs {
    pub(super) fn new() -> Runs {
        Runs { number: 1, written: false, results: Results::default(), text: String::new() }
    }

    /// A report begins, unless nothing came since one began.
    pub(super) fn begin(&mut self) {
        if std::mem::take(&mut self.written) {
            self.number = self.number.saturating_add(1);
            self.results = Results::nth(self.number);
        }
    }

    /// Writes a line's result; gives a text that is no figure, unless it marks a missing one.
    pub(super) fn write<'v>(
        &mut self,
        rule: &ResultRule,
        get: impl Fn(From) -> Option<&'v str>,
        out: &mut Out<'_>,
    ) -> Result<(), &'v str> {
        let Some(text) = get(rule.from).map(str::trim).filter(|text| !text.is_empty()) else { return Ok(()) };
        let value = rule.goal.of(text).ok_or(text)?;
        let percent = rule.percent.as_ref().map(|which| {
            which.fill(&get, &mut self.text);
            number(&self.text).ok_or(text)
        });
        let percent = percent.transpose()?;
        rule.operation.fill(&get, &mut self.text);
        self.written = true;
        match percent {
            Some(percent) => {
                self.results.percentile(out, percent, &self.text, value);
            }
            None => {
                self.results.named(out, &rule.goal.name, &self.text, Some(value), rule.goal.unit, rule.goal.better);
            }
        }
        Ok(())
    }

    /// Takes a pair of a key and a value; gives why it cannot.
    pub(super) fn pair(&mut self, pairs: &Pairs, line: &str, out: &mut Out<'_>) -> Result<(), &'static str> {
        let (key, value) = pairs.cut(line).ok_or("neither a pattern nor a key and its value")?;
        let (known, goal) = pairs.find(key).ok_or("no key that is known")?;
        if pairs.begins.as_ref() == Some(known) {
            self.begin();
        }
        let Some(goal) = goal else { return Ok(()) };
        let value = goal.of(value).ok_or("no number behind the key")?;
        self.written = true;
        self.results.named(out, &goal.name, "", Some(value), goal.unit, goal.better);
        Ok(())
    }
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

    /// What a key is, whatever its case and whether its words are joined by `_`.
    pub(super) fn find(&self, key: &str) -> Option<&(String, Option<ResultGoal>)> {
        self.keys.iter().find(|(known, _)| same_key(known, key))
    }
}

/// Whether two keys are the same, but for case and `_` for a blank.
pub(super) fn same_key(a: &str, b: &str) -> bool {
    let plain = |byte: u8| if byte == b'_' { b' ' } else { byte.to_ascii_lowercase() };
    a.len() == b.len() && a.bytes().zip(b.bytes()).all(|(a, b)| plain(a) == plain(b))
}
