//! `fenxi store compact`.

use std::process::ExitCode;

use clap::Args;
use fenxi_model::{Micros, Unit};
use fenxi_store::{CompactWish, Compaction};
use serde_json::json;

use crate::{
    options::{Global, JsonArgs, seconds},
    print,
    progress::{Steps, plural},
    stores,
};

/// `fenxi store compact`
#[derive(Debug, Args)]
#[command(after_help = "\
Tables of many runs become files of 128 to 512 MB, sorted by run, in the store's
folder `compacted`; the runs' own files of these tables go. Manifests, inputs
and facts stay with each run. Every command answers the same before, during and
after, also when this one is killed; the next one continues. --undo gives runs
their own files back.

Examples:
  fenxi store compact --older 7d
  fenxi store compact --older 7d --dry-run
  fenxi store compact branch=main
  fenxi store compact --undo @3")]
pub struct CompactArgs {
    /// Runs to compact [default: all]
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    /// Only runs that ended longer ago than this
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub older: Option<f64>,
    /// Give runs their own files back
    #[arg(long, conflicts_with_all = ["older", "dry_run"])]
    pub undo: bool,
    /// Only print what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// Compacts, or undoes it.
pub fn run(global: &Global, args: &CompactArgs) -> anyhow::Result<ExitCode> {
    let store = stores::create(global)?;
    let chosen = if args.runs.is_empty() { None } else { Some(store.select_all(&args.runs)?) };
    let line = Steps::new(global.quiet, if args.undo { "restoring" } else { "compacting" });
    let mut watch = |table: &str, done: usize, all: usize| line.show(table, done, all);
    if args.undo {
        let given = store.undo_compaction(chosen.as_deref(), &mut watch)?;
        line.clear();
        if args.form.is_json() {
            print::json(&format!("{}\n", json!({ "restored_runs": given })))?;
        } else if !global.quiet {
            print::message(&format!("{} given their own files back", plural(given as u64, "run")));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let before = args.older.map(|s| Micros(stores::now().0.saturating_sub((s * 1e6) as i64)));
    let wish = CompactWish { runs: chosen.as_deref(), before, dry_run: args.dry_run };
    let done = store.compact(&wish, &mut watch)?;
    line.clear();
    if args.form.is_json() {
        print::json(&format!("{}\n", lines(&done, args.dry_run)))?;
    } else if !global.quiet {
        print::message(&said(&done, args.dry_run));
    }
    Ok(ExitCode::SUCCESS)
}

fn lines(done: &Compaction, dry_run: bool) -> serde_json::Value {
    json!({
        "dry_run": dry_run, "tables": done.tables, "rows": done.rows,
        "files_before": done.files_before, "bytes_before": done.bytes_before,
        "files_after": if dry_run { None } else { Some(done.files_after) },
        "bytes_after": if dry_run { None } else { Some(done.bytes_after) },
    })
}

fn said(done: &Compaction, dry_run: bool) -> String {
    if done.tables == 0 {
        return "nothing to compact: there are no two runs with separate files of the same table".to_owned();
    }
    let bytes = |n: u64| Unit::Bytes.human(n as f64);
    let before = format!("{} ({})", plural(done.files_before, "file"), bytes(done.bytes_before));
    let tables = plural(done.tables as u64, "table");
    match dry_run {
        true => format!("would compact {before} of {tables}"),
        false => {
            format!(
                "compacted {before} of {tables} into {} ({})",
                plural(done.files_after, "file"),
                bytes(done.bytes_after)
            )
        }
    }
}
