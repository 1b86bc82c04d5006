//! Sort order of the list of runs.

use std::{cmp::Ordering, collections::BTreeMap, str::FromStr};

use fenxi_query::{Engine, Scope};
use fenxi_store::Summary;

use super::ApiError;

pub(super) const ABOUT: &str = "Column to sort by: start, name, kind, host, duration, command, status, bytes, tag:KEY, \
                                param:KEY or result:NAME; the latest first without it";

/// Sort key of a list.
pub(super) enum Key {
    Start,
    Name,
    Kind,
    Host,
    Duration,
    Command,
    Status,
    Bytes,
    Tag(String),
    Param(String),
    Result(String),
}

impl FromStr for Key {
    type Err = ApiError;

    fn from_str(text: &str) -> Result<Key, ApiError> {
        Ok(match text.split_once(':') {
            Some(("tag", key)) => Key::Tag(key.to_owned()),
            Some(("param", key)) => Key::Param(key.to_owned()),
            Some(("result", name)) => Key::Result(name.to_owned()),
            _ => match text {
                "start" => Key::Start,
                "name" => Key::Name,
                "kind" => Key::Kind,
                "host" | "hosts" => Key::Host,
                "duration" | "duration_s" => Key::Duration,
                "command" => Key::Command,
                "status" | "exit_status" => Key::Status,
                "bytes" => Key::Bytes,
                _ => return Err(ApiError::Wrong(format!("`sort`: `{text}` is no column to sort by"))),
            },
        })
    }
}

/// A value to sort by; what is missing comes last, whatever the direction.
#[derive(Clone, PartialEq)]
enum Value {
    Number(f64),
    Text(String),
    Missing,
}

impl Value {
    fn text(text: Option<&String>) -> Value {
        match text {
            None => Value::Missing,
            Some(text) => text.parse().map_or_else(|_| Value::Text(text.to_lowercase()), Value::Number),
        }
    }

    fn cmp(&self, other: &Value, desc: bool) -> Ordering {
        let order = match (self, other) {
            (Value::Missing, Value::Missing) => return Ordering::Equal,
            (Value::Missing, _) => return Ordering::Greater,
            (_, Value::Missing) => return Ordering::Less,
            (Value::Number(a), Value::Number(b)) => a.total_cmp(b),
            (Value::Text(a), Value::Text(b)) => a.cmp(b),
            (Value::Number(_), Value::Text(_)) => Ordering::Less,
            (Value::Text(_), Value::Number(_)) => Ordering::Greater,
        };
        if desc { order.reverse() } else { order }
    }
}

/// Sorts runs; those that are equal stay the latest first.
pub(super) fn sort(engine: &Engine, runs: &mut Vec<Summary>, key: &Key, desc: bool) -> Result<(), ApiError> {
    let results = match key {
        Key::Result(name) => results(engine, name, runs)?,
        _ => BTreeMap::new(),
    };
    let value = |s: &Summary| match key {
        Key::Start => Value::Number(s.start.0 as f64),
        Key::Name => Value::text(s.labels.name.as_ref()),
        Key::Kind => Value::text(Some(&s.kind)),
        Key::Host => Value::text(s.hosts.first()),
        Key::Duration => Value::Number(s.end.seconds_since(s.start)),
        Key::Command => Value::text(Some(&s.command.join(" ")).filter(|c| !c.is_empty())),
        Key::Status => s.exit_status.map_or(Value::Missing, |v| Value::Number(f64::from(v))),
        Key::Bytes => Value::Number(s.bytes as f64),
        Key::Tag(key) => Value::text(s.labels.tags.get(key)),
        Key::Param(key) => Value::text(s.params.get(key)),
        Key::Result(_) => results.get(s.id.as_str()).map_or(Value::Missing, |v| Value::Number(*v)),
    };
    let mut keyed: Vec<(Value, Summary)> = std::mem::take(runs).into_iter().map(|s| (value(&s), s)).collect();
    keyed.sort_by(|a, b| a.0.cmp(&b.0, desc));
    runs.extend(keyed.into_iter().map(|(_, s)| s));
    Ok(())
}

/// The result called `name` of each run that has it.
fn results(engine: &Engine, name: &str, runs: &[Summary]) -> Result<BTreeMap<String, f64>, ApiError> {
    let holding = runs.iter().filter(|s| s.tables.iter().any(|(table, _, _)| table == "result"));
    let scope = Scope::of(holding.map(|s| s.id.clone()));
    let name = ("name", fenxi_query::Value::Text(name.to_owned()));
    let sql = "SELECT run, any_value(value) AS value FROM result WHERE name = $name GROUP BY run";
    let answer = engine.ours(sql, &[name], &scope)?;
    let pairs = answer.strings("run").into_iter().zip(answer.f64s("value"));
    Ok(pairs.filter_map(|(run, value)| Some((run?, value?))).collect())
}

#[cfg(test)]
mod tests {
    use super::Value;

    #[test]
    fn numbers_sort_as_numbers_and_what_is_missing_comes_last() {
        let words = [Some("10"), None, Some("9"), Some("b"), Some("A")].map(|w| w.map(str::to_owned));
        let sorted = |desc: bool| {
            let mut values: Vec<Value> = words.iter().map(|w| Value::text(w.as_ref())).collect();
            values.sort_by(|a, b| a.cmp(b, desc));
            let word = |v: &Value| match v {
                Value::Number(n) => n.to_string(),
                Value::Text(t) => t.clone(),
                Value::Missing => "-".to_owned(),
            };
            values.iter().map(word).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(sorted(false), "9 10 a b -");
        assert_eq!(sorted(true), "b a 10 9 -");
    }
}
