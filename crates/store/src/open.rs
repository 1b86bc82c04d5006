//! A run being recorded.
use fenxi_model::{Rows, RunId};

use crate::{End, StoreError};

/// A run being recorded; dropping it without [`OpenRun::seal`] leaves it for [`crate::Store::recover`].
#[derive(Debug)]
pub struct OpenRun {
    id: RunId,
}

impl OpenRun {
    /// The id it has and keeps.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Takes all rows out of `rows` and writes them: one write a table.
    ///
    /// # Errors
    /// When a file cannot be written; what was written before stays.
    pub fn append(&mut self, _rows: &mut Rows) -> Result<(), StoreError> {
        Err(StoreError::damaged("", "unfinished"))
    }

    /// Turns the recording into a run and gives its id.
    ///
    /// # Errors
    /// When it cannot be written; the recording is kept and a later [`crate::Store::recover`] seals it.
    pub fn seal(self, _end: End) -> Result<RunId, StoreError> {
        Err(StoreError::damaged("", "unfinished"))
    }
}
