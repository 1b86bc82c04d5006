//! The LZ4 frame format 1.6: independent blocks, each with its checksum.
//!
//! The header says how long the contents are where that is known; otherwise they get a checksum. A block's
//! own checksum does not cover the bit that tells stored from compressed, so one of the two must.

mod read;
mod write;

pub(crate) use read::{Frame as Reading, decode, is_legacy, is_magic};
pub(crate) use write::{Encoder, Frame};

/// First bytes of a frame.
pub(crate) const MAGIC: u32 = 0x184D_2204;
/// First bytes of a frame as `lz4 -l` makes them.
pub(crate) const LEGACY: u32 = 0x184C_2102;
/// Set in a block's length if it is stored.
pub(crate) const STORED: u32 = 1 << 31;

/// Bits of the first byte of a frame's descriptor.
pub(crate) mod flag {
    pub const VERSION: u8 = 0b0100_0000;
    pub const VERSION_BITS: u8 = 0b1100_0000;
    pub const INDEPENDENT: u8 = 0b0010_0000;
    pub const BLOCK_SUMS: u8 = 0b0001_0000;
    pub const CONTENT_LEN: u8 = 0b0000_1000;
    pub const CONTENT_SUM: u8 = 0b0000_0100;
    pub const DICTIONARY: u8 = 0b0000_0001;
}

/// The checksum of a descriptor.
pub(crate) fn header_sum(descriptor: &[u8]) -> u8 {
    (twox_hash::XxHash32::oneshot(0, descriptor) >> 8) as u8
}
