//! JSON lines: one object a line, read as a sheet whose columns are the paths of the values.
//!
//! Only lines with a time are claimed: the meaning of other objects is unknown. Words label a
//! row, numbers and truths are metrics, and a mapping file can say more.

use std::fmt::Write;

use rustc_hash::FxHashMap;
use serde_json::Value;

use super::{
    sheet::{Column, Decimal, Mapping, Role, Sheet, Target, mapping_of},
    when::When,
};
use crate::{Family, Format, Head, Input, Out, Sure};

/// Importer for JSON Lines (NDJSON).
pub static FORMAT: Format = Format {
    name: "json-lines",
    summary: "JSON Lines (NDJSON): one object per line with a time; a mapping file defines its values",
    family: Family::Generic,
    tables: fenxi_model::TABLES,
    example: r#"{"time": "2026-11-21T14:00:00Z", "queue": 3, "state": "busy"}
{"time": "2026-11-21T14:00:10Z", "queue": 4, "state": "busy"}
"#,
    sniff,
    read,
};

/// How deep a value may be nested, and how long a list may be, to be read.
const MAX_DEPTH: usize = 8;
const MAX_LIST: usize = 64;
/// Columns of one sheet; values beyond it are noted.
const MAX_COLUMNS: usize = 4096;

fn sniff(head: &Head<'_>) -> Sure {
    let whole = head.text.rfind('\n').map_or("", |end| &head.text[..end]);
    let (mut n, mut timed, mut numbers) = (0, 0, 0);
    for line in whole.lines().map(str::trim).filter(|l| !l.is_empty()).take(20) {
        let Ok(Value::Object(object)) = serde_json::from_str(line) else { return Sure::No };
        n += 1;
        timed += u32::from(object.iter().any(|(key, value)| time_of(key, value).is_some()));
        numbers += u32::from(object.values().any(Value::is_number));
    }
    Sure::Perhaps.when(n >= 2 && timed == n && numbers > 0)
}

/// How a value encodes the time, if it does.
fn time_of(key: &str, value: &Value) -> Option<When> {
    match value {
        Value::String(text) => When::detect(key, text),
        Value::Number(number) => When::detect(key, &number.to_string()),
        _ => None,
    }
}

struct Reader {
    mapping: Mapping,
    sheet: Sheet,
    places: FxHashMap<String, usize>,
    /// The cells of the row at hand, by column.
    cells: Vec<String>,
    path: String,
    beyond: bool,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let is_given = out.hints().mapping.is_some();
    let mapping = if is_given { Mapping::of(out) } else { mapping_of(&keys(&input.head()), out) };
    let sheet = Sheet::new(&mapping, Decimal::Point, out);
    let mut reader =
        Reader { mapping, sheet, places: FxHashMap::default(), cells: Vec::new(), path: String::new(), beyond: false };
    while let Some(line) = input.line() {
        let line = line.trim().trim_end_matches(',');
        if line.is_empty() {
            continue;
        }
        match serde_json::from_str::<Value>(line) {
            Ok(Value::Object(object)) => reader.object(input.number(), object, out),
            Ok(_) | Err(_) => out.unknown(input.number(), input.text(), "no JSON object"),
        }
    }
    reader.sheet.release(out);
}

/// The names in the first object.
fn keys(head: &str) -> Vec<String> {
    let first = head.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
    match serde_json::from_str(first.trim_end_matches(',')) {
        Ok(Value::Object(object)) => object.into_iter().map(|(key, _)| key).collect(),
        _ => Vec::new(),
    }
}

impl Reader {
    fn object(&mut self, line: u64, object: serde_json::Map<String, Value>, out: &mut Out<'_>) {
        for cell in &mut self.cells {
            cell.clear();
        }
        self.path.clear();
        for (key, value) in &object {
            self.value(key, value, 0);
        }
        if std::mem::take(&mut self.beyond) {
            out.unknown(line, "", &format!("more than {MAX_COLUMNS} values, or nested too deeply"));
        }
        self.sheet.row(line, &self.cells, out);
    }

    fn value(&mut self, key: &str, value: &Value, depth: usize) {
        let begin = self.path.len();
        if begin > 0 {
            self.path.push('.');
        }
        self.path.push_str(key);
        match value {
            Value::Null => {}
            Value::Object(object) if depth < MAX_DEPTH => {
                for (key, value) in object {
                    self.value(key, value, depth + 1);
                }
            }
            Value::Array(list) if depth < MAX_DEPTH && list.len() <= MAX_LIST => {
                for (i, value) in list.iter().enumerate() {
                    self.value(&i.to_string(), value, depth + 1);
                }
            }
            Value::Object(_) | Value::Array(_) => self.beyond = true,
            Value::Bool(_) | Value::Number(_) | Value::String(_) => match self.column(value) {
                Some(place) => {
                    // Writing to a string cannot fail.
                    let _ = match value {
                        Value::String(text) => write!(self.cells[place], "{text}"),
                        other => write!(self.cells[place], "{other}"),
                    };
                }
                None => self.beyond = true,
            },
        }
        self.path.truncate(begin);
    }

    /// The column of the path at hand, made when it comes for the first time.
    fn column(&mut self, value: &Value) -> Option<usize> {
        if let Some(place) = self.places.get(&self.path) {
            return Some(*place);
        }
        if self.places.len() >= MAX_COLUMNS {
            return None;
        }
        let name = self.path.clone();
        let mapped = self.mapping.role(&name);
        let free = self.sheet.when.is_none() || self.mapping.when().is_some();
        let timed = !self.sheet.columns().iter().any(|c| matches!(c.role, Role::Time));
        let role = match mapped {
            Some(Role::Time) => {
                if self.sheet.when.is_none() {
                    self.sheet.when = time_of("time", value);
                }
                Role::Time
            }
            Some(role) => role,
            None if timed && free && !self.mapping.names_time() && time_of(&name, value).is_some() => {
                self.sheet.when = self.mapping.when().or_else(|| time_of(&name, value));
                Role::Time
            }
            None if matches!(name.as_str(), "host" | "hostname") => Role::Host,
            None if value.is_string() => Role::Label(name.clone()),
            None => Role::Values(vec![Target::metric(&name)]),
        };
        let place = self.sheet.columns().len();
        self.sheet.add(Column { name: name.clone(), role });
        self.places.insert(name, place);
        self.cells.push(String::new());
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::read;

    #[test]
    fn objects_of_unknown_shape_are_not_claimed() {
        let claims = |text: &str| (FORMAT.sniff)(&Head { text });
        assert_eq!(claims(FORMAT.example), Sure::Perhaps);
        for text in [
            "",
            "{}\n{}\n",
            "{\"a\": 1}\n{\"a\": 2}\n",
            "{\n\"time\": 1\n}\n",
            "[1]\n[2]\n",
            "{\"time\": 1, \"a\": 2}\n",
        ] {
            assert_eq!(claims(text), Sure::No, "{text}");
        }
    }

    #[test]
    fn nested_values_and_new_keys_are_read() {
        let text = "{\"ts\": 1700000000, \"cpu\": {\"usr\": 1.5, \"list\": [1, null, true]}, \"host\": \"db1\"}\n\
            {\"ts\": 1700000005, \"more\": 2, \"kind\": \"a,b\"},\nnot json\n";
        let read = read(&FORMAT, text.as_bytes());
        assert_eq!(read.tally.notes, 1, "{}", read.text);
        for row in ["db1\tcpu.usr\t\t1.5", "db1\tcpu.list.0\t\t1", "db1\tcpu.list.2\t\t1", "more\tkind=a;b\t2"] {
            assert!(read.text.contains(row), "{row}\n{}", read.text);
        }
    }
}
