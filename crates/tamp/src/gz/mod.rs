//! gzip, RFC 1952: a member for each block, whose extra field has its length.
//!
//! The extra field's part is named `TP` and has nine bytes: flags, bytes of the member, bytes of the contents. A full
//! block's flags promise that an empty member ends the file, for other tools take a file that was cut off
//! between two members for whole. Members of `bgzip` say how long they are too, in a part named `BC`.

mod header;
mod read;
mod write;

pub(crate) use header::{MemberInfo, Parsed, parse};
pub(crate) use read::{Serial, Stream, decode, is_magic};
pub(crate) use write::{Encoder, Members};

/// First bytes of a member: the two of gzip, and the only method there is.
pub(crate) const MAGIC: [u8; 3] = [0x1F, 0x8B, 8];
/// The flag of a header that has an extra field.
pub(crate) const EXTRA: u8 = 4;
/// Our part of it.
pub(crate) const PART: [u8; 2] = *b"TP";
/// The flag in it that an empty member will end the file.
pub(crate) const PROMISE: u8 = 1;
/// Bytes after the compressed data: checksum and length.
pub(crate) const FOOT: usize = 8;
