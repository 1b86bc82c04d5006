//! `fenxi verify`.

use std::process::ExitCode;

use serde_json::json;

use crate::{
    args::{Cli, VerifyArgs},
    print,
    progress::plural,
    stores,
};

/// Checks runs against their manifests; exit code 1 when anything is wrong.
pub fn run(cli: &Cli, args: &VerifyArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(cli)?;
    let ids = if args.runs.is_empty() {
        store.summaries()?.into_iter().map(|s| s.id).collect()
    } else {
        store.select_all(&args.runs)?
    };
    let mut n_problems = 0;
    let mut out = String::new();
    for id in &ids {
        let problems = store.verify(id)?;
        n_problems += problems.len() as u64;
        for problem in &problems {
            if args.json {
                out.push_str(&json!({ "run": id, "file": problem.path, "problem": problem.what }).to_string());
            } else {
                out.push_str(&problem.to_string());
            }
            out.push('\n');
        }
    }
    print::data(out.as_bytes())?;
    if !cli.quiet {
        print::message(&format!(
            "{} checked, {} found",
            plural(ids.len() as u64, "run"),
            plural(n_problems, "problem")
        ));
    }
    Ok(if n_problems == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
