//! How LZ4 is read: blocks that are independent go to workers, others are decoded in order.

use lzzzz::lz4;
use twox_hash::XxHash32;

use super::{LEGACY, MAGIC, STORED, flag, header_sum};
use crate::{
    Error,
    input::Reader,
    job::{Check, Job, Promise, Task},
    zst::{long, word},
};

/// Maximum decoded bytes of a block of a legacy frame.
const LEGACY_BLOCK: usize = 8 << 20;
/// How far back a block may refer to blocks before it.
const HISTORY: usize = 64 << 10;
/// The longest header: magic number, two bytes, length, dictionary, checksum.
const HEADER_MOST: usize = 4 + 2 + 8 + 4 + 1;

/// Whether a frame begins so.
pub(crate) fn is_magic(bytes: &[u8]) -> bool {
    word(bytes) == Some(MAGIC)
}

/// Whether a legacy frame begins so.
pub(crate) fn is_legacy(bytes: &[u8]) -> bool {
    word(bytes) == Some(LEGACY)
}

/// A frame on its way.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// Bytes that a block decodes to at most.
    pub block: usize,
    independent: bool,
    block_sums: bool,
    content_sum: bool,
    content: Option<u64>,
    legacy: bool,
    begun: bool,
    over: bool,
    /// The last bytes of the contents, if blocks refer to them.
    history: Vec<u8>,
}

impl Frame {
    /// Takes the header that begins here.
    pub fn begin(reader: &mut Reader) -> Result<Frame, Error> {
        let at = reader.offset();
        let seen = reader.peek(HEADER_MOST)?;
        if is_legacy(seen) {
            reader.consume(4);
            return Ok(Frame { block: LEGACY_BLOCK, legacy: true, ..Frame::plain() });
        }
        let (len, frame) = match Frame::parse(seen, at) {
            Some(parsed) => parsed?,
            None => return Err(cut(at + seen.len() as u64)),
        };
        reader.consume(len);
        Ok(frame)
    }

    fn plain() -> Frame {
        Frame {
            block: 0,
            independent: true,
            block_sums: false,
            content_sum: false,
            content: None,
            legacy: false,
            begun: false,
            over: false,
            history: Vec::new(),
        }
    }

    /// A header and its length; `None` if it is cut off.
    pub fn parse(bytes: &[u8], at: u64) -> Option<Result<(usize, Frame), Error>> {
        let (flags, sizes) = (*bytes.get(4)?, *bytes.get(5)?);
        let has = |bit: u8| flags & bit != 0;
        let mut end = 6;
        let mut content = None;
        if has(flag::CONTENT_LEN) {
            content = long(bytes.get(end..)?);
            content?;
            end += 8;
        }
        let mut dictionary = None;
        if has(flag::DICTIONARY) {
            dictionary = word(bytes.get(end..)?);
            dictionary?;
            end += 4;
        }
        let sum = *bytes.get(end)?;
        let size = usize::from(sizes >> 4);
        if flags & flag::VERSION_BITS != flag::VERSION || header_sum(&bytes[4..end]) != sum || !(4..=7).contains(&size)
        {
            return Some(Err(Error::damaged(at, "a frame's header is wrong")));
        }
        if let Some(id) = dictionary.filter(|id| *id != 0) {
            return Some(Err(Error::Dictionary { at, id }));
        }
        let frame = Frame {
            block: 1 << (8 + 2 * size),
            independent: has(flag::INDEPENDENT),
            block_sums: has(flag::BLOCK_SUMS),
            content_sum: has(flag::CONTENT_SUM),
            content,
            ..Frame::plain()
        };
        Some(Ok((end + 1, frame)))
    }

    /// Bytes of the contents, if the frame has it.
    pub fn content(&self) -> Option<u64> {
        self.content
    }

    /// Bytes with which the frame ends.
    pub fn end_len(&self) -> u64 {
        if self.content_sum { 8 } else { 4 }
    }

    /// Returns true if blocks can be decoded without those before them.
    pub fn is_independent(&self) -> bool {
        self.independent
    }

    /// Returns true if its end was read.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Returns true if a block can be recognised and decoded without those before it.
    pub fn can_resume(&self) -> bool {
        self.independent && self.block_sums
    }

    /// The next block, to be decoded or decoded already; `false` after the last.
    pub fn next(&mut self, reader: &mut Reader, job: &mut Job) -> Result<bool, Error> {
        if self.over {
            return Ok(false);
        }
        let at = reader.offset();
        job.reset(at);
        let seen = reader.peek(4)?;
        let word = match (word(seen), self.legacy) {
            (Some(word), true) if word as usize > lz4::max_compressed_size(LEGACY_BLOCK) => return Ok(false),
            (None, true) if seen.is_empty() => return Ok(false),
            (word, _) => word.ok_or(cut(at))?,
        };
        reader.consume(4);
        job.check = Check { opens: !self.begun, summed: self.content_sum, closes: None };
        self.begun = true;
        if word == 0 && !self.legacy {
            return self.end(reader, job);
        }
        self.gather(reader, job, word)?;
        if !self.independent {
            self.decode(job)?;
        }
        Ok(true)
    }

    /// Moves a block into the job.
    fn gather(&self, reader: &mut Reader, job: &mut Job, word: u32) -> Result<(), Error> {
        let at = job.at;
        let stored = word & STORED != 0 && !self.legacy;
        let len = (word & !STORED) as usize;
        if len > self.block && !self.legacy {
            return Err(Error::damaged(at, "a block is longer than its frame allows"));
        }
        job.input.clear();
        if !reader.append(&mut job.input, len)? {
            return Err(cut(reader.offset()));
        }
        job.input_len = len;
        let mut sum = None;
        if self.block_sums {
            sum = self::word(reader.peek(4)?);
            reader.consume(if sum.is_some() { 4 } else { return Err(cut(reader.offset())) });
        }
        job.room = self.block;
        job.task = Task::Lz4 { stored, sum };
        Ok(())
    }

    /// Decodes a block that refers to those before it.
    fn decode(&mut self, job: &mut Job) -> Result<(), Error> {
        let Task::Lz4 { stored, sum } = std::mem::take(&mut job.task) else { return Ok(()) };
        decode(job, stored, sum, &self.history)?;
        let made = job.output();
        let keep = HISTORY.saturating_sub(made.len()).min(self.history.len());
        self.history.drain(..self.history.len() - keep);
        self.history.extend_from_slice(&made[made.len().saturating_sub(HISTORY)..]);
        Ok(())
    }

    /// Ends the frame, with an empty block that carries the declared size.
    fn end(&mut self, reader: &mut Reader, job: &mut Job) -> Result<bool, Error> {
        self.over = true;
        let mut sum = None;
        if self.content_sum {
            sum = word(reader.peek(4)?);
            reader.consume(if sum.is_some() { 4 } else { return Err(cut(reader.offset())) });
        }
        job.check.closes = Some(Promise { len: self.content, sum });
        Ok(true)
    }
}

fn cut(at: u64) -> Error {
    Error::Truncated { at, what: "a block or the end of the frame is missing" }
}

/// Decodes a block.
pub(crate) fn decode(job: &mut Job, stored: bool, sum: Option<u32>, history: &[u8]) -> Result<(), Error> {
    let at = job.at;
    let (input, room) = job.sides(job.room);
    if sum.is_some_and(|sum| sum != XxHash32::oneshot(0, input)) {
        return Err(Error::damaged(at, "a block's checksum is wrong"));
    }
    let len = if stored {
        room[..input.len()].copy_from_slice(input);
        input.len()
    } else {
        let made = match history {
            [] => lz4::decompress(input, room),
            history => lz4::decompress_with_dict(input, room, history),
        };
        made.map_err(|_| Error::damaged(at, "a block cannot be decoded"))?
    };
    job.output_len = len;
    Ok(())
}
