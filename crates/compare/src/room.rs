//! Memory limit of the statistics of a request: this process reads them without a worker, so nothing else bounds them.

use fenxi_query::{Engine, Interrupt, QueryError};
use fenxi_store::RunEntry;

use crate::CompareError;

/// Bytes of a series besides its key: read, kept by its name, compared and written.
const SERIES: u64 = 512;
/// How many times the bytes of an answer they may have: that is what an answer takes in this process while it is written.
const ANSWERS: u64 = 2;
/// Tables that are read whole into this process.
const READ: [&str; 3] = ["stats", "result", "text"];

/// Room for the statistics that one request reads, of all runs together; without a bound by default.
#[derive(Clone, Debug, Default)]
pub struct Room {
    /// Bytes that are left; None: no bound.
    left: Option<u64>,
    /// Whether the request was stopped.
    interrupt: Option<Interrupt>,
}

impl Room {
    /// The room that a request to `engine` has: as much as the engine's bounds say, until it is interrupted.
    pub fn of(engine: &Engine) -> Room {
        Room { left: engine.answer_bytes().map(|bytes| bytes * ANSWERS), interrupt: Some(engine.interrupt()) }
    }

    /// Room of so many bytes.
    pub fn of_bytes(bytes: u64) -> Room {
        Room { left: Some(bytes), interrupt: None }
    }

    /// Whether the statistics, results and facts of a run fit, before they are read.
    pub(crate) fn expect(&self, entry: &RunEntry) -> Result<(), CompareError> {
        let rows: u64 = READ.iter().filter_map(|table| entry.manifest.file(table)).map(|file| file.rows).sum();
        if self.left.is_some_and(|left| rows.saturating_mul(SERIES) > left) {
            return Err(self.full(entry));
        }
        if self.interrupt.as_ref().is_some_and(Interrupt::is_set) {
            return Err(QueryError::Interrupted.into());
        }
        Ok(())
    }

    /// Takes room for a series with so many bytes of texts; false where there is none, or the request was stopped.
    pub(crate) fn take(&mut self, texts: usize) -> bool {
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(SERIES + texts as u64);
        }
        self.left != Some(0) && !self.interrupt.as_ref().is_some_and(Interrupt::is_set)
    }

    /// Why there was no room for a run.
    pub(crate) fn full(&self, entry: &RunEntry) -> CompareError {
        match self.interrupt.as_ref().is_some_and(Interrupt::is_set) {
            true => QueryError::Interrupted.into(),
            false => CompareError::TooManySeries { run: entry.manifest.id.clone() },
        }
    }
}
