//! Documents of JSON: rows of a list, lines, or one object.

use serde_json::{Map, Value};

use super::{Sketch, key, may_be, quoted, slug, unique};
use crate::{civil_date, json::object};

/// How deep rows and values are looked for.
const DEEPEST: usize = 4;
/// Columns of one draft.
const MOST: usize = 60;
/// The longest piece of a document that is an example.
const EXAMPLE: usize = 4_000;

/// `[json]` for a text that is JSON as a whole, or line by line.
pub(super) fn sketch(lines: &[&str]) -> Option<Sketch> {
    let first = lines.iter().position(|line| !line.trim().is_empty())?;
    let (rows, row, example) = match object(lines[first]) {
        Some(object) => {
            let (rows, row) = rows_of(&Value::Object(object), 0)?;
            (rows, row, vec![lines[first].to_owned()])
        }
        None => {
            let text = lines[first..].join("\n");
            let document: Value = serde_json::from_str(&text).ok()?;
            let (rows, row) = rows_of(&document, 0)?;
            let short = if text.len() <= EXAMPLE { text } else { serde_json::to_string(&cut(&document)).ok()? };
            (rows, row, short.lines().map(str::to_owned).collect())
        }
    };
    let mut columns = Vec::new();
    gather(&row, &mut String::new(), 0, &mut columns);
    columns.truncate(MOST);
    let keys: Vec<String> = rows.iter().chain(row.keys()).take(4).map(|key| quoted(&format!("\"{key}\""))).collect();
    let mut rest = String::from("\n[json]\n");
    if !rows.is_empty() {
        rest.push_str(&format!("rows = {}\n", quoted(&rows.join("."))));
    }
    let time = columns.iter().find_map(|(path, value)| Some((path.clone(), time_of(path, value)?)));
    if let Some((_, form)) = &time {
        rest.push_str(&format!("time = {}    # ? how it is written\n", quoted(form)));
    }
    rest.push_str("\n# ? Numbers that are not named here become metrics, called by their path; `result.name` is a result of the run.\n[json.columns]\n");
    let mut labels = std::collections::BTreeSet::new();
    for (path, value) in &columns {
        let is_time = time.as_ref().is_some_and(|(of, _)| of == path);
        let (goal, comment) = match value {
            _ if is_time => ("time".to_owned(), "the time".to_owned()),
            Value::String(text) if text.chars().any(char::is_alphabetic) => (
                format!("label.{}", unique(slug(path), &mut labels)),
                format!("? {}: a label, or what the row is of", shown(text)),
            ),
            value => {
                let may = may_be(path.rsplit('.').next().unwrap_or(path));
                let may = if may.is_empty() { String::new() } else { format!("; {}?", may.join(" or ")) };
                ("metric".to_owned(), format!("? {}: its unit{may}", shown(&value.to_string())))
            }
        };
        rest.push_str(&format!("{} = {}    # {comment}\n", key(path), quoted(&goal)));
    }
    Some(Sketch { kind: "JSON", recognise: format!("has = [{}]\n", keys.join(", ")), rest, example })
}

fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(40).collect()
}

/// The path of the first list of objects, and its first object; of a document without one, itself.
fn rows_of(value: &Value, depth: usize) -> Option<(Vec<String>, Map<String, Value>)> {
    let list = |value: &Value| match value {
        Value::Array(list) => list.first().and_then(Value::as_object).cloned(),
        _ => None,
    };
    if let Some(row) = list(value) {
        return Some((Vec::new(), row));
    }
    let object = value.as_object()?;
    if let Some((key, row)) = object.iter().find_map(|(key, value)| Some((key, list(value)?))) {
        return Some((vec![key.clone()], row));
    }
    let below = object.iter().filter(|_| depth < DEEPEST).find_map(|(key, value)| {
        let (mut path, row) = rows_of(value, depth + 1).filter(|(path, _)| !path.is_empty())?;
        path.insert(0, key.clone());
        Some((path, row))
    });
    below.or_else(|| (depth == 0).then(|| (Vec::new(), object.clone())))
}

/// A document with the first two of each list.
fn cut(value: &Value) -> Value {
    match value {
        Value::Array(list) => list.iter().take(2).map(cut).collect(),
        Value::Object(object) => Value::Object(object.iter().map(|(key, value)| (key.clone(), cut(value))).collect()),
        other => other.clone(),
    }
}

/// The values of a row, by their paths.
fn gather(row: &Map<String, Value>, path: &mut String, depth: usize, columns: &mut Vec<(String, Value)>) {
    for (key, value) in row {
        let length = path.len();
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(key);
        match value {
            Value::Object(below) if depth < DEEPEST => gather(below, path, depth + 1, columns),
            Value::String(_) | Value::Number(_) => columns.push((path.clone(), value.clone())),
            _ => {}
        }
        path.truncate(length);
    }
}

/// How a value is written that is a time, by its name and its size.
fn time_of(path: &str, value: &Value) -> Option<&'static str> {
    let name = path.rsplit('.').next().unwrap_or(path).to_ascii_lowercase();
    if !["time", "timestamp", "ts", "date", "at", "@timestamp", "datetime"].contains(&name.as_str()) {
        return None;
    }
    match value {
        Value::String(text) => text.split(['T', ' ']).next().and_then(civil_date).map(|_| "iso"),
        value => match value.as_f64()? {
            n if n >= 5e17 => Some("epoch_ns"),
            n if n >= 5e14 => Some("epoch_us"),
            n if n >= 5e11 => Some("epoch_ms"),
            n if n >= 5e8 => Some("epoch_s"),
            _ => None,
        },
    }
}
