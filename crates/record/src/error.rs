//! Why a recording failed.

use std::io;

use fenxi_store::StoreError;

/// Why a recording failed.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The command could not be started; nothing is kept.
    #[error("cannot run `{command}`: {source}")]
    Command {
        /// The program.
        command: String,
        /// Why.
        source: io::Error,
    },
    /// Of what was to be observed, nothing can be: a line for each source.
    #[error("nothing can be observed: {0}")]
    NoSource(String),
    /// The kernel refused timers or signal descriptors.
    #[error("cannot wait for the next sample: {0}")]
    Wait(#[from] io::Error),
    /// The run could not be begun or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The run could not be written any more. What was recorded until then is kept open.
    #[error(
        "recording stopped after {elapsed_s:.1} s: {source} (what was recorded until then is kept; the next command that opens the store seals it)"
    )]
    Append {
        /// Seconds recorded.
        elapsed_s: f64,
        /// Why.
        source: StoreError,
        /// Exit status of the command, which was let run to its end.
        exit_code: Option<i32>,
    },
}
