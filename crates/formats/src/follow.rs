//! Which line of an input each row came from: for who writes a format and wants to see what becomes of each line.
//!
//! An [`Input`](crate::Input) reports at which line it is, an [`Out`](crate::Out) notes that with each row. It costs nothing otherwise.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use fenxi_model::Table;

/// Where a row came from.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// The line that was read last when the row began, from 1; 0 before the first.
    pub line: u64,
    /// Its table.
    pub table: &'static Table,
    /// True if it is an average since boot.
    pub since_boot: bool,
    /// The format that read it.
    pub format: &'static str,
}

/// State shared by an input and an output that are followed. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Follow {
    at: Rc<Cell<u64>>,
    rows: Rc<RefCell<Vec<Origin>>>,
}

impl Follow {
    /// A line begins to be read.
    pub(crate) fn line(&self, number: u64) {
        self.at.set(number);
    }

    /// The line that is read.
    pub(crate) fn at(&self) -> u64 {
        self.at.get()
    }

    /// A row begins.
    pub(crate) fn row(&self, origin: Origin) {
        self.rows.borrow_mut().push(origin);
    }

    /// All rows so far, in the order in which they began.
    pub fn take(&self) -> Vec<Origin> {
        self.rows.take()
    }
}
