//! `fenxi sql`.

use std::{
    io::{self, Read},
    process::ExitCode,
};

use clap::Args;

use crate::{
    answers::{self, Statement},
    options::{AnswerArgs, Global},
    stores,
};

/// `fenxi sql`
#[derive(Debug, Args)]
#[command(after_help = "\
Every table of `fenxi list tables` covers all runs and has a column `run`. The
table `runs` has names, hosts, times and tags of runs, `cost` the recording
overhead.
`-` reads the statement from standard input. With --engine the statement is in
the cluster's SQL (Spark SQL), where `boot.cpu` is `boot_cpu`.

Examples:
  fenxi sql \"select run, avg(usr) from cpu where cpu is null group by run\"
  fenxi sql --run 03:10..03:25 \"select max(usr) from cpu\"
  fenxi sql -r @1 -f csv -o disk.csv \"select * from disk\"
  fenxi sql --engine sc://localhost:15002 \"select count(*) from cpu\"")]
pub struct SqlArgs {
    /// SQL statement
    pub statement: String,
    /// Output format, runs and limits
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// Answers one statement.
pub fn run(global: &Global, args: &SqlArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(global)?;
    let statement = match args.statement.as_str() {
        "-" => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text)?;
            text
        }
        text => text.to_owned(),
    };
    let scope = answers::scope(&store, &args.answer.runs(&[]))?;
    let engine = answers::engine(&store, &args.answer)?;
    answers::answer(&engine, &Statement::Own(&statement), &scope, args.answer.format())
}
