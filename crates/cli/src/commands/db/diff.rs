//! `fenxi db diff`.

use std::process::ExitCode;

use clap::Args;
use fenxi_model::Unit;
use serde_json::json;

use super::snapshots;
use crate::{
    options::{Global, JsonArgs, RunLabels},
    print, stores,
};

/// `fenxi db diff`
#[derive(Debug, Args)]
#[command(after_help = "\
The interval is a run as any other, with one sample: `ask`, `sql`, `compare`,
`report` and the pages work on it. Made once, it is found again. A restart, or
counters that began anew between the snapshots, are reported: those figures are
unknown.

Examples:
  fenxi db diff before after --name tuesday
  fenxi db diff @2 @1
  fenxi ask db-statements -r tuesday")]
#[command(mut_arg("name", |arg| arg.help("Name of the run [default: that of the server]")))]
#[command(mut_arg("tag", |arg| arg.help("Tag of the run (repeatable)")))]
pub struct DiffArgs {
    /// A snapshot
    #[arg(value_name = "A")]
    pub first: String,
    /// Another one of the same server
    #[arg(value_name = "B")]
    pub second: String,
    /// Name and tags
    #[command(flatten)]
    pub labels: RunLabels,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// Makes the run.
pub fn run(global: &Global, args: &DiffArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(global)?;
    let made = snapshots::interval(&store, [&args.first, &args.second], &args.labels)?;
    if args.form.is_json() {
        let told = json!({ "run": made.run, "seconds": made.seconds, "warnings": made.warnings, "new": made.is_new });
        print::json(&format!("{told}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    made.warnings.iter().for_each(|warning| print::message(&format!("warning: {warning}")));
    if !global.quiet {
        let (length, run) = (Unit::Seconds.human(made.seconds), &made.run);
        let verb = if made.is_new { "kept as" } else { "is already there as" };
        print::message(&format!(
            "{length} {verb} {run}\nnext: fenxi db report {run}, fenxi ask db-statements -r {run}"
        ));
    }
    Ok(ExitCode::SUCCESS)
}
