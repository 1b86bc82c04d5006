//! `fenxi ask`.

pub mod board;
pub mod playbook;

use std::process::ExitCode;

use clap::Args;
use fenxi_query::{Question, boards, playbooks, question, questions};
use fenxi_store::Store;
use serde_json::json;

use crate::{
    answers::{self, Statement},
    options::{AnswerArgs, Format, Global, key_value},
    print, stores,
};

/// `fenxi ask`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fenxi ask                              list the questions
  fenxi ask hottest-cpu                  answer one for the latest run
  fenxi ask top-processes @1 @2          for two runs
  fenxi ask top-processes 03:10..03:25   for a range of time
  fenxi ask hottest-cpu -f csv -o cpu.csv
  fenxi ask hot-disks --sql              print its SQL
  fenxi ask --playbook cpu-is-full @2    go through a playbook for a run
  fenxi ask --board orders @1            text and answers of a board")]
pub struct AskArgs {
    /// Question to answer (`fenxi list questions`)
    #[arg(value_name = "QUESTION")]
    pub question: Option<String>,
    /// Runs or ranges of time to answer it for, as -r takes them [default: @1]
    #[arg(value_name = "RUN[/FROM..TO]")]
    pub runs: Vec<String>,
    /// Answer the questions of a playbook in its order, with what to look for and what follows
    #[arg(long, value_name = "PLAYBOOK", conflicts_with_all = ["sql", "param"])]
    pub playbook: Option<String>,
    /// List the playbooks, as `fenxi list playbooks` does
    #[arg(long, hide = true, conflicts_with_all = ["question", "playbook", "sql", "param"])]
    pub playbooks: bool,
    /// Print a board of the store: its text, and the first rows of each answer
    #[arg(long, value_name = "BOARD", conflicts_with_all = ["playbook", "playbooks", "sql", "param"])]
    pub board: Option<String>,
    /// List the boards, as `fenxi list boards` does
    #[arg(long, hide = true, conflicts_with_all = ["question", "playbook", "playbooks", "board", "sql", "param"])]
    pub boards: bool,
    /// Parameter of the question (repeatable)
    // `-p` is a process everywhere else; it was this once.
    #[arg(long, short_alias = 'p', value_name = "KEY=VALUE", value_parser = key_value)]
    pub param: Vec<(String, String)>,
    /// Print the SQL of the question instead of its answer
    #[arg(long)]
    pub sql: bool,
    /// Output format, runs [default: @1] and limits
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// Answers a ready question, or lists them.
pub fn run(global: &Global, args: &AskArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(global)?;
    let format = args.answer.format();
    let form = print::Form::json_if(format == Format::Json);
    if args.playbooks {
        print::paged(form, &playbook::list(&playbooks(&store)?, format))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(name) = &args.playbook {
        print::paged(form, &through(&store, args, name)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.boards {
        print::paged(form, &board::list(&boards(&store)?, format))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(name) = &args.board {
        print::paged(form, &of_board(&store, args, name)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(name) = &args.question else {
        print::paged(form, &list(&questions(&store)?, format))?;
        return Ok(ExitCode::SUCCESS);
    };
    let question = question(&store, name)?;
    if args.sql {
        print::data(question.sql.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    answer(&store, global, args, &question)
}

impl AskArgs {
    /// The runs that are named. With a playbook or a board, all words are runs.
    fn runs(&self) -> Vec<String> {
        let first = self.question.iter().filter(|_| self.playbook.is_some() || self.board.is_some());
        first.chain(&self.runs).chain(&self.answer.run).cloned().collect()
    }
}

/// All steps of a playbook, answered.
fn through(store: &Store, args: &AskArgs, name: &str) -> anyhow::Result<String> {
    let playbook = fenxi_query::playbook(store, name)?;
    let runs = args.answer.range.of(&args.runs(), &["@1"]);
    let scope = answers::scope(store, &runs)?;
    let engine = answers::engine(store, &args.answer)?;
    let asking = playbook::Asking { store, engine: &engine, scope: &scope, runs: &runs };
    asking.tell(&playbook, args.answer.format(), print::width(&std::io::stdout()))
}

/// A board with its answers: over the runs given, or those that it names.
fn of_board(store: &Store, args: &AskArgs, name: &str) -> anyhow::Result<String> {
    let board = fenxi_query::board(store, name)?;
    let mut runs = args.runs();
    if runs.is_empty() {
        let own = board.run.as_deref().unwrap_or("@1");
        runs.extend(own.split(',').map(|run| run.trim().to_owned()));
    }
    let scope = answers::scope(store, &runs)?;
    let engine = answers::engine(store, &args.answer)?;
    let asking = playbook::Asking { store, engine: &engine, scope: &scope, runs: &runs };
    asking.board(&board, args.answer.format(), print::width(&std::io::stdout()))
}

fn answer(store: &Store, global: &Global, args: &AskArgs, question: &Question) -> anyhow::Result<ExitCode> {
    let scope = answers::scope(store, &args.answer.range.of(&args.runs(), &["@1"]))?;
    let engine = answers::engine(store, &args.answer)?;
    if args.answer.format() == Format::Table && !global.quiet {
        print::message(&print::for_terminal(&format!("{}: {}", question.title, question.about)));
    }
    let params = question.bind(&args.param)?;
    answers::answer(&engine, &Statement::Question(&question.sql, &params), &scope, args.answer.format())
}

/// The questions, a line for each.
pub fn list(all: &[Question], format: Format) -> String {
    if format == Format::Json {
        let line = |q: &Question| {
            let params: Vec<_> = q.params.iter().map(|p| json!({ "name": p.name, "about": p.about })).collect();
            json!({ "question": q.name, "section": q.section.to_string(), "title": q.title, "about": q.about, "params": params, "own": q.own })
                .to_string()
                + "\n"
        };
        return all.iter().map(line).collect();
    }
    let row = |q: &Question| {
        let params: Vec<_> = q.params.iter().map(|p| p.name.clone()).collect();
        vec![q.name.clone(), q.section.to_string(), q.title.clone(), params.join(", ")]
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    print::listing(&["question", "section", "title", "parameters"], &[], &[3, 1], &rows)
}
