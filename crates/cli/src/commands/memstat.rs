//! `fenxi memstat`.

use std::process::ExitCode;

use clap::Args;
use fenxi_live::Json;
use fenxi_model::catalog::mem;

use super::live::{self, LiveArgs, Tool};
use crate::args::Cli;

/// `fenxi memstat`
#[derive(Debug, Args)]
pub struct MemstatArgs {
    /// When, how often, and where to
    #[command(flatten)]
    pub live: LiveArgs,
}

/// Shows it until the count is reached or a signal comes.
pub fn run(cli: &Cli, args: &MemstatArgs) -> anyhow::Result<ExitCode> {
    let tables = vec![&mem::TABLE];
    let view = Box::new(Json::new(&tables));
    live::run(
        cli,
        &args.live,
        Tool { name: "memstat", sources: live::sources(&["mem"]), tables, view, since_boot: false, command: None },
    )
}
