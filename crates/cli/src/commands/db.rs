//! `fenxi db`: a database server as it is, and what can be seen of it.

mod diff;
mod report;
mod snap;
mod snapshots;
pub mod top;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use fenxi_db::check::{Finding, Seen, check};
use fenxi_model::Unit;
use serde_json::json;

use crate::{
    options::{
        Global, JsonArgs,
        database::{caution, server},
    },
    print,
};

/// `fenxi db`
#[derive(Debug, Args)]
pub struct DbCommandArgs {
    /// What to do
    #[command(subcommand)]
    pub command: DbCommand,
}

/// What to do with a database server.
#[derive(Debug, Subcommand)]
pub enum DbCommand {
    /// List what an observation of a server would see, what not, and what each reading takes
    #[command(hide = true)]
    Check(CheckArgs),
    /// Snapshot the counters of a database server, without a daemon
    Snap(snap::SnapArgs),
    /// Make a run of the interval between two snapshots
    Diff(diff::DiffArgs),
    /// Report one period of a server, two side by side, or two groups of runs
    Report(report::ReportArgs),
    /// Show a server on a whole screen: figures, active sessions, statements, locks
    #[command(hide = true)]
    Top(top::TopArgs),
}

/// `fenxi watch db-check`
#[derive(Debug, Args)]
#[command(after_help = "\
Asks once all that `fenxi record --db URL` asks again and again, and changes
nothing. The exit status is 1 when something is refused or hidden.

A role that sees everything:
  PostgreSQL  CREATE ROLE mon LOGIN; GRANT pg_monitor TO mon
  MariaDB     CREATE USER mon@host;
              GRANT PROCESS, SLAVE MONITOR ON *.* TO mon@host;
              GRANT SELECT ON performance_schema.* TO mon@host

Examples:
  fenxi watch db-check postgres:///shop
  fenxi watch db-check mysql://mon@db1/ -f json")]
pub struct CheckArgs {
    /// The server, such as `postgres:///shop` or `mysql://mon@db1/`
    pub url: String,
    /// Looks at sessions per second that are planned
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub db_rate: u32,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// Does it.
pub fn run(global: &Global, args: &DbCommandArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        DbCommand::Check(args) => run_check(args),
        DbCommand::Snap(args) => snap::run(global, args),
        DbCommand::Diff(args) => diff::run(global, args),
        DbCommand::Report(args) => report::run(global, args),
        DbCommand::Top(args) => top::run(global, args),
    }
}

/// Checks a server.
pub fn run_check(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let server = server(&args.url)?;
    let checked = check(&server, args.db_rate);
    caution(server.cautions());
    let (version, findings) = checked?;
    if args.form.is_json() {
        let list: Vec<_> = findings.iter().map(as_json).collect();
        let whole = json!({ "server": server.name(), "version": version, "readings": list });
        print::text(&format!("{}\n", serde_json::to_string_pretty(&whole)?))?;
    } else {
        let rows: Vec<_> = findings.iter().map(cells).collect();
        let table = print::listing(&["reading", "state", "answer", "every", "why"], &[2, 3], &[], &rows);
        print::text(&format!("{}  {version}\n\n{table}", server.name()))?;
    }
    let is_hidden = findings.iter().any(|finding| matches!(finding.seen, Seen::Refused | Seen::Partly));
    Ok(ExitCode::from(u8::from(is_hidden)))
}

fn as_json(finding: &Finding) -> serde_json::Value {
    json!({
        "reading": finding.what,
        "state": finding.seen.word(),
        "why": finding.why,
        "answer_s": finding.took_s,
        "every_s": finding.every_s,
    })
}

fn cells(finding: &Finding) -> Vec<String> {
    let seconds = |value: Option<f64>| value.map_or("-".to_owned(), |s| Unit::Seconds.human(s).to_string());
    let every = match finding.every_s {
        Some(0.0) => "once".to_owned(),
        every => seconds(every),
    };
    vec![
        finding.what.clone(),
        finding.seen.word().to_owned(),
        seconds(finding.took_s),
        every,
        finding.why.clone().unwrap_or_default(),
    ]
}
