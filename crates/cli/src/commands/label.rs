//! `fenxi label`: what may change of a run: name, tags, remarks, windows and marks.

mod log;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use self::log::LogArgs;
use super::{
    mark::{self, MarkArgs},
    tag::{self, TagArgs},
    window::{self, WindowArgs},
};
use crate::options::Global;

/// `fenxi label`
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Labels can change at any time; the data of a run does not.

Examples:
  fenxi label name @1 baseline
  fenxi label tag @1 kernel=6.18 good=yes
  fenxi label remark @1 'the disk was nearly full'
  fenxi label window @1 steady 60s..540s
  fenxi label mark 'failover begins'      in the recording in progress"
)]
pub struct LabelArgs {
    /// Label
    #[command(subcommand)]
    pub command: LabelCommand,
}

/// The labels.
#[derive(Debug, Subcommand)]
pub enum LabelCommand {
    /// Name runs, or remove their name
    Name(NameArgs),
    /// Set or remove tags of runs
    Tag(TagArgs),
    /// Add a remark to runs
    Remark(RemarkArgs),
    /// Define time windows in runs, such as the steady state
    Window(WindowArgs),
    /// Name a moment in a recording in progress, or in a run
    Mark(MarkArgs),
    /// Show who changed labels of a run, and when
    Log(LogArgs),
}

/// `fenxi label name`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fenxi label name @1 baseline
  fenxi label name @1 ''          (removes the name)")]
pub struct NameArgs {
    /// Run to name
    #[arg(value_name = "RUN")]
    pub run: String,
    /// The name; an empty one removes it
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// `fenxi label remark`
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  fenxi label remark @1 'the disk was nearly full'")]
pub struct RemarkArgs {
    /// Run to add it to
    #[arg(value_name = "RUN")]
    pub run: String,
    /// The remark
    #[arg(value_name = "TEXT")]
    pub text: String,
}

/// Changes labels.
pub fn run(global: &Global, args: &LabelArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        LabelCommand::Name(NameArgs { run, name }) => {
            tag::run(global, &TagArgs { run: run.clone(), tags: Vec::new(), name: Some(name.clone()), remarks: None })
        }
        LabelCommand::Tag(args) => tag::run(global, args),
        LabelCommand::Remark(RemarkArgs { run, text }) => {
            tag::run(global, &TagArgs { run: run.clone(), tags: Vec::new(), name: None, remarks: Some(text.clone()) })
        }
        LabelCommand::Window(args) => window::run(global, args),
        LabelCommand::Mark(args) => mark::run(global, args),
        LabelCommand::Log(args) => log::run(global, args),
    }
}
