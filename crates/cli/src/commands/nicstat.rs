//! `fenxi nicstat`.

use std::process::ExitCode;

use clap::Args;
use fenxi_live::Json;
use fenxi_model::catalog::{net, tcp, udp};

use super::live::{self, LiveArgs, Tool};
use crate::args::Cli;

/// `fenxi nicstat`
#[derive(Debug, Args)]
pub struct NicstatArgs {
    /// When, how often, and where to
    #[command(flatten)]
    pub live: LiveArgs,
}

/// Shows it until the count is reached or a signal comes.
pub fn run(cli: &Cli, args: &NicstatArgs) -> anyhow::Result<ExitCode> {
    let tables = vec![&net::TABLE, &tcp::TABLE, &udp::TABLE];
    let view = Box::new(Json::new(&tables));
    live::run(
        cli,
        &args.live,
        Tool {
            name: "nicstat",
            sources: live::sources(&["net", "tcp", "udp"]),
            tables,
            view,
            since_boot: false,
            command: None,
        },
    )
}
