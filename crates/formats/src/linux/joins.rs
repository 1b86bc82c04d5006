//! Rows of several tables, gathered from the sections of one sample.

use fenxi_model::{Micros, Table, catalog::N_COMMON};

use crate::{Join, Out};

/// Rows that are gathered from the sections of a sample: a [`Join`] for each table.
#[derive(Default)]
pub(crate) struct Joins(Vec<(&'static Table, Join)>);

impl Joins {
    /// Sets a column of the row of `key` in `table`. A mean size of zero is that of nothing: NULL.
    pub(crate) fn set(
        &mut self,
        out: &mut Out<'_>,
        (t, dt): (Micros, Option<f64>),
        (table, place): (&'static Table, usize),
        key: &str,
        value: Option<f64>,
    ) {
        let is_size = |name: &str| name.ends_with("_size_bytes") || name.ends_with("_packet_bytes");
        let size = table.columns.get(place).is_some_and(|c| is_size(c.name));
        self.of(table).set_column(out, (t, dt), key, place, value.filter(|v| !(size && *v == 0.0)));
    }

    /// The rows of a table.
    fn of(&mut self, table: &'static Table) -> &mut Join {
        let at = self.0.iter().position(|(t, _)| t.id == table.id).unwrap_or_else(|| {
            let keyed = ["cpu", "disk", "fs", "net"].contains(&table.name);
            let key = keyed.then_some(N_COMMON);
            let places: Vec<usize> = (N_COMMON..table.columns.len()).filter(|p| Some(*p) != key).collect();
            self.0.push((table, Join::any(table, key, places)));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    /// Writes all that is gathered.
    pub(crate) fn flush(&mut self, out: &mut Out<'_>) {
        for (_, join) in &mut self.0 {
            join.flush(out);
        }
    }
}
