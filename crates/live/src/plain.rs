//! JSON Lines and CSV output of rows.

use std::fmt::Write;

use fenxi_model::{
    Table, TableRows, Type,
    catalog::{DT, HOST, T},
};
use serde_json::{Map, Value, json};

use crate::{Frame, View};

/// Every row as one JSON object a line: `table`, then each column that has a value, by its name in the
/// catalogue; times as ISO 8601. Rows since boot have `"since_boot": true`.
#[derive(Debug)]
pub struct Json {
    tables: Vec<&'static Table>,
}

impl Json {
    /// Shows the rows of `tables`.
    pub fn new(tables: &[&'static Table]) -> Json {
        Json { tables: tables.to_vec() }
    }
}

impl View for Json {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut String) {
        for rows in chosen(frame, &self.tables) {
            for row in 0..rows.n_rows() {
                let mut object = Map::new();
                object.insert("table".to_owned(), rows.table().name.into());
                if frame.since_boot {
                    object.insert("since_boot".to_owned(), true.into());
                }
                for (place, column) in rows.table().columns.iter().enumerate() {
                    if let Some(value) = value(rows, row, place) {
                        object.insert(column.name.to_owned(), value);
                    }
                }
                let _ = writeln!(out, "{}", Value::Object(object));
            }
        }
    }
}

fn value(rows: &TableRows, row: usize, place: usize) -> Option<Value> {
    match rows.table().columns[place].ty {
        Type::F64 => rows.f64(row, place).map(|v| json!(v)),
        Type::I64 => rows.i64(row, place).map(|v| json!(v)),
        Type::Time => rows.micros(row, place).map(|t| t.iso().into()),
        Type::Label | Type::Text => rows.str(row, place).map(Value::from),
    }
}

/// The rows of one table as comma-separated values with every column of the catalogue; NULL is empty.
#[derive(Debug)]
pub struct Csv {
    table: &'static Table,
    begun: bool,
}

impl Csv {
    /// Shows the rows of `table`.
    pub fn new(table: &'static Table) -> Csv {
        Csv { table, begun: false }
    }
}

impl View for Csv {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut String) {
        if !self.begun {
            self.begun = true;
            let names: Vec<_> = self.table.columns.iter().map(|c| c.name).collect();
            let _ = writeln!(out, "{}", names.join(","));
        }
        // Averages since boot are no sample: they would spoil every sum over the column.
        if frame.since_boot {
            return;
        }
        for rows in chosen(frame, &[self.table]) {
            for row in 0..rows.n_rows() {
                for place in 0..self.table.columns.len() {
                    let comma = if place > 0 { "," } else { "" };
                    let _ = write!(out, "{comma}{}", cell(rows, row, place));
                }
                out.push('\n');
            }
        }
    }
}

fn cell(rows: &TableRows, row: usize, place: usize) -> String {
    match value(rows, row, place) {
        None => String::new(),
        Some(Value::String(text)) if text.contains(['"', ',', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Some(Value::String(text)) => text,
        Some(value) => value.to_string(),
    }
}

fn chosen<'a>(frame: &Frame<'a>, tables: &[&'static Table]) -> impl Iterator<Item = &'a TableRows> {
    let ids: Vec<_> = tables.iter().map(|t| t.id).collect();
    frame.rows.tables().filter(move |rows| ids.contains(&rows.table().id))
}

/// The first columns of every table are when and where, which every view may rely on.
const _: () = assert!(T == 0 && DT == 1 && HOST == 2);

#[cfg(test)]
mod tests {
    use fenxi_model::{Micros, Rows, catalog::fs};

    use super::*;

    #[test]
    fn rows_are_shown_with_all_that_they_say_and_nothing_else() {
        let mut rows = Rows::new("h");
        rows.row(&fs::TABLE, Micros(1_000_000), 2.0).str(fs::mount, "/a,\"b\"");
        let frame = Frame { t: Micros(1_000_000), dt: 2.0, since_boot: false, rows: &rows };
        let mut out = String::new();
        Json::new(&[&fs::TABLE]).frame(&frame, &mut out);
        let line: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(line["mount"], "/a,\"b\"");
        assert_eq!(line["dt"], 2.0);
        assert_eq!(line.as_object().unwrap().len(), 5, "{out}");
        let mut csv = Csv::new(&fs::TABLE);
        out.clear();
        csv.frame(&frame, &mut out);
        let lines: Vec<_> = out.lines().collect();
        assert_eq!(lines[0].split(',').count(), fs::TABLE.columns.len());
        assert!(lines[1].starts_with("1970-01-01T00:00:01") && lines[1].contains(",2.0,h,\"/a,\"\"b\"\"\","), "{out}");
        csv.frame(&Frame { since_boot: true, ..frame }, &mut out);
        assert_eq!(out.lines().count(), 2);
    }
}
