//! `fenxi label log`: who changed which label of a run, and when.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use crate::{
    options::{Global, JsonArgs},
    print, stores,
};

/// `fenxi label log`
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  fenxi label log @1")]
pub struct LogArgs {
    /// Run whose labels were changed
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// Prints the changes, oldest first.
pub fn run(global: &Global, args: &LogArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(global)?;
    let id = store.select_one(&args.run)?;
    let changes = store.run(&id)?.labels.changes;
    let mut out = String::new();
    for change in &changes {
        out += &match args.form.is_json() {
            true => {
                json!({ "t": change.at, "by": change.by, "field": change.field, "value": change.value }).to_string()
            }
            false => {
                let value = match change.value.as_deref() {
                    None => "removed".to_owned(),
                    Some("") => "added".to_owned(),
                    Some(value) => value.to_owned(),
                };
                let line = format!("{}  {}  {}: {value}", change.at.iso(), change.by, change.field);
                print::visible(&line).into_owned()
            }
        };
        out.push('\n');
    }
    print::put(print::Form::json_if(args.form.is_json()), out.as_bytes())?;
    if changes.is_empty() && !global.quiet {
        print::message(&format!("no label of {id} was changed since changes are written down"));
    }
    Ok(ExitCode::SUCCESS)
}
