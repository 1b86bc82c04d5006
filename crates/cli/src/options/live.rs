//! Shared options of all live tools: when they sample, what they show, and in which form.

use clap::{Args, ValueEnum};
use fenxi_remote::Target;

use super::{RootArg, interval, key_value};

/// Forms of what a live tool shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LiveForm {
    /// As the tool shows it to people
    Table,
    /// Comma-separated values of its first table
    Csv,
    /// JSON Lines of all of its tables
    Json,
}

/// Options of every live tool. They have no short forms, so that each tool can have those it is known for.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output, recording and replay")]
pub struct LiveArgs {
    /// Sampling interval: 1, 500ms, 1m
    #[arg(value_name = "INTERVAL", value_parser = interval)]
    pub interval: Option<f64>,
    /// Number of samples [default: until Ctrl-C]
    #[arg(value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Also record to a run of this name
    #[arg(long, value_name = "NAME", conflicts_with = "run")]
    pub save: Option<String>,
    /// Tag of the saved run (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value, requires = "save")]
    pub tag: Vec<(String, String)>,
    /// Show a recorded run instead of live data
    #[arg(long, value_name = "RUN", conflicts_with = "root")]
    pub run: Option<String>,
    /// Host to show, of a run with several
    #[arg(long, value_name = "NAME", requires = "run")]
    pub host: Option<String>,
    /// Run at this host and print here: HOST by ssh, or NAME=COMMAND that reaches it
    #[arg(long, value_name = "HOST", value_parser = Target::parse, conflicts_with_all = ["run", "save"])]
    pub on: Option<Target>,
    /// Form of output: table, csv, json (also as --json); JSON has one object per row
    #[arg(long, value_name = "FORM", default_value = "table", hide_possible_values = true)]
    format: LiveForm,
    /// The same as `--format json`
    #[arg(long, conflicts_with = "csv", hide = true)]
    json: bool,
    /// The same as `--format csv`
    #[arg(long, hide = true)]
    csv: bool,
    /// The machine
    #[command(flatten)]
    pub machine: RootArg,
}

impl LiveArgs {
    /// Whether rows are printed as JSON Lines.
    pub fn is_json(&self) -> bool {
        self.json || self.format == LiveForm::Json
    }

    /// Whether rows are printed as comma-separated values.
    pub fn is_csv(&self) -> bool {
        self.csv || self.format == LiveForm::Csv
    }
}
