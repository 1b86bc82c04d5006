//! Marks: moments that people name, in a run that is being recorded or beside a sealed one.
//!
//! Marks are labels: they are kept beside the run, which stays as it was recorded, and can be removed. Those set while a
//! recording goes on wait in `open/<id>/marks.jsonl`, a line each, until the run is sealed.

use std::{io::Write, path::Path};

use fenxi_model::RunId;

use crate::{Labels, Mark, Store, StoreError, bounds::WHOLE, folder::read_text};

/// The file of marks in a recording.
const FILE: &str = "marks.jsonl";

impl Store {
    /// Sets a mark in the run `id`, sealed or being recorded.
    ///
    /// # Errors
    /// When there is no such run, or the store cannot be written.
    pub fn mark(&self, id: &RunId, mark: Mark) -> Result<(), StoreError> {
        if self.run_dir(id).is_dir() {
            return self.change_labels(id, |entry| {
                entry.labels.add_mark(mark);
                Ok(())
            });
        }
        let turn = self.changing()?;
        // Sealed while we waited for our turn; from here on it cannot be.
        if self.run_dir(id).is_dir() {
            drop(turn);
            return self.mark(id, mark);
        }
        let dir = self.open_run_dir(id);
        if !dir.is_dir() {
            return Err(self.unknown(id.as_str()));
        }
        let path = dir.join(FILE);
        let mut line = serde_json::to_vec(&mark).map_err(|e| StoreError::damaged(&path, e))?;
        line.push(b'\n');
        let mut file = self.folder()?.append(self.name_of(&path)?, self.file_mode())?;
        file.write_all(&line)?;
        Ok(file.sync_data()?)
    }

    /// The marks of a run, sealed or being recorded, in order of time.
    ///
    /// # Errors
    /// When there is no such run, or it cannot be read.
    pub fn marks(&self, id: &RunId) -> Result<Vec<Mark>, StoreError> {
        let dir = self.open_run_dir(id);
        if dir.is_dir() && !self.run_dir(id).is_dir() {
            let mut labels = Labels::default();
            waiting(&dir)?.into_iter().for_each(|mark| labels.add_mark(mark));
            return Ok(labels.marks);
        }
        Ok(self.run(id)?.labels.marks)
    }

    /// Turns the marks that wait in the recording at `dir` into labels of the run that it becomes; `first` are the labels
    /// that it is made with.
    pub(crate) fn settle_marks(&self, id: &RunId, dir: &Path, first: Labels) -> Result<(), StoreError> {
        let marks = waiting(dir)?;
        if marks.is_empty() {
            return Ok(());
        }
        // There are labels when an earlier attempt to seal it came as far as this.
        let mut labels = self.read_labels(id)?.unwrap_or(first);
        marks.into_iter().for_each(|mark| labels.add_mark(mark));
        self.write_labels(id, &labels)
    }
}

/// The marks that wait in a recording. A line that was cut short with its writer is none.
fn waiting(dir: &Path) -> Result<Vec<Mark>, StoreError> {
    match read_text(&dir.join(FILE), WHOLE) {
        Ok(text) => Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(e.into()),
    }
}
