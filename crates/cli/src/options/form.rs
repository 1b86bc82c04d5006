//! In which form a command prints, and where to: `-f FORM`, or `--json`, and `-o FILE`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Forms of what is one text, or objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum JsonForm {
    /// Text for people
    Table,
    /// JSON, or JSON Lines where there are several objects
    Json,
}

/// The form of output of a command that prints text or JSON.
#[derive(Clone, Debug, Args)]
pub struct JsonArgs {
    /// Form of output: table, json (also as --json)
    #[arg(long, short, value_name = "FORM", default_value = "table", hide_possible_values = true)]
    format: JsonForm,
    /// The same as `-f json`
    #[arg(long, hide = true)]
    json: bool,
}

impl JsonArgs {
    /// Whether it is JSON.
    pub fn is_json(&self) -> bool {
        self.json || self.format == JsonForm::Json
    }
}

/// Forms of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PageForm {
    /// Text for people
    Table,
    /// JSON Lines
    Json,
    /// Markdown, to be pasted
    Markdown,
}

/// The form of output of a command that prints a page of text, Markdown or JSON.
#[derive(Clone, Debug, Args)]
pub struct PageArgs {
    /// Form of output: table, json (also as --json), markdown
    #[arg(long, short, value_name = "FORM", default_value = "table", hide_possible_values = true)]
    format: PageForm,
    /// The same as `-f json`
    #[arg(long, hide = true, conflicts_with = "markdown")]
    json: bool,
    /// The same as `-f markdown`
    #[arg(long, hide = true)]
    markdown: bool,
    /// Where it goes
    #[command(flatten)]
    pub output: OutputArg,
}

impl PageArgs {
    /// Whether it is JSON.
    pub fn is_json(&self) -> bool {
        self.json || self.format == PageForm::Json
    }

    /// Whether it is Markdown.
    pub fn is_markdown(&self) -> bool {
        self.markdown || self.format == PageForm::Markdown
    }
}

/// Forms of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ComparisonForm {
    /// Text for people
    Table,
    /// JSON Lines
    Json,
    /// Markdown, to be pasted
    Markdown,
    /// JUnit XML, one test case per result
    Junit,
    /// OpenMetrics text
    Openmetrics,
}

/// The form of output of a comparison.
#[derive(Clone, Debug, Args)]
pub struct ComparisonArgs {
    /// Form of output: table, json (also as --json), markdown, junit, openmetrics
    #[arg(long, short, value_name = "FORM", default_value = "table", hide_possible_values = true)]
    format: ComparisonForm,
    /// The same as `-f json`
    #[arg(long, hide = true, conflicts_with = "markdown")]
    json: bool,
    /// The same as `-f markdown`
    #[arg(long, hide = true)]
    markdown: bool,
    /// Where it goes
    #[command(flatten)]
    pub output: OutputArg,
}

impl ComparisonArgs {
    /// The form.
    pub fn form(&self) -> ComparisonForm {
        match (self.json, self.markdown) {
            (true, _) => ComparisonForm::Json,
            (_, true) => ComparisonForm::Markdown,
            _ => self.format,
        }
    }
}

/// Forms of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned text
    Table,
    /// Comma-separated values with a header
    Csv,
    /// One JSON object per line
    Json,
    /// A Parquet file (binary: name a file with -o)
    Parquet,
    /// Markdown table
    Markdown,
}

impl Format {
    /// The form that files of this ending have; None for others, such as `.txt`.
    fn of_ending(ending: &str) -> Option<Format> {
        match ending {
            "csv" => Some(Format::Csv),
            "json" | "jsonl" | "ndjson" => Some(Format::Json),
            "parquet" => Some(Format::Parquet),
            "md" => Some(Format::Markdown),
            _ => None,
        }
    }
}

/// The form of an answer: of rows.
#[derive(Clone, Debug, Args)]
pub struct RowsArgs {
    /// Form of output: table, csv, json (also as --json), parquet, markdown
    /// [default: by the ending of -o, such as cpu.parquet, else table]
    #[arg(long, short, value_name = "FORM", hide_possible_values = true)]
    format: Option<Format>,
    /// The same as `-f json`
    #[arg(long, hide = true)]
    json: bool,
    /// Where it goes
    #[command(flatten)]
    pub output: OutputArg,
}

impl RowsArgs {
    /// The form.
    pub fn format(&self) -> Format {
        let ending = || Format::of_ending(self.output.file.as_deref()?.extension()?.to_str()?);
        if self.json { Format::Json } else { self.format.or_else(ending).unwrap_or(Format::Table) }
    }
}

/// Names of all forms, as `-o` took them once.
pub const FORMS: [&str; 5] = ["table", "csv", "json", "parquet", "markdown"];

/// The name that the option has for clap.
pub const OUTPUT: &str = "output_file";

/// Where output goes. Whatever the command is, `lib.rs` sends its standard output there.
#[derive(Clone, Debug, Args)]
pub struct OutputArg {
    /// Write to this file; `-` is standard output
    #[arg(id = OUTPUT, long = "output", short = 'o', value_name = "FILE")]
    pub file: Option<PathBuf>,
}
