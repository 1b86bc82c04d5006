//! Errors, in words that name the place.

use std::io;

/// Why data could not be compressed or decompressed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input cannot be read.
    #[error("cannot read: {0}")]
    Read(#[source] io::Error),
    /// The output cannot be written.
    #[error("cannot write: {0}")]
    Write(#[source] io::Error),
    /// The input ended before the data did.
    #[error("the data is cut off after {at} bytes: {what}; `--recover` writes what is whole")]
    Truncated {
        /// Bytes of the input that there are.
        at: u64,
        /// The part that is missing there.
        what: &'static str,
    },
    /// The compressed data is not what was written.
    #[error("the data is damaged near byte {at}: {what}; `--recover` writes what is undamaged")]
    Damaged {
        /// Offset in the input of the block or header that is damaged.
        at: u64,
        /// The kind of damage.
        what: String,
    },
    /// The bytes begin no format that can be read.
    #[error("not in zstd, LZ4 or gzip format at byte {at}")]
    Unknown {
        /// Offset in the input.
        at: u64,
    },
    /// Reading it needs more memory than allowed.
    #[error("the frame at byte {at} needs a window of {needs} bytes; allow it with `--memory {needs}`")]
    Window {
        /// Offset in the input.
        at: u64,
        /// Bytes.
        needs: u64,
    },
    /// Reading it needs a dictionary.
    #[error("the frame at byte {at} needs dictionary {id}, which tamp cannot be given")]
    Dictionary {
        /// Offset in the input.
        at: u64,
        /// The dictionary's number.
        id: u32,
    },
    /// The input shrank while it was read.
    #[error("the input became shorter while it was read")]
    Shrank,
    /// A library failed on a block of data, which should not be possible.
    #[error("cannot compress a block: {0}")]
    Encoder(String),
    /// A worker panicked, which is a mistake in this program.
    #[error("a worker thread failed; this is a mistake in the program")]
    Panicked,
    /// No thread could be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// The error below, when reading or writing failed.
    pub fn io(&self) -> Option<&io::Error> {
        match self {
            Error::Read(error) | Error::Write(error) | Error::Thread(error) => Some(error),
            _ => None,
        }
    }

    /// Returns true if the input is at fault: damaged, cut off, or in no known format.
    pub fn is_damage(&self) -> bool {
        matches!(self, Error::Truncated { .. } | Error::Damaged { .. } | Error::Unknown { .. })
    }

    /// Whether one frame is at fault, and others may be read: it is damaged, or needs what is not available.
    pub(crate) fn is_of_a_frame(&self) -> bool {
        self.is_damage() || matches!(self, Error::Dictionary { .. })
    }

    pub(crate) fn damaged(at: u64, what: impl Into<String>) -> Error {
        Error::Damaged { at, what: what.into() }
    }
}
