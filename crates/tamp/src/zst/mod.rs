//! Zstandard, RFC 8878: one frame for each block, each with its size and checksum.
//!
//! A file that was cut off between two frames looks whole to other tools. So a full block's frame carries a
//! dictionary number of one byte that is zero, which by section 3.1.1.1.3 means "no dictionary" and which no other program
//! has reason to write; here it promises that a trailer follows: a skippable frame with the totals. The
//! seek table of the "Zstandard Seekable Format" (version 0.1.0) comes last, as that format requires.

mod header;
mod read;
mod seek;
mod stream;
mod write;

pub(crate) use header::header;
pub(crate) use read::{Stream, decode, is_magic, is_skippable, skippable_len};
pub(crate) use seek::{Entry, Trailer, find_table};
pub(crate) use stream::Serial;
pub(crate) use write::{Encoder, Frames, context};

/// First bytes of a frame.
pub(crate) const MAGIC: u32 = 0xFD2F_B528;
/// First bytes of skippable frames, of zstd as of LZ4, with any value in the last four bits.
pub(crate) const SKIPPABLE: u32 = 0x184D_2A50;

/// The first four bytes as a number.
pub(crate) fn word(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|word| u32::from_le_bytes(*word))
}

/// Eight bytes as a number.
pub(crate) fn long(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|word| u64::from_le_bytes(*word))
}
