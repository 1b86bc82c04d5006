//! Headers of frames and of the blocks in them (RFC 8878, sections 3.1.1.1 and 3.1.1.2).

use super::{MAGIC, word};

/// The longest header of a frame, its magic number included.
pub(crate) const MOST: usize = 18;

/// A frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Bytes of the header.
    pub len: usize,
    /// Bytes of the contents.
    pub content: Option<u64>,
    /// Bytes that a decoder must keep.
    pub window: u64,
    /// True if a checksum of the contents follows the last block.
    pub checksum: bool,
    /// The dictionary's number, also when it is zero: no dictionary.
    pub dictionary: Option<u32>,
}

/// The header at the beginning of `bytes`; `None` if it is cut off or not one.
pub(crate) fn header(bytes: &[u8]) -> Option<Header> {
    if word(bytes)? != MAGIC {
        return None;
    }
    let descriptor = *bytes.get(4)?;
    if descriptor & 0x08 != 0 {
        return None; // reserved
    }
    let single = descriptor & 0x20 != 0;
    let mut at = 5;
    let mut window = 0;
    if !single {
        let byte = u64::from(*bytes.get(at)?);
        let base = 1u64 << (10 + (byte >> 3));
        window = base + base / 8 * (byte & 7);
        at += 1;
    }
    let dictionary_len = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let dictionary = little(bytes.get(at..at + dictionary_len)?);
    at += dictionary_len;
    let content_len = match descriptor >> 6 {
        0 => usize::from(single),
        n => 1 << n,
    };
    let mut content = little(bytes.get(at..at + content_len)?);
    at += content_len;
    if content_len == 2 {
        content = content.map(|n| n + 256);
    }
    if single {
        window = content.unwrap_or(0);
    }
    let dictionary = dictionary.and_then(|number| u32::try_from(number).ok());
    Some(Header { len: at, content, window, checksum: descriptor & 4 != 0, dictionary })
}

/// A number of up to eight bytes; `None` for none.
fn little(bytes: &[u8]) -> Option<u64> {
    (!bytes.is_empty()).then(|| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// The header of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    pub last: bool,
    /// Bytes that follow it in the frame.
    pub len: usize,
    /// The most that it may decode to, of a frame's maximum `most`.
    pub content: usize,
}

/// Bytes of a block's header.
pub(crate) const BLOCK_HEADER: usize = 3;
/// Bytes that a block decodes to at most.
pub(crate) const BLOCK_MOST: usize = 128 << 10;

impl BlockHeader {
    /// From its three bytes; `None` for one that is reserved or too long.
    pub fn parse(bytes: [u8; BLOCK_HEADER]) -> Option<BlockHeader> {
        let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]);
        let size = usize::try_from(word >> 3).ok()?;
        let (len, content) = match word >> 1 & 3 {
            0 => (size, size),
            1 => (1, size),
            2 => (size, BLOCK_MOST),
            _ => return None,
        };
        (size <= BLOCK_MOST).then_some(BlockHeader { last: word & 1 != 0, len, content })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_the_library_reads_it() {
        for len in [0usize, 1, 255, 256, 300, 65_791, 65_792, 1 << 20, 3 << 20] {
            let data = vec![7u8; len];
            let mut out = vec![0; zstd_safe::compress_bound(len)];
            let n = zstd_safe::compress(&mut out[..], &data, 1).expect("compresses");
            let header = header(&out[..n]).expect("a header");
            assert_eq!(header.content, Some(len as u64));
            assert_eq!(header.dictionary, None);
            assert!(header.window >= (len as u64).min(1 << 19));
            assert!(super::header(&out[..header.len - 1]).is_none());
        }
    }
}
