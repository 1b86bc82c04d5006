//! What stands after the frames: the trailer with the totals, and the seek table.
//!
//! The table's layout is that of the "Zstandard Seekable Format", version 0.1.0, without checksums. It is believed
//! only when the trailer before it has its checksum: a table that is wrong would give wrong data silently.

use twox_hash::XxHash32;

use super::{SKIPPABLE, long, word};

/// The last bits of our trailer's magic number.
const TRAILER: u32 = SKIPPABLE | 0xD;
/// Those of a seek table's.
const TABLE: u32 = SKIPPABLE | 0xE;
/// The last bytes of a seek table.
const TABLE_END: u32 = 0x8F92_EAB1;
/// First bytes in a trailer.
const NAME: &[u8; 4] = b"tamp";
/// Bytes of a trailer: magic number, length, name, contents, frames, checksum of the table.
pub(crate) const TRAILER_LEN: usize = 32;
/// Bytes before the entries of a table, of an entry, and after them.
const HEAD: usize = 8;
const ENTRY: usize = 8;
const FOOT: usize = 9;

/// Totals of the frames before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trailer {
    pub content: u64,
    pub frames: u64,
}

impl Trailer {
    /// With the checksum of the table that follows.
    pub fn bytes(&self, table: Option<&[u8]>) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(TRAILER_LEN);
        bytes.extend_from_slice(&TRAILER.to_le_bytes());
        bytes.extend_from_slice(&24u32.to_le_bytes());
        bytes.extend_from_slice(NAME);
        bytes.extend_from_slice(&self.content.to_le_bytes());
        bytes.extend_from_slice(&self.frames.to_le_bytes());
        bytes.extend_from_slice(&table.map_or(0, |table| XxHash32::oneshot(0, table)).to_le_bytes());
        bytes
    }

    /// From its bytes, with the checksum; `None` if they are not one.
    pub fn parse(bytes: &[u8]) -> Option<(Trailer, u32)> {
        let bytes: &[u8; TRAILER_LEN] = bytes.first_chunk()?;
        if word(bytes)? != TRAILER || word(&bytes[4..])? != 24 || &bytes[8..12] != NAME {
            return None;
        }
        Some((Trailer { content: long(&bytes[12..])?, frames: long(&bytes[20..])? }, word(&bytes[28..])?))
    }
}

/// Sizes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub compressed: u32,
    pub content: u32,
}

/// The seek table of these frames.
pub(crate) fn table(entries: &[Entry]) -> Vec<u8> {
    let body = entries.len() * ENTRY + FOOT;
    let mut bytes = Vec::with_capacity(HEAD + body);
    bytes.extend_from_slice(&TABLE.to_le_bytes());
    bytes.extend_from_slice(&(body as u32).to_le_bytes());
    for entry in entries {
        bytes.extend_from_slice(&entry.compressed.to_le_bytes());
        bytes.extend_from_slice(&entry.content.to_le_bytes());
    }
    bytes.extend_from_slice(&(entries.len() as u32).to_le_bytes());
    bytes.push(0);
    bytes.extend_from_slice(&TABLE_END.to_le_bytes());
    bytes
}

/// The trailer and the table at the end of a file of `len` bytes, of which `read` gives those from an offset on. `None` unless
/// both are there, undamaged, and describe the whole file.
pub(crate) fn find_table(len: u64, read: impl Fn(u64, usize) -> Option<Vec<u8>>) -> Option<(Trailer, Vec<Entry>)> {
    let foot = read(len.checked_sub(FOOT as u64)?, FOOT)?;
    if word(&foot[5..])? != TABLE_END || foot[4] != 0 {
        return None;
    }
    let entries = usize::try_from(word(&foot)?).ok()?;
    let table_len = entries.checked_mul(ENTRY)?.checked_add(HEAD + FOOT)?;
    let begin = len.checked_sub((table_len + TRAILER_LEN) as u64)?;
    let bytes = read(begin, table_len + TRAILER_LEN)?;
    let (trailer, table) = bytes.split_at(TRAILER_LEN);
    let (trailer, sum) = Trailer::parse(trailer)?;
    if XxHash32::oneshot(0, table) != sum || trailer.frames != entries as u64 {
        return None;
    }
    let entries: Vec<Entry> = table[HEAD..table_len - FOOT]
        .chunks_exact(ENTRY)
        .map_while(|entry| Some(Entry { compressed: word(entry)?, content: word(&entry[4..])? }))
        .collect();
    let compressed: u64 = entries.iter().map(|entry| u64::from(entry.compressed)).sum();
    let content: u64 = entries.iter().map(|entry| u64::from(entry.content)).sum();
    (compressed == begin && content == trailer.content).then_some((trailer, entries))
}
