//! `fenxi store pull`.

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

/// `fenxi store pull`
#[derive(Debug, Args)]
#[command(after_help = "\
Fetches runs that `fenxi store push` put at an address, as far as they are not
here, or runs of another fenxi (ssh:HOST, http://HOST:PORT). Each file is
compared with its checksum, and a run appears whole. Labels of another fenxi's
runs are merged into ours. Addresses are those of `fenxi store push`.

Examples:
  fenxi store pull ssh:db1:/var/lib/fenxi --list
  fenxi store pull s3://perf/team
  fenxi store pull s3://perf/team 20261121 --dry-run
  fenxi store pull /mnt/share/fenxi 20261121T142233-oltp-k3f9")]
pub struct PullArgs {
    /// Address of the other store
    #[arg(value_name = "ADDRESS")]
    pub from: String,
    /// Runs to fetch, by id or the beginning of ids [default: all]
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// Where from, and whether at all
    #[command(flatten)]
    pub travel: TravelArgs,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// Pulls runs.
pub fn run(global: &Global, args: &PullArgs) -> anyhow::Result<ExitCode> {
    let store = stores::create(global)?;
    let mut place = args.travel.open(&args.from)?;
    let line = Steps::new(global.quiet, "pulling");
    let watch =
        |done: usize, all: usize, bytes: u64| line.show(&Unit::Bytes.human(bytes as f64).to_string(), done, all);
    let transfer = Transfer { dry_run: args.travel.is_dry(), threads: 1, watch: &watch };
    let pulled = place.pull(&store, &args.ids, &transfer);
    line.clear();
    let pulled = pulled?;
    args.travel.print_list(&pulled.ids, &args.form)?;
    if args.form.is_json() {
        let told = json!({ "dry_run": args.travel.is_dry(), "from": place.name(), "runs": pulled.runs,
            "known_runs": pulled.known, "bytes": pulled.bytes, "ids": pulled.ids,
            "labels": pulled.labels, "conflicts": pulled.conflicts, "unreadable": pulled.unreadable });
        print::json(&format!("{told}\n"))?;
    } else if !global.quiet {
        let did = if args.travel.is_dry() { "would pull" } else { "pulled" };
        let (runs, bytes) = (plural(pulled.runs as u64, "run"), Unit::Bytes.human(pulled.bytes as f64));
        let known = plural(pulled.known as u64, "run");
        print::message(&format!("{did} {runs} ({bytes}) from {}; {known} here already", place.name()));
        print_merged(pulled.labels, args.travel.is_dry(), &pulled.conflicts, &pulled.unreadable);
    }
    Ok(ExitCode::SUCCESS)
}
