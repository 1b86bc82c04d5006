//! `fenxi representative`.

use std::process::ExitCode;

use clap::Args;
use fenxi_compare::{Representative, group};

use crate::{
    distances,
    options::{Global, WindowArg},
    print, stores,
};

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
    /// Which part of the runs
    #[command(flatten)]
    pub part: WindowArg,
    /// Print JSON Lines, one object per run
    #[arg(long)]
    pub json: bool,
}

/// Lists the runs, the nearest to the representative one first.
pub fn run(global: &Global, args: &RepresentativeArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(global)?;
    let runs = group(&store, &args.runs.join(","))?;
    let found = Representative::of(&store, &runs, &args.part.window)?;
    print::put(print::Form::json_if(args.json), distances::list(&found, args.json).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
