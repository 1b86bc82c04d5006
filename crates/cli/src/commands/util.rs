//! `fenxi util`.

use std::process::ExitCode;

use clap::Args;
use fenxi_live::Json;
use fenxi_model::catalog::cpu;

use super::live::{self, LiveArgs, Tool};
use crate::args::Cli;

/// `fenxi util`
#[derive(Debug, Args)]
pub struct UtilArgs {
    /// When, how often, and where to
    #[command(flatten)]
    pub live: LiveArgs,
}

/// Shows it until the count is reached or a signal comes.
pub fn run(cli: &Cli, args: &UtilArgs) -> anyhow::Result<ExitCode> {
    let tables = vec![&cpu::TABLE];
    let view = Box::new(Json::new(&tables));
    live::run(
        cli,
        &args.live,
        Tool { name: "util", sources: live::sources(&["cpu"]), tables, view, since_boot: false, command: None },
    )
}
