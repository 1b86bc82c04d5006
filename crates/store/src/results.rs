//! Results and facts of a run, as plain values.

use std::collections::BTreeMap;

use arrow_array::{
    Array, RecordBatch,
    cast::AsArray,
    types::{Float64Type, Int32Type},
};
use fenxi_model::{Better, RunId};

use crate::{Store, StoreError};

/// One result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// Its name.
    pub name: String,
    /// Which command or tool it comes from; empty where unknown.
    pub source: String,
    /// Its value.
    pub value: f64,
    /// Its unit, in words.
    pub unit: String,
    /// Which direction is good.
    pub better: Better,
}

impl Store {
    /// The results of a run that have a value, in the order of the file: by host and name.
    ///
    /// # Errors
    /// When there is no such run, or it cannot be read.
    pub fn results(&self, run: &RunId) -> Result<Vec<RunResult>, StoreError> {
        self.first_results(run, usize::MAX)
    }

    /// The first `most` of [`Store::results`]; no more of the file is read than they need.
    ///
    /// # Errors
    /// As [`Store::results`].
    pub fn first_results(&self, run: &RunId, most: usize) -> Result<Vec<RunResult>, StoreError> {
        let read = || -> Result<Vec<RecordBatch>, StoreError> {
            let manifest = self.manifest(run)?;
            let Some(entry) = manifest.file("result") else { return Ok(Vec::new()) };
            let (mut batches, mut rows) = (Vec::new(), 0);
            for batch in self.rows(run, entry, None)? {
                let batch = batch?;
                rows += batch.num_rows();
                batches.push(batch);
                if rows >= most {
                    break;
                }
            }
            Ok(batches)
        };
        let mut results = Vec::new();
        for batch in self.settled(read)? {
            let Some(values) = batch.column_by_name("value").and_then(|c| c.as_primitive_opt::<Float64Type>()) else {
                continue;
            };
            for row in (0..batch.num_rows()).filter(|row| values.is_valid(*row)) {
                let word = |name| label(&batch, name, row).unwrap_or_default();
                results.push(RunResult {
                    name: word("name").to_owned(),
                    source: word("source").to_owned(),
                    value: values.value(row),
                    unit: word("unit").to_owned(),
                    better: Better::parse(word("better")),
                });
            }
        }
        results.truncate(most);
        Ok(results)
    }

    /// The facts of a run by topic and name; of those read twice, what they were at the start.
    ///
    /// # Errors
    /// When there is no such run, or it cannot be read.
    pub fn facts(&self, run: &RunId) -> Result<BTreeMap<(String, String), String>, StoreError> {
        let mut facts = BTreeMap::new();
        for batch in self.read(run, "text")? {
            let Some(values) = batch.column_by_name("value").and_then(|c| c.as_string_opt::<i32>()) else { continue };
            for row in (0..batch.num_rows()).filter(|row| values.is_valid(*row)) {
                if label(&batch, "phase", row) == Some("end") {
                    continue;
                }
                let word = |name| label(&batch, name, row).unwrap_or_default().to_owned();
                facts.insert((word("topic"), word("name")), values.value(row).to_owned());
            }
        }
        Ok(facts)
    }
}

/// A label of a row; None where it is NULL or the rows have no such column of labels.
pub fn label<'b>(batch: &'b RecordBatch, column: &str, row: usize) -> Option<&'b str> {
    let labels = batch.column_by_name(column)?.as_dictionary_opt::<Int32Type>()?;
    Some(labels.values().as_string_opt::<i32>()?.value(labels.key(row)?))
}
