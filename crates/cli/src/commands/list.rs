//! `fenxi list`: what there is to choose from.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use fenxi_query::{boards, playbooks, questions};
use serde_json::json;

use super::{
    ask,
    findings::{self, FindingsArgs},
    formats::{self, FormatsArgs},
    load::{self, WorkloadsArgs},
    tables::{self, TablesArgs},
};
use crate::{
    options::{EngineArgs, Format, Global, JsonArgs, PageArgs, RangeArgs},
    print, stores,
};

/// `fenxi list`
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  fenxi list tables                what can be queried
  fenxi list tables disk           the columns of a table
  fenxi list sources               what `fenxi record --source` takes
  fenxi list questions             what `fenxi ask` answers
  fenxi list formats mpstat        an example of a format"
)]
pub struct ListArgs {
    /// What to list
    #[command(subcommand)]
    pub command: ListCommand,
}

/// What can be listed.
#[derive(Debug, Subcommand)]
pub enum ListCommand {
    /// List the tables that can be recorded, or describe one
    Tables(TablesArgs),
    /// List the sources that can be recorded
    Sources(SourcesArgs),
    /// List the formats that can be imported, describe or test one
    Formats(FormatsArgs),
    /// List the questions that `fenxi ask` answers
    Questions(QuestionsArgs),
    /// List playbooks, sequences of questions (`fenxi ask --playbook`)
    Playbooks(PlaybooksArgs),
    /// List the store's boards: text with questions in it (`boards/NAME.md`)
    Boards(BoardsArgs),
    /// List the rules of `fenxi findings`, and what a run lacks for each
    Findings(RulesArgs),
    /// List the workloads of `fenxi load`, or the options of one
    Workloads(WorkloadsArgs),
}

/// `fenxi list sources`
#[derive(Debug, Args)]
#[command(after_help = "\
Those marked * are recorded by default.

Examples:
  fenxi list sources
  fenxi record --source +pressure,-net --for 1m")]
pub struct SourcesArgs {
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// `fenxi list questions`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fenxi list questions
  fenxi ask hottest-cpu @1")]
pub struct QuestionsArgs {
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// `fenxi list playbooks`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fenxi list playbooks
  fenxi ask --playbook cpu-is-full @1")]
pub struct PlaybooksArgs {
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// `fenxi list boards`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fenxi list boards
  fenxi ask --board orders @1")]
pub struct BoardsArgs {
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// `fenxi list findings`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fenxi list findings       the rules, and what each detects
  fenxi list findings @1    with what a run lacks for each")]
pub struct RulesArgs {
    /// Runs or ranges of time: list also what they lack for each rule
    #[arg(value_name = "RUN[/FROM..TO]")]
    pub runs: Vec<String>,
    /// Form of the output
    #[command(flatten)]
    pub form: PageArgs,
    /// The engine that answers
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// Lists it.
pub fn run(global: &Global, args: &ListArgs) -> anyhow::Result<ExitCode> {
    let text = |form: &JsonArgs, text: String| {
        print::paged(print::Form::json_if(form.is_json()), &text)?;
        Ok(ExitCode::SUCCESS)
    };
    match &args.command {
        ListCommand::Tables(args) => tables::run(global, args),
        ListCommand::Formats(args) => formats::run(global, args),
        ListCommand::Workloads(args) => load::workloads(args),
        ListCommand::Findings(args) => {
            let RulesArgs { runs, form, engine } = args;
            let (runs, form, engine) = (runs.clone(), form.clone(), engine.clone());
            findings::run(global, &FindingsArgs { runs, range: RangeArgs::default(), all: true, form, engine })
        }
        ListCommand::Sources(args) => text(&args.form, sources(args.form.is_json())),
        ListCommand::Questions(args) => {
            text(&args.form, ask::list(&questions(&stores::open(global)?)?, of(&args.form)))
        }
        ListCommand::Playbooks(args) => {
            text(&args.form, ask::playbook::list(&playbooks(&stores::open(global)?)?, of(&args.form)))
        }
        ListCommand::Boards(args) => {
            text(&args.form, ask::board::list(&boards(&stores::open(global)?)?, of(&args.form)))
        }
    }
}

fn of(form: &JsonArgs) -> Format {
    if form.is_json() { Format::Json } else { Format::Table }
}

fn sources(as_json: bool) -> String {
    let tables =
        |source: &'static dyn fenxi_source::Source| source.spec().tables.iter().map(|t| t.name).collect::<Vec<_>>();
    let all = fenxi_record::sources();
    if as_json {
        let line = |source: &'static dyn fenxi_source::Source| {
            let spec = source.spec();
            json!({ "source": spec.name, "default": spec.default, "tables": tables(source), "about": spec.summary })
                .to_string()
                + "\n"
        };
        return all.map(line).collect();
    }
    let row = |source: &'static dyn fenxi_source::Source| {
        let spec = source.spec();
        let mark = if spec.default { "*" } else { "" };
        vec![spec.name.to_owned(), mark.to_owned(), spec.summary.to_owned(), tables(source).join(" ")]
    };
    print::listing(&["source", "", "about", "tables"], &[], &[], &all.map(row).collect::<Vec<_>>())
}
