//! `fenxi list formats`: what can be imported.

use std::{io, path::PathBuf, process::ExitCode};

use clap::{Args, Subcommand};
use fenxi_formats::{About, AnyFormat, Fills, Format, Formats, formats};
use fenxi_model::visible;
use serde_json::json;

use super::format::trial::{self, TryArgs};
use crate::{
    formats,
    options::{Global, JsonArgs},
    print,
};

/// `fenxi list formats`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
A format of your own is a file in the directory `formats` of the store:
NAME.toml with patterns of lines, or a program NAME that reads the text and
prints rows as JSON lines.

Examples:
  fenxi list formats                            list all formats
  fenxi list formats mpstat                     show an example
  fenxi format try pool.log --as poolstat       try a format on a file")]
pub struct FormatsArgs {
    /// Format to describe
    #[arg(value_name = "FORMAT")]
    pub name: Option<String>,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
    /// What to do, other than listing
    #[command(subcommand)]
    pub action: Option<Action>,
}

/// What can be done with formats.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// The name that `fenxi format try` had before
    #[command(hide = true)]
    Test(TestArgs),
}

/// `fenxi list formats test`
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  fenxi format try pool.log --as poolstat")]
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

/// Lists formats, or describes one.
pub fn run(global: &Global, args: &FormatsArgs) -> anyhow::Result<ExitCode> {
    if let Some(Action::Test(args)) = &args.action {
        let TestArgs { name, file, form } = args;
        let (file, as_format, form) = (file.clone(), Some(name.clone()), form.clone());
        return trial::run(global, &TryArgs { file, description: None, as_format, watch: false, all: false, form });
    }
    let width = print::width(&io::stdout());
    let known = formats::known(global);
    let text = match &args.name {
        None if args.form.is_json() => entries(&known).iter().map(|entry| entry.json() + "\n").collect(),
        None => list(&known, width),
        Some(name) => {
            let entry = Entry::of(&formats::named(&known, name)?);
            if args.form.is_json() { entry.json() + "\n" } else { describe(&entry, width) }
        }
    };
    print::paged(print::Form::json_if(args.form.is_json()), &text)?;
    Ok(ExitCode::SUCCESS)
}

/// A format's entry in a listing.
#[derive(Default)]
struct Entry {
    name: &'static str,
    family: &'static str,
    summary: String,
    tables: Vec<&'static str>,
    example: String,
    /// Its file, if it is the store's own.
    file: Option<String>,
    /// How it comes to be used, if it is the store's own.
    used: Option<String>,
}

impl Entry {
    fn of(format: &AnyFormat) -> Entry {
        match format {
            AnyFormat::Shipped(format) => Entry::shipped(format),
            AnyFormat::Own(format) => Entry::own(format.about()),
            // It is listed among the shipped ones.
            AnyFormat::Hosts(_) => Entry { name: format.name(), ..Entry::default() },
        }
    }

    fn shipped(format: &Format) -> Entry {
        let tables = match format.fills() {
            Fills::Results => vec!["result", "metric"],
            Fills::Tables(tables) => tables.iter().map(|t| t.name).collect(),
            Fills::Any => vec!["any"],
        };
        let (name, family) = (format.name, format.family.title());
        let (summary, example) = (format.summary().to_owned(), format.example().to_owned());
        Entry { name, family, summary, tables, example, file: None, used: None }
    }

    fn own(about: &About) -> Entry {
        let used = match (about.is_program, about.recognises, &about.instead_of) {
            (true, _, _) => "a program: asked with `--sniff` about texts that nothing else is certain of".to_owned(),
            (false, false, _) => format!("read only with `--as {}`, as it has no [recognise]", about.name),
            (false, true, None) => "recognised by its content".to_owned(),
            (false, true, Some(other)) => format!("recognised by its content, instead of {other}"),
        };
        Entry {
            name: about.name,
            family: "Own formats of this store",
            summary: visible(&about.summary).into_owned(),
            tables: if about.is_program { vec!["any"] } else { about.tables.iter().map(|table| table.name).collect() },
            example: about.example.clone(),
            file: Some(about.file.clone()),
            used: Some(used),
        }
    }

    fn json(&self) -> String {
        let mut object = json!({
            "format": self.name, "family": self.family, "about": self.summary,
            "tables": self.tables, "example": self.example, "own": self.file.is_some(),
        });
        if let Some(file) = &self.file {
            object["file"] = json!(file);
        }
        object.to_string()
    }
}

/// All formats: family by family, the store's own last.
fn entries(known: &Formats) -> Vec<Entry> {
    let mut all: Vec<_> = formats().collect();
    all.sort_by_key(|format| format.family);
    let own = known.own().iter().map(|format| AnyFormat::Own(format.clone()));
    all.into_iter().map(AnyFormat::Shipped).chain(own).map(|format| Entry::of(&format)).collect()
}

/// A row for each format, in the `width` of a terminal.
fn list(known: &Formats, width: Option<usize>) -> String {
    const HEADER: [&str; 3] = ["  format", "tables", "what it reads"];
    let mut out = String::new();
    for family in entries(known).chunk_by(|a, b| a.family == b.family) {
        let row = |entry: &Entry| vec![format!("  {}", entry.name), entry.tables.join(" "), entry.summary.clone()];
        let rows: Vec<_> = family.iter().map(row).collect();
        out.push_str(&format!(
            "{}\n{}\n",
            family[0].family,
            print::fitted(&HEADER, &[], &[], &rows, width).with_note()
        ));
    }
    out.push_str("fenxi list formats NAME shows an example.\n");
    out
}

/// Description of the format, with its example; lines of that are cut to the `width` of a terminal.
fn describe(entry: &Entry, width: Option<usize>) -> String {
    let line = |l: &str| match width {
        Some(width) => format!("{}\n", print::cut(&format!("    {}", l.replace('\t', "    ")), width)),
        None => format!("    {l}\n"),
    };
    let indented: String = entry.example.lines().map(line).collect();
    let own = match (&entry.file, &entry.used) {
        (Some(file), Some(used)) => format!("file: {file}\nused: {used}\n"),
        _ => String::new(),
    };
    format!("{}\n\ntables: {}\n{own}\n{indented}", entry.summary, entry.tables.join(", "))
}
