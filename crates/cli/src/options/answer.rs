//! How `sql` and `ask` answer.

use clap::Args;

use super::{EngineArgs, Format, RangeArgs, RowsArgs};

/// What `sql` and `ask` share.
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// Only these runs or ranges of time (repeatable)
    #[arg(long, short, value_name = "RUN[/FROM..TO]")]
    pub run: Vec<String>,
    /// When
    #[command(flatten)]
    pub range: RangeArgs,
    /// In which form, and where to
    #[command(flatten)]
    pub form: RowsArgs,
    /// Memory limit of the SQL engine in MiB; beyond it, the engine spills to disk
    #[arg(long, value_name = "MIB", default_value_t = 2048, help_heading = "SQL engine")]
    pub memory: u64,
    /// Threads of the SQL engine [default: one per CPU]
    #[arg(long, value_name = "N", help_heading = "SQL engine")]
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

    /// The form of the answer.
    pub fn format(&self) -> Format {
        self.form.format()
    }
}
