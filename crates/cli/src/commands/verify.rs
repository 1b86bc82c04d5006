//! `fenxi store verify`.

use std::process::ExitCode;

use clap::Args;
use fenxi_model::RunId;
use fenxi_store::{Problem, ScrubReport, Store, StoreError};
use serde_json::json;

use crate::{
    options::{Global, JsonArgs},
    print,
    progress::plural,
    stores,
};

/// `fenxi store verify`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fenxi store verify       the whole store
  fenxi store verify @1    one run")]
pub struct VerifyArgs {
    /// Runs to verify [default: the whole store]
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// Checks runs against their manifests, and without selectors everything else in the store; exit code 1 when anything
/// is wrong.
pub fn run(global: &Global, args: &VerifyArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open_as_it_is(global)?;
    let (mut ids, rest) = match args.runs.is_empty() {
        // Listed by their directories: the index is among what is checked.
        true => (store.ids()?, store.scrub()?),
        false => (store.select_all(&args.runs)?, ScrubReport::default()),
    };
    ids.sort();
    let mut out = String::new();
    let mut n_problems = 0;
    for id in &ids {
        let problems = match store.verify(id) {
            // Removed since it was listed.
            Err(StoreError::Unknown { .. }) => continue,
            problems => problems?,
        };
        n_problems += problems.len() as u64;
        out.extend(problems.iter().map(|problem| line(args, Some(id), "problem", problem)));
    }
    n_problems += rest.problems.len() as u64;
    out.extend(rest.problems.iter().map(|problem| line(args, None, "problem", problem)));
    out.extend(rest.remarks.iter().map(|remark| line(args, None, "remark", remark)));
    print::put(print::Form::json_if(args.form.is_json()), out.as_bytes())?;
    if !global.quiet {
        print::message(&said(&store, args, ids.len(), n_problems));
    }
    Ok(if n_problems == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn said(store: &Store, args: &VerifyArgs, runs: usize, problems: u64) -> String {
    let (runs, problems) = (plural(runs as u64, "run"), plural(problems, "problem"));
    match args.runs.is_empty() {
        true => format!("{runs} and everything else in {} checked, {problems} found", store.path().display()),
        false => format!("{runs} checked, {problems} found"),
    }
}

fn line(args: &VerifyArgs, run: Option<&RunId>, kind: &str, found: &Problem) -> String {
    match (args.form.is_json(), kind) {
        (true, kind) => format!("{}\n", json!({ "run": run, "file": found.path, kind: found.what })),
        (false, "remark") => {
            print::visible(&format!("{}: remark: {}", found.path.display(), found.what)).into_owned() + "\n"
        }
        (false, _) => print::visible(&found.to_string()).into_owned() + "\n",
    }
}
