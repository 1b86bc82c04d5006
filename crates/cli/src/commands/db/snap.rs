//! `fenxi db snap`.

use std::process::ExitCode;

use clap::Args;
use fenxi_db::snapshot::take;
use fenxi_model::Unit;
use serde_json::json;

use super::snapshots;
use crate::{
    options::{
        Global, JsonArgs, RunLabels,
        database::{caution, server_or_only},
    },
    print, stores,
};

/// `fenxi db snap`
#[derive(Debug, Args)]
#[command(after_help = "\
Asks a server once for everything that `fenxi record --db` asks, and keeps its
answers in the store. Nothing is created, reset or locked in it: a role that
only reads is enough, and a standby is as good as a primary. Any two snapshots
of a server are an interval: `fenxi db report A B`, `fenxi db diff A B`.

From cron, every hour:
  0 * * * *  fenxi db snap postgres:///shop --quiet

Examples:
  fenxi db snap postgres:///shop --name before
  fenxi db snap mysql://mon@db1/ --tag release=41
  fenxi db report before after")]
#[command(mut_arg("name", |arg| arg.help("Name of the snapshot [default: that of the server]")))]
#[command(mut_arg("tag", |arg| arg.help("Tag of the snapshot (repeatable)")))]
pub struct SnapArgs {
    /// Database server [default: the only one that runs here]
    #[arg(value_name = "URL")]
    pub url: Option<String>,
    /// Name and tags
    #[command(flatten)]
    pub labels: RunLabels,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// Takes a snapshot and keeps it.
pub fn run(global: &Global, args: &SnapArgs) -> anyhow::Result<ExitCode> {
    let server = server_or_only(args.url.as_deref())?;
    let store = stores::create(global)?;
    let taken = take(&server, stores::now());
    caution(server.cautions());
    let taken = taken?;
    let head = taken.snapshot.head.clone();
    let answers = taken.snapshot.answers.len();
    let (run, bytes) = snapshots::keep(&store, &args.labels, taken)?;
    if args.form.is_json() {
        let told =
            json!({ "run": run, "server": head.server, "version": head.version, "answers": answers, "bytes": bytes });
        print::json(&format!("{told}\n"))?;
    } else if !global.quiet {
        let size = Unit::Bytes.human(bytes as f64);
        print::message(&format!(
            "snapshot of {} ({}): {answers} answers, {size}, kept as {run}\nnext: fenxi db snap, then fenxi db report @2 @1",
            head.server, head.version
        ));
    }
    Ok(ExitCode::SUCCESS)
}
