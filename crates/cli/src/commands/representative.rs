//! `fenxi representative`.

use std::process::ExitCode;

use clap::Args;
use fenxi_compare::{Representative, Stood, group};
use serde_json::json;

use crate::{args::Cli, print, stores};

/// `fenxi representative`
#[derive(Debug, Args)]
#[command(after_help = "\
The representative run is the medoid: the run nearest to all others over all
metrics, each in standard deviations. A distance of about 1 is ordinary; a run
much farther away is an outlier.

Example:
  fenxi representative kernel=6.18")]
pub struct RepresentativeArgs {
    /// Repeated runs of the same experiment
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<String>,
    /// Time window: `all`, a name, FROM..TO, or `auto` for the steady state
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub window: String,
    /// Print JSON Lines, one object per run
    #[arg(long)]
    pub json: bool,
}

/// Lists the runs, the nearest to the representative one first.
pub fn run(cli: &Cli, args: &RepresentativeArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(cli)?;
    let runs = group(&store, &args.runs.join(","))?;
    let found = Representative::of(&store, &runs, &args.window)?;
    print::put(print::Form::json_if(args.json), list(&found, args.json).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The runs and their distances, the nearest to the representative one first.
pub fn list(found: &Representative, as_json: bool) -> String {
    let order = found.nearest_first();
    if as_json {
        return order.into_iter().map(|stood| format!("{}\n", json!(stood))).collect();
    }
    let remark = |stood: &Stood| match (stood.representative, stood.outlier) {
        (true, _) => "representative",
        (_, true) => "outlier",
        _ => "",
    };
    let row = |stood: &Stood| {
        let distance = format!("{:.2}", stood.distance);
        vec![stood.run.to_string(), stood.name.clone(), distance, remark(stood).to_owned()]
    };
    let rows: Vec<Vec<String>> = order.into_iter().map(row).collect();
    print::columns(&["run", "name", "distance", ""], &[2], &rows)
}
