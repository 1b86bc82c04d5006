//! `fenxi formats`: what can be imported.

use std::{io, process::ExitCode};

use clap::Args;
use fenxi_formats::{Fills, Format, formats};
use serde_json::json;

use crate::{formats, options::Global, print};

/// `fenxi formats`
#[derive(Debug, Args)]
pub struct FormatsArgs {
    /// Format to describe
    pub format: Option<String>,
    /// Print JSON Lines, one object per format
    #[arg(long)]
    pub json: bool,
}

/// Lists formats, or describes one.
pub fn run(_: &Global, args: &FormatsArgs) -> anyhow::Result<ExitCode> {
    let width = print::width(&io::stdout());
    let text = match &args.format {
        None if args.json => formats().map(|f| json(f) + "\n").collect(),
        None => list(width),
        Some(name) => {
            let format = formats::named(name)?;
            if args.json { json(format) + "\n" } else { describe(format, width) }
        }
    };
    print::put(print::Form::json_if(args.json), text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn tables(format: &Format) -> Vec<&'static str> {
    match format.fills() {
        Fills::Results => vec!["result", "metric"],
        Fills::Tables(tables) => tables.iter().map(|t| t.name).collect(),
        Fills::Any => vec!["any"],
    }
}

fn json(format: &Format) -> String {
    json!({
        "format": format.name, "family": format.family.title(), "about": format.summary,
        "tables": tables(format), "example": format.example,
    })
    .to_string()
}

/// A row for each format; cut to the `width` of a terminal.
fn list(width: Option<usize>) -> String {
    const HEADER: [&str; 3] = ["  format", "tables", "what it reads"];
    let mut all: Vec<&Format> = formats().collect();
    all.sort_by_key(|f| f.family);
    let mut out = String::new();
    for family in all.chunk_by(|a, b| a.family == b.family) {
        let row = |f: &&Format| vec![format!("  {}", f.name), tables(f).join(" "), f.summary.to_owned()];
        let mut rows: Vec<_> = family.iter().map(row).collect();
        if let Some(width) = width {
            print::fit(&HEADER, &mut rows, width);
        }
        out.push_str(&format!("{}\n{}\n", family[0].family.title(), print::columns(&HEADER, &[], &rows)));
    }
    out.push_str("fenxi formats NAME shows an example.\n");
    out
}

/// What the format is, with its example; lines of that are cut to the `width` of a terminal.
fn describe(format: &Format, width: Option<usize>) -> String {
    let line = |l: &str| match width {
        Some(width) => format!("{}\n", print::cut(&format!("    {}", l.replace('\t', "    ")), width)),
        None => format!("    {l}\n"),
    };
    let indented: String = format.example.lines().map(line).collect();
    format!("{}\n\ntables: {}\n\n{indented}", format.summary, tables(format).join(", "))
}
