//! Headers of gzip members (RFC 1952, section 2.3).

use super::{EXTRA, FOOT, MAGIC, PART};
use crate::zst::word;

/// The longest header that is accepted: an extra field of any length, and a name and comment of thousands of bytes.
pub(crate) const MOST: usize = 128 << 10;

const HEADER_SUM: u8 = 2;
const NAME: u8 = 8;
const COMMENT: u8 = 16;
const RESERVED: u8 = 0b1110_0000;

/// A member's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemberInfo {
    /// Bytes of the whole member.
    pub len: usize,
    /// Bytes of the contents.
    pub content: Option<u32>,
    /// Our flags; 0 for other tools.
    pub flags: u8,
}

/// A header, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// Bytes of the header, and what is known of the member.
    Header(usize, Option<MemberInfo>),
    /// More bytes are needed.
    Cut,
    /// It is none.
    Wrong,
}

/// The header at the beginning of `bytes`.
pub(crate) fn parse(bytes: &[u8]) -> Parsed {
    let Some(head) = bytes.first_chunk::<10>() else { return Parsed::Cut };
    let flags = head[3];
    if head[..3] != MAGIC || flags & RESERVED != 0 {
        return Parsed::Wrong;
    }
    match walk(bytes, flags) {
        Some((len, known)) => Parsed::Header(len, known.filter(|known| known.len > len + FOOT)),
        None => Parsed::Cut,
    }
}

/// Passes over the header's variable parts; `None` if they are cut off.
fn walk(bytes: &[u8], flags: u8) -> Option<(usize, Option<MemberInfo>)> {
    let mut at = 10;
    let mut known = None;
    if flags & EXTRA != 0 {
        let len = usize::from(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let field = bytes.get(at + 2..at + 2 + len)?;
        known = parts(field);
        at += 2 + len;
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            at += bytes.get(at..)?.iter().position(|byte| *byte == 0)? + 1;
        }
    }
    if flags & HEADER_SUM != 0 {
        at += 2;
    }
    (at <= bytes.len()).then_some((at, known))
}

/// Looks for a part of the extra field with the length of the member.
fn parts(mut field: &[u8]) -> Option<MemberInfo> {
    while let [a, b, low, high, rest @ ..] = field {
        let part = rest.get(..usize::from(u16::from_le_bytes([*low, *high])))?;
        match ([*a, *b], part) {
            (PART, [flags, sizes @ ..]) if sizes.len() == 8 => {
                let len = usize::try_from(word(sizes)?).ok()?;
                return Some(MemberInfo { len, content: word(&sizes[4..]), flags: *flags });
            }
            ([b'B', b'C'], [low, high]) => {
                let len = usize::from(u16::from_le_bytes([*low, *high])) + 1;
                return Some(MemberInfo { len, content: None, flags: 0 });
            }
            _ => field = &rest[part.len()..],
        }
    }
    None
}
