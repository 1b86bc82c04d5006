//! `fenxi list tables`: the catalogue, and which source fills what.

use std::process::ExitCode;

use clap::Args;
use fenxi_model::{TABLES, Table, table};
use fenxi_record::sources;
use serde_json::json;

use crate::{
    options::{Global, JsonArgs, unknown},
    print,
};

/// `fenxi list tables`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fenxi list tables         all tables
  fenxi list tables disk    the columns of one")]
pub struct TablesArgs {
    /// Table to describe
    #[arg(value_name = "TABLE")]
    pub table: Option<String>,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// Lists tables, or describes the columns of one.
pub fn run(_: &Global, args: &TablesArgs) -> anyhow::Result<ExitCode> {
    let text = match &args.table {
        None => list(args.form.is_json()),
        Some(name) => match table(name) {
            Some(table) => describe(table, args.form.is_json()),
            None => return Err(unknown("table", name, TABLES.iter().map(|table| table.name), "fenxi list tables")),
        },
    };
    print::paged(print::Form::json_if(args.form.is_json()), &text)?;
    Ok(ExitCode::SUCCESS)
}

fn sources_of(table: &Table) -> Vec<&'static str> {
    let fills = |s: &&'static dyn fenxi_source::Source| s.spec().tables.iter().any(|t| t.id == table.id);
    sources().filter(fills).map(|s| s.spec().name).collect()
}

fn list(json: bool) -> String {
    if json {
        let line = |t: &&Table| {
            let keys: Vec<_> = t.keys().iter().map(|k| k.name).collect();
            json!({ "table": t.name, "keys": keys, "sources": sources_of(t), "about": t.doc }).to_string() + "\n"
        };
        return TABLES.iter().map(line).collect();
    }
    let row = |t: &&Table| {
        let keys: Vec<_> = t.keys().iter().map(|k| k.name).collect();
        vec![t.name.to_owned(), keys.join(", "), sources_of(t).join(", "), t.doc.to_owned()]
    };
    let rows: Vec<_> = TABLES.iter().map(row).collect();
    print::listing(&["table", "keys", "recorded by", "a row is"], &[], &[], &rows)
}

fn describe(table: &Table, json: bool) -> String {
    if json {
        let line = |c: &fenxi_model::Column| {
            let (unit, kind, better) = (c.unit.symbol(), c.kind.to_string(), c.better.to_string());
            json!({ "column": c.name, "type": c.ty.to_string(), "unit": unit, "kind": kind, "better": better, "about": c.doc })
                .to_string()
                + "\n"
        };
        return table.columns.iter().map(line).collect();
    }
    let row = |c: &fenxi_model::Column| {
        vec![c.name.to_owned(), c.ty.to_string(), c.unit.symbol().to_owned(), c.better.to_string(), c.doc.to_owned()]
    };
    let rows: Vec<_> = table.columns.iter().map(row).collect();
    let columns = print::listing(&["column", "type", "unit", "better", "meaning"], &[], &[3, 1], &rows);
    format!("{}\n\n{columns}", print::for_terminal(table.doc))
}
