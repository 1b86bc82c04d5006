//! `fenxi store`: the store as a whole, and its runs as files.

mod attend;
mod scrub;
mod status;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use self::{attend::AttendArgs, scrub::ScrubArgs, status::StatusArgs};
use super::{
    compact::{self, CompactArgs},
    export::{self, ExportArgs},
    pull::{self, PullArgs},
    push::{self, PushArgs},
    rm::{self, RmArgs},
    verify::{self, VerifyArgs},
};
use crate::options::Global;

/// `fenxi store`
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
The store is a directory: --store DIR, the environment variable FENXI_STORE, or
$XDG_DATA_HOME/fenxi.

Examples:
  fenxi store verify
  fenxi store rm @1
  fenxi store push ssh:perf-host
  fenxi store export @1 -o oltp.tar.zst    (`fenxi import` reads it)"
)]
pub struct StoreArgs {
    /// What to do
    #[command(subcommand)]
    pub command: StoreCommand,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Verify runs against their checksums
    Verify(VerifyArgs),
    /// Show the copies of a store, and what was repaired
    Status(StatusArgs),
    /// Compare all copies of a store, and repair them
    Scrub(ScrubArgs),
    /// Move tables of many runs into few large files, reversibly
    Compact(CompactArgs),
    /// Remove runs
    Rm(RmArgs),
    /// Copy what is missing to another host, a server, S3-compatible storage or a directory
    Push(PushArgs),
    /// Fetch runs from there
    Pull(PullArgs),
    /// Export runs to one archive file
    Export(ExportArgs),
    /// Serve the store to `fenxi store push` and `pull` of another host
    #[command(hide = true)]
    Attend(AttendArgs),
}

/// Does it.
pub fn run(global: &Global, args: &StoreArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        StoreCommand::Verify(args) => verify::run(global, args),
        StoreCommand::Status(args) => status::run(global, args),
        StoreCommand::Scrub(args) => scrub::run(global, args),
        StoreCommand::Compact(args) => compact::run(global, args),
        StoreCommand::Rm(args) => rm::run(global, args),
        StoreCommand::Push(args) => push::run(global, args),
        StoreCommand::Pull(args) => pull::run(global, args),
        StoreCommand::Export(args) => export::run(global, args),
        StoreCommand::Attend(args) => attend::run(global, args),
    }
}
