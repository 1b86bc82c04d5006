//! `fenxi mcp`.

use std::{
    io::{self, BufReader},
    process::ExitCode,
    time::Duration,
};

use clap::Args;
use fenxi_mcp::{Settings, serve};
use fenxi_serve::Limits;

use crate::{
    options::{Global, seconds, size},
    print, stores,
};

/// `fenxi mcp`
#[derive(Debug, Args)]
#[command(after_help = "\
Speaks the Model Context Protocol on stdin and stdout, so that a client with a
language model can ask about runs: list_runs, show_run, catalogue, questions,
ask, chart (PNG or SVG), sql, findings, explain, compare, trend. Resources have
the addresses of pages, such as fenxi:///run?run=@1. Nothing can be changed.

Examples:
  fenxi mcp --store /srv/fenxi          (as the command of a server in a client)
  claude mcp add fenxi -- fenxi mcp
  {\"mcpServers\": {\"fenxi\": {\"command\": \"fenxi\", \"args\": [\"mcp\"]}}}
  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",
    \"params\":{\"name\":\"findings\",\"arguments\":{}}}' | tr -d '\\n' | fenxi mcp")]
pub struct McpArgs {
    /// Memory limit of an answer
    #[arg(long, value_name = "SIZE", default_value = "1GB", value_parser = size)]
    pub memory: u64,
    /// Time limit per answer
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = seconds)]
    pub time_limit: f64,
    /// Maximum number of rows per answer
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub rows: usize,
    /// Maximum size of an answer's text
    #[arg(long, value_name = "SIZE", default_value = "256kB", value_parser = size)]
    pub answer: u64,
    /// Omit custom questions that imported runs carry
    #[arg(long)]
    pub no_carried: bool,
}

/// Answers until stdin ends.
pub fn run(global: &Global, args: &McpArgs) -> anyhow::Result<ExitCode> {
    let limits = Limits {
        memory_bytes: args.memory,
        time: Duration::from_secs_f64(args.time_limit),
        rows: args.rows.max(1),
        ..Limits::default()
    };
    let quiet = global.quiet;
    let settings = Settings {
        store: stores::open(global)?,
        limits,
        answer_bytes: usize::try_from(args.answer).unwrap_or(usize::MAX),
        carried: !args.no_carried,
        log: Box::new(move |line| {
            if !quiet {
                print::message(line);
            }
        }),
    };
    serve(&settings, BufReader::new(io::stdin()), print::Stdout::new(print::Form::Json))?;
    Ok(ExitCode::SUCCESS)
}
