//! Results of an import, as its caller gets them.

use fenxi_formats::{Foreign, Tally};
use fenxi_model::RunId;

/// Result of one input.
#[derive(Clone, Debug)]
pub struct Imported {
    /// Its name.
    pub name: String,
    /// The format it was read as.
    pub format: Option<&'static str>,
    /// Its rows, times and notes.
    pub tally: Tally,
    /// Why it was not read, if it was not.
    pub skipped: Option<String>,
    /// Kind of binary file, where it is no text.
    pub foreign: Option<Foreign>,
    /// Bytes, unpacked.
    pub bytes: u64,
}

impl Imported {
    /// Why nothing of it is in the run; None when something is.
    pub fn unread(&self) -> Option<&str> {
        match (&self.skipped, self.format) {
            (Some(why), _) => Some(why),
            (None, None) => Some(self.foreign.map_or("unknown format", |foreign| foreign.what)),
            (None, Some(_)) if self.tally.rows() + self.tally.boot_rows == 0 => Some("nothing in it was understood"),
            (None, Some(_)) => None,
        }
    }
}

/// Result of an import.
#[derive(Debug)]
pub struct Outcome {
    /// The new run; None when the store already had everything.
    pub run: Option<RunId>,
    /// The runs that already have these inputs.
    pub already: Vec<RunId>,
    /// Each input in order.
    pub inputs: Vec<Imported>,
}
