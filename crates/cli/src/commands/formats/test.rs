//! `fenxi list formats test`: what a format makes of a file, without keeping anything.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context;
use clap::Args;
use fenxi_formats::{Formats, Head, Hints, Input, Out, Tally, foreign};
use fenxi_ingest::{Content, UnpackBudget, collect};
use fenxi_model::{Rows, TableRows, Type, catalog::note, visible};
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use crate::{
    formats,
    options::{Global, JsonArgs},
    print,
    progress::plural,
    stop::Stop,
    stores,
};

/// Rows of one table that are printed; the others are counted.
const SHOWN: usize = 10;

/// `fenxi list formats test`
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  fenxi list formats test poolstat pool.log")]
pub struct TestArgs {
    /// Format to try
    #[arg(value_name = "FORMAT")]
    pub name: String,
    /// File to read, compressed or not
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// Reads the file with the format and prints the result.
pub fn run(global: &Global, args: &TestArgs) -> anyhow::Result<ExitCode> {
    let stop = Stop::on_interrupt();
    let known = match stores::open_as_it_is(global) {
        Ok(store) => formats::of_store(&store, &stop),
        Err(_) => Formats::default(),
    };
    let format = formats::named(&known, &args.name)?;
    let stopped = || stop.asked();
    let cannot = || format!("cannot read {}", args.file.display());
    for source in collect(&args.file, &mut UnpackBudget::until(&stopped)).with_context(cannot)? {
        anyhow::ensure!(!matches!(source.content, Content::Stdin(_)), "give a file: standard input cannot be tried");
        let mut input = Input::new(source.content.unpacked().with_context(cannot)?);
        if let Some(foreign) = foreign(input.head_bytes()) {
            anyhow::bail!("{} is {}, no text", source.name, foreign.what);
        }
        let found = known.detect(&Head { text: &input.head() }).map(|format| format.name());
        let hints = Hints {
            default_host: source.host.clone().unwrap_or_else(|| "unknown".to_owned()),
            zone: TimeZone::system(),
            modified: source.modified,
            ..Hints::none(&source.name)
        };
        let mut shown = Shown { json: args.form.is_json(), tables: Vec::new(), lines: String::new() };
        let tally = {
            let mut out = Out::new(format.name(), hints, |rows, since_boot| shown.take(rows, since_boot));
            format.read(&mut input, &mut out);
            out.finish()
        };
        anyhow::ensure!(!stop.asked(), "interrupted");
        if args.form.is_json() {
            let summary = json!({
                "file": source.name, "format": format.name(), "recognised_as": found, "rows": tally.rows(),
                "notes": tally.notes, "assumptions": tally.assumptions,
            });
            print::json(&format!("{}{summary}\n", shown.lines))?;
        } else {
            print::text(&format!("{}{}", shown.text(), verdict(&source.name, format.name(), found, &tally)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What it comes to: how the file would be recognised, and how much of it was read.
fn verdict(file: &str, name: &str, found: Option<&str>, tally: &Tally) -> String {
    let recognised = match found {
        Some(found) if found == name => "recognised by its content".to_owned(),
        Some(other) => format!("`fenxi import` would read it as {other}; `--format {name}` reads it so"),
        None => format!("not recognised by its content; `fenxi import --format {name}` reads it"),
    };
    let notes = match (tally.notes, tally.assumptions) {
        (0, 0) => "all of it was read".to_owned(),
        (0, assumed) => format!("all of it was read; {}", plural(assumed, "assumption")),
        (notes, _) => format!("{} on what could not be read", plural(notes, "note")),
    };
    let file = visible(file);
    format!("{file} as {name}: {}, {notes}\n{recognised}\n", plural(tally.rows(), "row"))
}

/// Rows as they are printed.
struct Shown {
    json: bool,
    tables: Vec<Printed>,
    /// With JSON, all of them.
    lines: String,
}

/// The first rows of a table.
struct Printed {
    name: String,
    columns: Vec<&'static str>,
    rows: Vec<Vec<Value>>,
    more: usize,
}

impl Shown {
    fn take(&mut self, rows: &mut Rows, since_boot: bool) {
        for table in rows.tables() {
            let columns = table.table().columns;
            let name = format!("{}{}", if since_boot { "boot." } else { "" }, table.table().name);
            for row in 0..table.n_rows() {
                let cells = (0..columns.len()).map(|place| cell(table, row, place));
                if self.json {
                    let named = columns.iter().map(|column| column.name.to_owned()).zip(cells);
                    let mut object: Map<String, Value> = named.filter(|(_, value)| !value.is_null()).collect();
                    object.insert("table".to_owned(), json!(name));
                    self.lines.push_str(&format!("{}\n", Value::Object(object)));
                    continue;
                }
                let at = self.tables.iter().position(|known| known.name == name).unwrap_or_else(|| {
                    let columns = columns.iter().map(|column| column.name).collect();
                    self.tables.push(Printed { name: name.clone(), columns, rows: Vec::new(), more: 0 });
                    self.tables.len() - 1
                });
                let printed = &mut self.tables[at];
                if printed.rows.len() < SHOWN {
                    printed.rows.push(cells.collect());
                } else {
                    printed.more += 1;
                }
            }
        }
        rows.clear();
    }

    /// A table of rows for each table; what could not be read comes last.
    fn text(&self) -> String {
        let (notes, tables): (Vec<_>, Vec<_>) = self.tables.iter().partition(|table| table.name == note::TABLE.name);
        tables.into_iter().chain(notes).map(Printed::text).collect()
    }
}

impl Printed {
    fn text(&self) -> String {
        let is_set = |place: &usize| self.rows.iter().any(|row| !row[*place].is_null());
        let set: Vec<usize> = (0..self.columns.len()).filter(is_set).collect();
        let names: Vec<&str> = set.iter().map(|place| self.columns[*place]).collect();
        let plain = |value: &Value| match value {
            Value::Null => "-".to_owned(),
            Value::String(text) => visible(text).into_owned(),
            other => other.to_string(),
        };
        let rows: Vec<Vec<String>> =
            self.rows.iter().map(|row| set.iter().map(|place| plain(&row[*place])).collect()).collect();
        let numbers: Vec<usize> =
            (0..set.len()).filter(|at| self.rows.iter().any(|row| row[set[*at]].is_number())).collect();
        let more =
            if self.more > 0 { format!("… and {} more\n", plural(self.more as u64, "row")) } else { String::new() };
        format!("{}\n{}{more}\n", self.name, print::columns(&names, &numbers, &rows))
    }
}

fn cell(table: &TableRows, row: usize, place: usize) -> Value {
    match table.table().columns[place].ty {
        Type::Time => table.micros(row, place).map_or(Value::Null, |t| json!(t.iso())),
        Type::F64 => table.f64(row, place).map_or(Value::Null, |value| json!(value)),
        Type::I64 => table.f64(row, place).map_or(Value::Null, |value| json!(value as i64)),
        Type::Label | Type::Text => table.str(row, place).map_or(Value::Null, |text| json!(text)),
    }
}
