//! The `time_part` table: where the time of each run went, a row for each part of it; joinable by `run`.
//!
//! The parts are computed in one place, which knows statistics and depends on this crate: it is handed in with [`Options`].
//!
//! [`Options`]: crate::Options

use fenxi_worker::{Cell, Request};

use crate::answers::Kind;

/// A part of the time of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct TimePart {
    /// The run.
    pub run: String,
    /// Whole that it is a part of: `latency`, `elapsed`, `DB time`.
    pub what: &'static str,
    /// Its name.
    pub part: &'static str,
    /// Its mean.
    pub mean: Option<f64>,
    /// The symbol of the unit of the mean: milliseconds, seconds, or none for a number of sessions.
    pub unit: &'static str,
    /// Its share of the whole, percent.
    pub share: Option<f64>,
    /// How it was measured.
    pub measured: Option<String>,
}

const TABLE: &str = "
CREATE OR REPLACE TABLE time_part (
    run VARCHAR, what VARCHAR, part VARCHAR, mean DOUBLE, unit VARCHAR, share DOUBLE, measured VARCHAR);";

/// The table's name.
pub const NAME: &str = "time_part";

/// Its columns.
pub const COLUMNS: [(&str, Kind); 7] = [
    ("run", Kind::Text),
    ("what", Kind::Text),
    ("part", Kind::Text),
    ("mean", Kind::F64),
    ("unit", Kind::Text),
    ("share", Kind::F64),
    ("measured", Kind::Text),
];

/// Requests that make the table of `rows`.
pub(crate) fn fill(rows: &[Vec<Cell>]) -> [Request; 2] {
    [Request::Run(TABLE.to_owned()), Request::Fill { table: NAME.to_owned(), rows: rows.to_vec() }]
}

/// Parts as rows of it.
pub(crate) fn rows(parts: Vec<TimePart>) -> Vec<Vec<Cell>> {
    let row = |part: TimePart| {
        vec![
            part.run.into(),
            Cell::from(part.what),
            Cell::from(part.part),
            part.mean.into(),
            Cell::from(part.unit),
            part.share.into(),
            part.measured.into(),
        ]
    };
    parts.into_iter().map(row).collect()
}
