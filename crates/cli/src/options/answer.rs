//! How `sql` and `ask` answer.

use clap::{Args, ValueEnum};

use super::{EngineArgs, RangeArgs};

/// How an answer is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned text
    Table,
    /// Comma-separated values with a header
    Csv,
    /// One JSON object per line
    Json,
    /// A Parquet file (binary; redirect it)
    Parquet,
    /// Markdown table
    Markdown,
}

/// What `sql` and `ask` share.
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// Restrict the query to these runs or ranges of time (repeatable), which also
    /// speeds it up
    #[arg(long, short, value_name = "RUN")]
    pub run: Vec<String>,
    /// When
    #[command(flatten)]
    pub range: RangeArgs,
    /// Output format
    #[arg(long, short = 'o', value_enum, default_value = "table")]
    pub format: Format,
    /// Memory limit of the SQL engine in MiB; beyond it, the engine spills to disk
    #[arg(long, value_name = "MIB", default_value_t = 2048)]
    pub memory: u64,
    /// Threads of the SQL engine [default: one per CPU]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// The engine that answers
    #[command(flatten)]
    pub engine: EngineArgs,
}

impl AnswerArgs {
    /// The runs that are meant; `latest` where none is named.
    pub fn runs(&self, latest: &[&str]) -> Vec<String> {
        self.range.of(&self.run, latest)
    }
}
