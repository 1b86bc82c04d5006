//! LZ4 frames that may be damaged: after a block that is, the next one with a right checksum is looked for.

use twox_hash::XxHash32;

use crate::{
    Error, Format,
    engine::Worker,
    lz4::{Reading, STORED},
    zst::word,
};

use super::{
    Work,
    fast::Blocks,
    frames::Next,
    window::{HEAD, begins},
};

/// Bytes after which is asked whether to go on searching.
const LOOK: u64 = 64 << 10;
const FORMAT: Option<Format> = Some(Format::Lz4);

impl Work<'_> {
    pub(super) fn lz4(&mut self, at: u64) -> Result<Next, Error> {
        let mut reader = self.reader(at)?;
        let mut frame = match Reading::begin(&mut reader) {
            Ok(frame) => frame,
            Err(error) if error.is_of_a_frame() => return Ok(Next::Bad { format: FORMAT, content: None }),
            Err(error) => return Err(error),
        };
        let (content, begin) = (frame.content(), self.output.len());
        let mut base = at;
        loop {
            if frame.is_independent() {
                let from = base + reader.offset();
                let passed = self.fast(from, |reader| Blocks { reader, base: from, frame: frame.clone() })?;
                if passed.parts > 0 {
                    base = passed.at;
                    reader = self.reader(base)?;
                }
            }
            let block_at = base + reader.offset();
            self.step(block_at)?;
            let whole = match frame.next(&mut reader, &mut self.job) {
                Ok(false) => return Ok(Next::Good { end: base + reader.offset(), found: FORMAT }),
                Ok(true) => self.decoder.work(&mut self.job).is_ok(),
                Err(error) if error.is_of_a_frame() => false,
                Err(error) => return Err(error),
            };
            if whole {
                self.write()?;
                continue;
            }
            if !frame.can_resume() {
                let to = self.find(block_at, FORMAT)?;
                self.lose(block_at, to, None)?;
                return Ok(Next::Good { end: to, found: FORMAT });
            }
            let (to, another) = self.next_block(block_at, &frame)?;
            let left = content.map(|content| content.saturating_sub(self.output.len() - begin));
            let lost = self.missing(block_at, to, &frame, left)?;
            self.lose(block_at, to, lost)?;
            if another {
                return Ok(Next::Good { end: to, found: FORMAT });
            }
            base = to;
            reader = self.reader(to)?;
        }
    }

    /// Bytes of contents between a damaged block and the next that is good: a full block, if no more than one can be there.
    fn missing(&mut self, at: u64, to: u64, frame: &Reading, left: Option<u64>) -> Result<Option<u64>, Error> {
        let block = frame.block as u64;
        let ends = to >= self.len || self.window.at(to, 4)?.iter().all(|byte| *byte == 0);
        // Where the frame ends, what is left is missing; there may be many blocks if the file is cut off.
        if ends || left.is_some_and(|left| left < block) {
            return Ok(left);
        }
        Ok((to - at <= block + 8).then_some(block))
    }

    /// Where the next block with a right checksum, the end of the frame, or another frame begins; whether it is the last.
    fn next_block(&mut self, damaged: u64, frame: &Reading) -> Result<(u64, bool), Error> {
        let most = frame.block;
        // The damaged block's own length may be right: then the next begins after it, also if that is the frame's end.
        if let Some(len) = word(self.window.at(damaged, 4)?) {
            let next = damaged + 8 + u64::from(len & !STORED);
            if self.is_end(next, frame.end_len())? || self.is_block(next, most)? {
                return Ok((next, false));
            }
        }
        let mut at = damaged + 1;
        while at < self.len {
            if at.is_multiple_of(LOOK) {
                self.step(at)?;
            }
            if begins(self.window.at(at, HEAD)?, FORMAT) {
                return Ok((at, true));
            }
            if self.is_block(at, most)? {
                return Ok((at, false));
            }
            at += 1;
        }
        Ok((self.len, true))
    }

    /// Whether the frame ends here, and then the file does or another frame begins.
    fn is_end(&mut self, at: u64, len: u64) -> Result<bool, Error> {
        if word(self.window.at(at, 4)?) != Some(0) {
            return Ok(false);
        }
        Ok(at + len == self.len || begins(self.window.at(at + len, HEAD)?, FORMAT))
    }

    /// Whether there is a block with a right checksum.
    fn is_block(&mut self, at: u64, most: usize) -> Result<bool, Error> {
        let Some(head) = word(self.window.at(at, 4)?) else { return Ok(false) };
        let len = (head & !STORED) as usize;
        if len == 0 || len > most {
            return Ok(false);
        }
        let bytes = self.window.at(at, len + 8)?;
        Ok(bytes.len() == len + 8 && word(&bytes[4 + len..]) == Some(XxHash32::oneshot(0, &bytes[4..4 + len])))
    }
}
