//! A look at any place of a file, and the search for where a frame begins.

use std::{ops::ControlFlow, os::unix::fs::FileExt};

use fs_err::File;

use crate::{Error, Format, gz, lz4, zst};

/// Bytes read at a time.
const CHUNK: usize = 4 << 20;
/// Bytes by which a header is recognised.
pub(super) const HEAD: usize = 64;

/// A part of a file that is in memory.
pub(super) struct Window {
    file: File,
    len: u64,
    begin: u64,
    bytes: Vec<u8>,
}

impl Window {
    pub fn new(file: File, len: u64) -> Window {
        Window { file, len, begin: 0, bytes: Vec::new() }
    }

    /// Bytes from `at` on, `n` or as many as there are.
    pub fn at(&mut self, at: u64, n: usize) -> Result<&[u8], Error> {
        let n = n.min(usize::try_from(self.len.saturating_sub(at)).unwrap_or(usize::MAX));
        let inside = at >= self.begin && at + n as u64 <= self.begin + self.bytes.len() as u64;
        if !inside {
            let wanted = usize::try_from(self.len - at.min(self.len)).unwrap_or(usize::MAX).min(n.max(CHUNK));
            self.bytes.resize(wanted, 0);
            self.begin = at;
            self.file.file().read_exact_at(&mut self.bytes, at).map_err(Error::Read)?;
        }
        // It is inside the window now, which is in memory.
        let from = (at - self.begin) as usize;
        Ok(&self.bytes[from..from + n])
    }

    /// Looks at some bytes from `at` on for a place where a frame begins, of this format if it is known: `Break` with
    /// it, or with the file's end; `Continue` with where to look next.
    pub fn look(&mut self, at: u64, format: Option<Format>) -> Result<ControlFlow<u64, u64>, Error> {
        let bytes = self.at(at, CHUNK)?;
        let found = (0..bytes.len()).find(|i| begins(&bytes[*i..], format));
        let (seen, last) = (bytes.len(), at + bytes.len() as u64 >= self.len);
        Ok(match found {
            Some(i) if last || seen - i >= HEAD => ControlFlow::Break(at + i as u64),
            // Looked at once more, with what follows it.
            Some(i) if i > 0 => ControlFlow::Continue(at + i as u64),
            _ if last => ControlFlow::Break(self.len),
            _ => ControlFlow::Continue(at + (seen - HEAD) as u64),
        })
    }
}

/// Of which format a frame begins here; skippable ones do not count unless they end the frames of zstd.
pub(super) fn begun(bytes: &[u8], format: Option<Format>) -> Option<Format> {
    let may = |this: Format| format.is_none_or(|format| format == this);
    let head = &bytes[..bytes.len().min(HEAD)];
    let is_lz4 = || lz4::is_magic(head) && lz4::Reading::parse(head, 0).is_some_and(|it| it.is_ok());
    match head.first()? {
        0x28 if may(Format::Zst) && zst::header(head).is_some() => Some(Format::Zst),
        0x04 if may(Format::Lz4) && is_lz4() => Some(Format::Lz4),
        0x02 if may(Format::Lz4) && lz4::is_legacy(head) => Some(Format::Lz4),
        0x1F if may(Format::Gz) && gz::parse(head) != gz::Parsed::Wrong => Some(Format::Gz),
        0x50..=0x5F if may(Format::Zst) && zst::Trailer::parse(head).is_some() => Some(Format::Zst),
        _ => None,
    }
}

/// Whether a frame begins here, of this format if it is known.
pub(super) fn begins(bytes: &[u8], format: Option<Format>) -> bool {
    begun(bytes, format).is_some()
}
