//! Rows of several tables, gathered from the sections of one sample.

use fenxi_model::{Table, catalog::N_COMMON};

use crate::import::{Join, Out};

/// Rows that are gathered from the sections of a sample: a [`Join`] for each table.
#[derive(Default)]
pub(in crate::import) struct Joins(Vec<(&'static Table, Join)>);

impl Joins {
    /// The rows of a table.
    pub(in crate::import) fn of(&mut self, table: &'static Table) -> &mut Join {
        let at = self.0.iter().position(|(t, _)| t.id == table.id).unwrap_or_else(|| {
            let keyed = ["cpu", "disk", "fs", "net"].contains(&table.name);
            let key = keyed.then_some(N_COMMON);
            let places: Vec<usize> = (N_COMMON..table.columns.len()).filter(|p| Some(*p) != key).collect();
            self.0.push((table, Join::new(table, key, &places)));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    /// Writes all that is gathered.
    pub(in crate::import) fn flush(&mut self, out: &mut Out<'_>) {
        for (_, join) in &mut self.0 {
            join.flush(out);
        }
    }
}
