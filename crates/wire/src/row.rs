//! A row of an answer, borrowed from the connection's buffer: reading it allocates nothing.

use std::ops::Range;

/// One row. A value that is NULL, or in no such column, is None.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    bytes: &'a [u8],
    cells: &'a [Option<Range<usize>>],
}

impl<'a> Row<'a> {
    /// One whose values are encoded so in `bytes`.
    pub fn new(bytes: &'a [u8], cells: &'a [Option<Range<usize>>]) -> Row<'a> {
        Row { bytes, cells }
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Returns true if it has none.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The value of a column as the server wrote it.
    pub fn bytes(&self, column: usize) -> Option<&'a [u8]> {
        self.bytes.get(self.cells.get(column)?.clone()?)
    }

    /// The value as text; None also for what is not UTF-8.
    pub fn text(&self, column: usize) -> Option<&'a str> {
        std::str::from_utf8(self.bytes(column)?).ok()
    }

    /// The value as a number; None also for what is none.
    pub fn f64(&self, column: usize) -> Option<f64> {
        self.text(column)?.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// The value as a whole number; None also for what is none.
    pub fn i64(&self, column: usize) -> Option<i64> {
        self.text(column)?.parse().ok()
    }

    /// The value as a whole number of any size in which counters come; None also for what is none.
    pub fn u128(&self, column: usize) -> Option<u128> {
        self.text(column)?.parse().ok()
    }

    /// The value as a boolean: true for `t`, `1`, `ON`, `YES`; None for anything else than yes and no.
    pub fn is_yes(&self, column: usize) -> Option<bool> {
        match self.text(column)? {
            "t" | "1" | "ON" | "on" | "YES" | "yes" | "true" => Some(true),
            "f" | "0" | "OFF" | "off" | "NO" | "no" | "false" => Some(false),
            _ => None,
        }
    }
}
