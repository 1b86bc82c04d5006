//! `fenxi load`: workloads, loading of tables, and their removal; running is in `load/run.rs` (plan, drive, print).

mod exporter;
mod fit;
mod run;
mod team;

use std::{ops::ControlFlow, process::ExitCode};

use clap::{Args, Subcommand};
use fenxi_load::{
    prepare::{self, Progress},
    workload::{Program, SHIPPED, Workload},
};
use fenxi_wire::{client::Client, target::Target};
use serde_json::json;

use self::{
    fit::FitArgs,
    run::{PATIENCE, RunArgs},
    team::WorkerArgs,
};
use crate::{
    options::{
        Global, JsonArgs,
        database::{caution, surroundings},
        key_value,
    },
    print,
    progress::{LoadLine, plural},
    stop::Stop,
};

/// `fenxi load`
#[derive(Debug, Args)]
#[command(after_help = "\
URLs: postgres://USER[:PASSWORD]@HOST[:PORT]/DATABASE or mysql://…; without a
host, the server's local Unix socket. URL parameters for PostgreSQL: sslmode,
sslrootcert, channel_binding, host=/DIRECTORY; for MySQL and MariaDB: ssl-mode,
ssl-ca, socket=/PATH. Passwords can also come from PGPASSWORD, PGPASSFILE,
~/.pgpass and MYSQL_PWD, and leave this machine only under TLS.

Examples:
  fenxi load workloads
  fenxi load prepare postgres://postgres@/test -w oltp_read_write \\
      --set tables=4
  fenxi load run postgres://postgres@/test -w oltp_read_write \\
      --set tables=4 -c 64 --for 60s
  fenxi load run mysql://root@127.0.0.1/test -w oltp_point_select \\
      -c 64 --rate 5000 --record
  fenxi load cleanup postgres://postgres@/test -w oltp_read_write \\
      --set tables=4")]
pub struct LoadArgs {
    /// Subcommand
    #[command(subcommand)]
    pub command: LoadCommand,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum LoadCommand {
    /// List workloads, or the options of one
    Workloads(WorkloadsArgs),
    /// Create and populate the tables of a workload; resumable
    Prepare(PrepareArgs),
    /// Run a workload open-loop (at a given rate) or closed-loop
    Run(Box<RunArgs>),
    /// Make a workload like the load of a run
    Fit(Box<FitArgs>),
    /// Drop the tables of a workload
    Cleanup(CleanupArgs),
    /// Take part in a distributed load (`fenxi load run --workers`)
    Worker(WorkerArgs),
}

/// `fenxi load workloads`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fenxi load workloads
  fenxi load workloads oltp_read_write")]
pub struct WorkloadsArgs {
    /// Workload: a name, or the path of a file
    #[arg(value_name = "WORKLOAD")]
    pub workload: Option<String>,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// Which workload goes where.
#[derive(Debug, Args)]
pub struct Where {
    /// Database URL
    #[arg(value_name = "URL")]
    pub url: String,
    /// Workload: a name, or the path of a file
    #[arg(long, short, value_name = "WORKLOAD")]
    pub workload: String,
    /// Option of the workload (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// Random seed
    #[arg(long, default_value_t = 1, value_name = "N", help_heading = "How transactions are sent")]
    pub seed: u64,
}

/// `fenxi load prepare`
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  fenxi load prepare postgres:///test -w oltp_read_write --set tables=4")]
pub struct PrepareArgs {
    /// Database and workload
    #[command(flatten)]
    pub place: Where,
    /// Number of connections
    #[arg(long, short, default_value_t = 4, value_name = "N")]
    pub connections: usize,
}

/// `fenxi load cleanup`
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  fenxi load cleanup postgres:///test -w oltp_read_write --set tables=4")]
pub struct CleanupArgs {
    /// Database and workload
    #[command(flatten)]
    pub place: Where,
}

/// Runs a subcommand.
pub fn run(global: &Global, args: &LoadArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        LoadCommand::Workloads(args) => workloads(args),
        LoadCommand::Prepare(args) => fill(global, args),
        LoadCommand::Run(args) => run::run(global, args),
        LoadCommand::Fit(args) => fit::run(global, args),
        LoadCommand::Worker(args) => team::worker(global, args),
        LoadCommand::Cleanup(args) => {
            let (_, target, program) = resolve(&args.place)?;
            caution(Client::connect(&target, PATIENCE)?.cautions());
            let removed = prepare::cleanup(&target, &program)?;
            if !global.quiet {
                print::message(&format!("removed {} from {target}", plural(removed as u64, "table")));
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The workload of a name or of a file.
fn workload(name: &str) -> anyhow::Result<Workload> {
    Ok(Workload::parse(name, &workload_text(name)?)?)
}

/// The text of the workload of a name or of a file.
fn workload_text(name: &str) -> anyhow::Result<String> {
    if name.contains('/') || name.ends_with(".toml") {
        return Ok(fs_err::read_to_string(name)?);
    }
    Ok(Workload::shipped_text(name)?.to_owned())
}

/// Resolves a command line: the workload with its options, the database, and the program that runs there.
fn resolve(place: &Where) -> anyhow::Result<(Workload, Target, Program)> {
    let target = Target::parse(&place.url, &surroundings(&place.url)?)?;
    let mut workload = workload(&place.workload)?;
    for (key, value) in &place.set {
        workload.set(key, value)?;
    }
    let program = workload.compile(target.login.dialect)?;
    Ok((workload, target, program))
}

/// Lists workloads, or the options of one.
pub fn workloads(args: &WorkloadsArgs) -> anyhow::Result<ExitCode> {
    let Some(name) = &args.workload else {
        let all = SHIPPED.iter().map(|(name, _)| workload(name)).collect::<anyhow::Result<Vec<_>>>()?;
        let text = if args.form.is_json() {
            let list: Vec<_> = all.iter().map(|w| json!({ "name": w.name, "about": w.about })).collect();
            format!("{}\n", serde_json::to_string_pretty(&list)?)
        } else {
            let rows: Vec<_> = all.iter().map(|w| vec![w.name.clone(), w.about.clone()]).collect();
            print::listing(&["workload", "description"], &[], &[], &rows)
        };
        print::put(print::Form::json_if(args.form.is_json()), text.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    };
    let workload = workload(name)?;
    let text = if args.form.is_json() {
        let option = |(key, option): (&String, &fenxi_load::workload::WorkloadOption)| json!({ "name": key, "value": option.value.to_string(), "about": option.about, "shapes_tables": option.shapes_tables });
        let options: Vec<_> = workload.options.iter().map(option).collect();
        let whole = json!({ "name": workload.name, "about": workload.about, "options": options });
        format!("{}\n", serde_json::to_string_pretty(&whole)?)
    } else {
        let rows: Vec<_> = workload
            .options
            .iter()
            .map(|(key, option)| {
                let prepared = if option.shapes_tables { "prepare" } else { "" };
                vec![key.clone(), option.value.to_string(), prepared.to_owned(), option.about.clone()]
            })
            .collect();
        format!(
            "{}\n\n{}",
            workload.about,
            print::listing(&["option", "default", "for", "what it is"], &[], &[], &rows)
        )
    };
    print::put(print::Form::json_if(args.form.is_json()), text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn fill(global: &Global, args: &PrepareArgs) -> anyhow::Result<ExitCode> {
    let (_, target, program) = resolve(&args.place)?;
    caution(Client::connect(&target, PATIENCE)?.cautions());
    let stop = Stop::on_interrupt();
    let line = LoadLine::new(global.quiet);
    let watch = &mut |progress: Progress| {
        line.show(&progress);
        if stop.asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let prepared = prepare::prepare(&target, &program, args.place.seed, args.connections, watch);
    line.clear();
    let prepared = prepared?;
    if !global.quiet {
        let mut text =
            format!("{} with {} in {target}", plural(prepared.tables as u64, "table"), plural(prepared.rows, "row"));
        if prepared.loaded > 0 {
            let per_s = prepared.loaded as f64 / prepared.seconds;
            text.push_str(&format!("; {} loaded in {:.1} s ({per_s:.0} rows/s)", prepared.loaded, prepared.seconds));
        }
        if prepared.by_statements {
            text.push_str("; by INSERT, because LOAD DATA LOCAL is disabled on the server (`local_infile`)");
        }
        print::message(&text);
    }
    Ok(ExitCode::SUCCESS)
}
