//! How far an import is: counted by all its threads, reported to its caller by the import's thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Progress of an import.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress<'a> {
    /// The input being read.
    pub name: &'a str,
    /// Bytes of all inputs read so far, as they lie there.
    pub bytes: u64,
    /// Rows so far.
    pub rows: u64,
    /// True if everything is read and the run is being written.
    pub sealing: bool,
}

/// The caller of an import, who is shown how far it is and gives false to end it.
pub(crate) type Watch<'a> = dyn FnMut(Progress<'_>) -> bool + 'a;

/// State that the threads of an import share.
#[derive(Debug, Default)]
pub(crate) struct SharedProgress {
    /// Bytes read so far, as they lie there.
    read: AtomicU64,
    /// Set to make every input end here.
    cancelled: AtomicBool,
    /// Bytes that all packed inputs together may unpack to; None for any number.
    most_unpacked: Option<u64>,
    /// Bytes that they did so far.
    unpacked: AtomicU64,
    /// Set when that was more, which also ends the inputs.
    too_long: AtomicBool,
}

impl SharedProgress {
    /// Nothing read yet; packed inputs may unpack to so many bytes.
    pub(crate) fn new(most_unpacked: Option<u64>) -> SharedProgress {
        SharedProgress { most_unpacked, ..SharedProgress::default() }
    }

    /// Ends all inputs where they are.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    pub(crate) fn add_read(&self, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn most_unpacked(&self) -> Option<u64> {
        self.most_unpacked
    }

    /// Counts bytes that were unpacked; false when that were too many, which ends the import.
    pub(crate) fn add_unpacked(&self, bytes: u64) -> bool {
        let unpacked = self.unpacked.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let is_accepted = self.most_unpacked.is_none_or(|most| unpacked <= most);
        if !is_accepted {
            self.too_long.store(true, Ordering::Relaxed);
            self.cancel();
        }
        is_accepted
    }

    /// The limit of what packed inputs may unpack to, if they exceeded it.
    pub(crate) fn exceeded(&self) -> Option<u64> {
        self.most_unpacked.filter(|_| self.too_long.load(Ordering::Relaxed))
    }

    /// How far the import is with the input of this name.
    pub(crate) fn at<'a>(&self, name: &'a str, rows: u64) -> Progress<'a> {
        Progress { name, bytes: self.read.load(Ordering::Relaxed), rows, sealing: false }
    }

    /// Shows the caller how far the import is, and cancels it where the caller wants that.
    pub(crate) fn report(&self, watch: &mut Watch<'_>, name: &str, rows: u64) {
        if !watch(self.at(name, rows)) {
            self.cancel();
        }
    }
}
