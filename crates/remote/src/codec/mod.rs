//! Rows as few bytes: each tick is encoded as the difference from the one before, and all ticks are one compressed stream.
//!
//! Values stay what they are, to the last bit. A row is encoded against the row of the tick before that has the same keys. A rate is
//! mostly a whole number over the length of the interval: then that number is sent. The description of the values (`head`)
//! precedes them (`body`), as it hardly changes from tick to tick, which is what the compressor needs.

mod cell;
mod decode;
mod encode;

pub use decode::Decoder;
pub use encode::Encoder;

/// A dictionary of labels that has grown beyond this is begun anew, on both sides.
const MAX_LABELS: usize = 1 << 16;
/// The window of the compressor: some minutes of a quiet host, and little memory for each at the recorder.
const WINDOW_LOG: u32 = 19;
/// Level of compression: beyond, CPU time grows and bytes hardly shrink.
const LEVEL: i32 = 6;

/// The rows of a table at the last tick: columns of cells, and texts where the column has them.
#[derive(Debug, Default)]
struct Last {
    columns: Vec<Column>,
    n_rows: usize,
}

/// The cells of one column. Numbers are their bits, labels their codes.
#[derive(Clone, Debug, Default)]
struct Column {
    cells: Vec<Option<u64>>,
    texts: Vec<Option<Box<str>>>,
}

impl Last {
    fn cell(&self, row: Option<usize>, place: usize) -> Option<u64> {
        self.columns.get(place)?.cells.get(row?).copied().flatten()
    }
}

/// How the rows of a tick follow from those of the tick before: runs of rows with the same keys, in turns with new ones.
mod op {
    /// The next rows of the tick before, as many as follow.
    pub const COPY: u64 = 0;
    /// Leaves as many out.
    pub const SKIP: u64 = 1;
    /// A row whose keys follow.
    pub const NEW: u64 = 2;
}

#[cfg(test)]
mod tests;
