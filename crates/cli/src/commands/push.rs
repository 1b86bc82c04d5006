//! `fenxi store push`.

use std::process::ExitCode;

use clap::Args;
use fenxi_carry::Transfer;
use fenxi_model::Unit;
use serde_json::json;

use crate::{
    options::{Global, JsonArgs, TravelArgs, print_merged},
    print,
    progress::{Steps, plural},
    stores,
};

/// `fenxi store push`
#[derive(Debug, Args)]
#[command(after_help = "\
The address is one of
  ssh:[USER@]HOST[:PATH]   the store of that host's user, or the one at PATH;
                           its fenxi must be on PATH there
  http://HOST:PORT         a server of `fenxi serve`; --token-file has its token
  s3://BUCKET/PREFIX       S3 and what speaks its protocol, configured as for
                           other tools: AWS_ACCESS_KEY_ID, AWS_REGION, ...
  file:///DIRECTORY, or a directory that others read

Another fenxi imports the runs, each verified, and labels are merged: who
changed what later wins, and what both have changed is printed.

Only what is missing there is sent; a run's manifest goes last, so that a run is
whole or not there. Without RUN everything is pushed; to a directory or S3 also
questions, studies and files of `fenxi store compact`. Runs that were removed
here stay there.

Examples:
  fenxi store push ssh:db1 --list
  fenxi store push http://perf:7070 @1 --token-file token
  fenxi store push s3://perf/team --dry-run
  fenxi store push s3://perf/team
  fenxi store push /mnt/share/fenxi branch=main
  AWS_ENDPOINT_URL=http://minio:9000 fenxi store push s3://perf/team @1")]
pub struct PushArgs {
    /// Address of the other store
    #[arg(value_name = "ADDRESS")]
    pub to: String,
    /// Runs to push [default: the whole store]
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    /// Where to, and whether at all
    #[command(flatten)]
    pub travel: TravelArgs,
    /// Runs on their way at the same time
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub parallel: usize,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// Pushes runs.
pub fn run(global: &Global, args: &PushArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(global)?;
    let chosen = if args.runs.is_empty() { None } else { Some(store.select_all(&args.runs)?) };
    let mut place = args.travel.open(&args.to)?;
    let line = Steps::new(global.quiet, "pushing");
    let watch =
        |done: usize, all: usize, bytes: u64| line.show(&Unit::Bytes.human(bytes as f64).to_string(), done, all);
    let transfer = Transfer { dry_run: args.travel.is_dry(), threads: args.parallel, watch: &watch };
    let pushed = place.push(&store, chosen.as_deref(), &transfer);
    line.clear();
    let pushed = pushed?;
    args.travel.print_list(&pushed.ids, &args.form)?;
    if args.form.is_json() {
        let told = json!({ "dry_run": args.travel.is_dry(), "to": place.name(), "runs": pushed.runs, "known_runs": pushed.known,
            "files": pushed.files, "bytes": pushed.bytes, "removed_files": pushed.removed,
            "ids": pushed.ids, "labels": pushed.labels, "conflicts": pushed.conflicts, "unreadable": pushed.unreadable });
        print::json(&format!("{told}\n"))?;
    } else if !global.quiet {
        let did = if args.travel.is_dry() { "would push" } else { "pushed" };
        let (runs, files) = (plural(pushed.runs as u64, "run"), plural(pushed.files, "file"));
        let (bytes, known) = (Unit::Bytes.human(pushed.bytes as f64), plural(pushed.known as u64, "run"));
        print::message(&format!("{did} {runs} ({files}, {bytes}) to {}; {known} there already", place.name()));
        print_merged(pushed.labels, args.travel.is_dry(), &pushed.conflicts, &pushed.unreadable);
    }
    Ok(ExitCode::SUCCESS)
}
