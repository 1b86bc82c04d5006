//! `fenxi pstime`.

use std::process::ExitCode;

use clap::Args;
use fenxi_live::Json;
use fenxi_model::catalog::process;

use super::live::{self, LiveArgs, Tool};
use crate::args::Cli;

/// `fenxi pstime`
#[derive(Debug, Args)]
pub struct PstimeArgs {
    /// When, how often, and where to
    #[command(flatten)]
    pub live: LiveArgs,
}

/// Shows it until the count is reached or a signal comes.
pub fn run(cli: &Cli, args: &PstimeArgs) -> anyhow::Result<ExitCode> {
    let tables = vec![&process::TABLE];
    let view = Box::new(Json::new(&tables));
    live::run(
        cli,
        &args.live,
        Tool { name: "pstime", sources: live::sources(&["process"]), tables, view, since_boot: false, command: None },
    )
}
