//! `fenxi watch`: the live tools, which are also commands under their own names when linked so.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use fenxi_remote::Target;

use super::{
    db::{self, CheckArgs, top},
    dbstat::{self, DbstatArgs},
    memstat::{self, MemstatArgs},
    mpstat::{self, MpstatArgs},
    nicstat::{self, NicstatArgs},
    pstime::{self, PstimeArgs},
    util::{self, UtilArgs},
};
use crate::options::Global;

/// `fenxi watch`
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
A tool is also started by its own name through a link to fenxi (`nicstat 1`).
Each can save what it shows as a run (--save), replay one (--run), and run at
another host (--on).

Examples:
  fenxi watch mpstat 1                       every CPU, every second
  fenxi watch pstime -- make -j8             CPU time of a command
  fenxi watch db postgres://mon@db1/shop 5   a database server
  fenxi watch nicstat 1 --on db1             another host"
)]
pub struct WatchArgs {
    /// Tool
    #[command(subcommand)]
    pub command: WatchCommand,
}

/// The tools.
#[derive(Debug, Subcommand)]
pub enum WatchCommand {
    /// Show utilisation and interrupts of every CPU
    Mpstat(Box<MpstatArgs>),
    /// Show throughput, utilisation and errors of network interfaces
    Nicstat(Box<NicstatArgs>),
    /// Show CPU time of processes, exact to the nanosecond
    Pstime(Box<PstimeArgs>),
    /// Show CPU utilisation, sampled and measured side by side
    Util(Box<UtilArgs>),
    /// Show memory use, and page cache residency of files
    Memstat(Box<MemstatArgs>),
    /// Show what a database server does, one line an interval
    #[command(visible_alias = "dbstat")]
    Db(Box<DbstatArgs>),
    /// Show a database server on a whole screen: sessions, statements, locks
    DbTop(Box<top::TopArgs>),
    /// Check what an observation of a database server would see, and what not
    DbCheck(Box<CheckArgs>),
}

impl WatchArgs {
    /// The other host at which it is to run.
    pub fn on(&self) -> Option<&Target> {
        match &self.command {
            WatchCommand::Mpstat(args) => args.live.on.as_ref(),
            WatchCommand::Nicstat(args) => args.live.on.as_ref(),
            WatchCommand::Pstime(args) => args.live.on.as_ref(),
            WatchCommand::Util(args) => args.accounts.live.on.as_ref(),
            WatchCommand::Memstat(args) => args.live.on.as_ref(),
            WatchCommand::Db(args) => args.live.on.as_ref(),
            WatchCommand::DbTop(_) | WatchCommand::DbCheck(_) => None,
        }
    }
}

/// Runs the tool.
pub fn run(global: &Global, args: &WatchArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        WatchCommand::Mpstat(args) => mpstat::run(global, args),
        WatchCommand::Nicstat(args) => nicstat::run(global, args),
        WatchCommand::Pstime(args) => pstime::run(global, args),
        WatchCommand::Util(args) => util::run(global, args),
        WatchCommand::Memstat(args) => memstat::run(global, args),
        WatchCommand::Db(args) => dbstat::run(global, args),
        WatchCommand::DbTop(args) => top::run(global, args),
        WatchCommand::DbCheck(args) => db::run_check(args),
    }
}
