//! How much was read and written so far, for progress bars and for asking work to stop.

use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// Counts of bytes that several threads add to.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    read: AtomicU64,
    written: AtomicU64,
}

/// Bytes so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Of the input, as it is in the file.
    pub read: u64,
    /// Of the output, as it is in the file.
    pub written: u64,
}

/// Is called about 20 times a second with the totals so far; `Break` ends the work with [`crate::Error::Interrupted`].
pub type Watch<'a> = &'a mut dyn FnMut(Totals) -> ControlFlow<()>;

/// A [`Watch`] for work without an observer.
pub fn unwatched(_: Totals) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

impl Meter {
    /// Totals so far.
    pub fn totals(&self) -> Totals {
        Totals { read: self.0.read.load(Ordering::Relaxed), written: self.0.written.load(Ordering::Relaxed) }
    }

    pub(crate) fn read(&self, bytes: u64) {
        self.0.read.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Everything up to this offset was read.
    pub(crate) fn read_to(&self, offset: u64) {
        self.read(offset.saturating_sub(self.totals().read));
    }

    pub(crate) fn written(&self, bytes: u64) {
        self.0.written.fetch_add(bytes, Ordering::Relaxed);
    }
}
