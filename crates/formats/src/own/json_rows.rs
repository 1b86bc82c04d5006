//! Rows as a store's programs print them: a JSON object a line, with a table's name and values of its columns.

use fenxi_model::{
    Micros, Shape, TABLES, Table, Type,
    catalog::{DT, HOST, T, note},
};
use serde_json::{Map, Value};

use super::document::perhaps;
use crate::{
    Out,
    generic::{
        labels::Labels,
        when::{Times, When},
    },
};

/// Takes what a program prints, line by line.
#[derive(Debug)]
pub struct JsonRows {
    lines: u64,
    wrong: u64,
    times: Times,
    labels: Labels,
}

impl JsonRows {
    /// None yet; times without a zone are in that of the hints.
    pub fn new(out: &Out<'_>) -> JsonRows {
        JsonRows { lines: 0, wrong: 0, times: Times::in_zone(out, None), labels: Labels::default() }
    }

    /// Lines that were no row.
    pub fn wrong(&self) -> u64 {
        self.wrong
    }

    /// Takes a line: `{"table": "disk", "t": …, "dt": …, "host": …, "device": "sda", …}` is a row of `disk`,
    /// `{"note": "…", "line": 12}` something that could not be read, or was assumed. What is neither becomes a note.
    pub fn line(&mut self, line: &str, out: &mut Out<'_>) {
        self.lines += 1;
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        let taken = match serde_json::from_str::<Value>(line) {
            Ok(Value::Object(object)) => self.object(&object, out),
            Ok(_) => Err("no JSON object".to_owned()),
            Err(error) => Err(format!("no JSON ({error})")),
        };
        if let Err(why) = taken {
            self.wrong += 1;
            let quoted: String = line.chars().take(120).collect();
            out.note(None, &format!("line {} of the program's output: {why}: {quoted}", self.lines));
        }
    }

    fn object(&mut self, object: &Map<String, Value>, out: &mut Out<'_>) -> Result<(), String> {
        if let Some(said) = object.get("note") {
            let text = said.as_str().ok_or("`note` is no text")?;
            out.note(object.get("line").and_then(Value::as_u64), text);
            return Ok(());
        }
        let name = object.get("table").and_then(Value::as_str).ok_or("no `table` (nor `note`)")?;
        let near = || perhaps(name, TABLES.iter().map(|table| table.name));
        if name == note::TABLE.name {
            return Err("rows of `note` are written as `note` and `line`".to_owned());
        }
        let table = TABLES.iter().copied().find(|table| table.name == name);
        let table = table.ok_or_else(|| format!("there is no table `{name}`{}", near()))?;
        let t = match object.get("t") {
            None | Some(Value::Null) => None,
            Some(value) => Some(
                self.moment(value, out)
                    .ok_or("`t` is no time: expected seconds since 1970, or 2026-11-21T14:00:00Z")?,
            ),
        };
        if t.is_none() && matches!(table.shape, Shape::Series | Shape::Events) {
            return Err(format!("rows of `{name}` need a time `t`"));
        }
        let dt = match object.get("dt") {
            None | Some(Value::Null) => None,
            Some(value) => {
                let seconds = value.as_f64().filter(|s| *s > 0.0 && *s < 1e9);
                Some(seconds.ok_or("`dt` is no length of an interval: expected seconds, more than 0")?)
            }
        };
        let cells = self.cells(table, object)?;
        if let Some(host) = object.get("host").and_then(Value::as_str) {
            out.set_host(host);
        }
        let mut row = out.row(table, t, dt);
        for (place, value) in cells {
            match value {
                Filled::Number(number) if table.columns[place].ty == Type::I64 => row.i64(place, number as i64),
                Filled::Number(number) => row.f64(place, number),
                Filled::Text(text) => row.str(place, Some(text)),
            };
        }
        if let Some(place) = table.index_of("labels").filter(|_| !self.labels.text().is_empty()) {
            row.str(place, Some(self.labels.text()));
        }
        Ok(())
    }

    /// The cells of a row by column; an error before anything of the row is written.
    fn cells<'o>(
        &mut self,
        table: &'static Table,
        object: &'o Map<String, Value>,
    ) -> Result<Vec<(usize, Filled<'o>)>, String> {
        self.labels.cut(0);
        let mut cells = Vec::new();
        for (key, value) in object.iter().filter(|(key, value)| *key != "table" && !value.is_null()) {
            let Some(place) = table.index_of(key) else {
                return Err(format!(
                    "`{}` has no column `{key}`{}",
                    table.name,
                    perhaps(key, table.columns.iter().map(|c| c.name))
                ));
            };
            let filled = match (table.columns[place].ty, value) {
                _ if [T, DT].contains(&place) => continue,
                (Type::Label | Type::Text, Value::String(_)) if place == HOST => continue,
                (Type::F64, Value::Number(number)) => number.as_f64().map(Filled::Number),
                (Type::I64, Value::Number(number)) => number.as_i64().map(|n| Filled::Number(n as f64)),
                (Type::Label | Type::Text, Value::String(text)) if text.is_empty() => continue,
                (Type::Label | Type::Text, Value::String(text)) => Some(Filled::Text(text)),
                (Type::Label, Value::Object(labels)) if key == "labels" => {
                    for (name, value) in labels {
                        match value {
                            Value::String(text) => self.labels.push(name, text),
                            Value::Number(number) => self.labels.push(name, &number.to_string()),
                            _ => return Err(format!("label `{name}` is neither a text nor a number")),
                        }
                    }
                    continue;
                }
                _ => None,
            };
            let expected = || format!("`{key}` is of the wrong type: expected {}", table.columns[place].ty);
            cells.push((place, filled.ok_or_else(expected)?));
        }
        Ok(cells)
    }

    fn moment(&mut self, value: &Value, out: &mut Out<'_>) -> Option<Micros> {
        match value {
            // Beyond it the microseconds of a double are no longer times that anybody means.
            Value::Number(number) => {
                let seconds = number.as_f64().filter(|s| s.abs() < 1e11)?;
                Some(Micros((seconds * 1e6).round() as i64))
            }
            Value::String(text) => self.times.read(&When::Date, text, out),
            _ => None,
        }
    }
}

/// A value of a column.
#[derive(Clone, Copy, Debug)]
enum Filled<'o> {
    Number(f64),
    Text(&'o str),
}
