//! `fenxi representative`.

use std::process::ExitCode;

use clap::Args;

use crate::{
    distances,
    options::{Global, JsonArgs, WindowArg},
};

/// `fenxi representative`
#[derive(Debug, Args)]
#[command(after_help = "\
The representative run is the medoid: the run nearest to all others over all
metrics, each in standard deviations. A distance of about 1 is ordinary; a run
much farther away is an outlier.

Example:
  fenxi average kernel=6.18 --representative")]
pub struct RepresentativeArgs {
    /// Repeated runs of the same experiment
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<String>,
    /// Which part of the runs
    #[command(flatten)]
    pub part: WindowArg,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// Lists the runs, the nearest to the representative one first.
pub fn run(global: &Global, args: &RepresentativeArgs) -> anyhow::Result<ExitCode> {
    distances::show(global, &args.runs, &args.part.window, args.form.is_json())
}
