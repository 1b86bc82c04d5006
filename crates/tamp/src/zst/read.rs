//! How zstd is read: whole frames are gathered for workers, without decoding them, by walking the headers of their
//! blocks; frames that are too large for that are left to [`super::Serial`].

use zstd_safe::{DCtx, compress_bound, get_error_name};

use super::{
    MAGIC, SKIPPABLE, Serial,
    header::{BLOCK_HEADER, BlockHeader, Header, MOST, header},
    seek::{TRAILER_LEN, Trailer},
    word,
};
use crate::{
    Error,
    frame::{Begun, Bounds},
    input::Reader,
    job::{Job, Task},
};

/// State of the frames since the last trailer.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    frames: u64,
    /// `None` if a frame did not say.
    content: Option<u64>,
    promised: bool,
}

/// Whether a frame begins so.
pub(crate) fn is_magic(bytes: &[u8]) -> bool {
    word(bytes) == Some(MAGIC)
}

/// Whether a skippable frame begins so.
pub(crate) fn is_skippable(bytes: &[u8]) -> bool {
    word(bytes).is_some_and(|word| word & !0xF == SKIPPABLE)
}

/// Bytes of the skippable frame that begins so; `None` if that is cut off.
pub(crate) fn skippable_len(bytes: &[u8]) -> Option<u64> {
    bytes.get(4..).and_then(word).map(|len| 8 + u64::from(len))
}

impl Stream {
    /// After so many full frames and bytes of contents, which were jumped over.
    pub fn after(frames: u64, content: u64) -> Stream {
        Stream { frames, content: Some(content), promised: frames > 0 }
    }

    /// Reads the frame that begins here; one whose contents are all within the next `unwanted` bytes is passed over.
    pub fn begin(
        &mut self,
        reader: &mut Reader,
        job: &mut Job,
        bounds: Bounds,
        unwanted: u64,
    ) -> Result<Begun<Serial>, Error> {
        let at = reader.offset();
        let seen = reader.peek(MOST)?;
        let cut = seen.len() < MOST;
        let header = header(seen).ok_or(if cut {
            Error::Truncated { at: at + seen.len() as u64, what: "a frame's header is not whole" }
        } else {
            Error::damaged(at, "a frame's header is wrong")
        })?;
        if let Some(id) = header.dictionary.filter(|id| *id != 0) {
            return Err(Error::Dictionary { at, id });
        }
        if !self.promised {
            // Whatever came before this frame, no trailer counts it.
            *self = Stream { content: Some(0), ..Stream::default() };
        }
        self.promised |= header.dictionary == Some(0);
        self.content = self.content.zip(header.content).and_then(|(sum, content)| sum.checked_add(content));
        self.frames += 1;
        if let Some(content) = header.content.filter(|content| *content > 0 && *content <= unwanted) {
            pass(reader, header)?;
            return Ok(Begun::Passed(content));
        }
        job.reset(at);
        job.input.clear();
        let promises = header.dictionary.is_some();
        let bounds = Bounds { frame: if promises { bounds.one_of_many } else { bounds.frame }, ..bounds };
        if header.content.is_some_and(|content| content > bounds.frame) || !gather(reader, job, header, bounds)? {
            let frame = Serial::new(at, std::mem::take(&mut job.input), header, bounds)?;
            return Ok(Begun::Serial(Box::new(frame)));
        }
        job.input_len = job.input.len();
        job.task = Task::Zstd { content: header.content };
        Ok(Begun::Gathered)
    }

    /// Passes over a skippable frame, and checks it if it is a trailer.
    pub fn skippable(&mut self, reader: &mut Reader) -> Result<(), Error> {
        let at = reader.offset();
        let seen = reader.peek(TRAILER_LEN)?;
        let len = skippable_len(seen).ok_or(cut(at))?;
        if let Some((trailer, _)) = Trailer::parse(reader.peek(TRAILER_LEN)?) {
            let same = trailer.frames == self.frames && self.content.is_none_or(|content| content == trailer.content);
            if self.promised && !same {
                return Err(Error::damaged(
                    at,
                    format!("there are {} frames, and there were {}", self.frames, trailer.frames),
                ));
            }
            *self = Stream::default();
        }
        if reader.skip(len)? { Ok(()) } else { Err(cut(reader.offset())) }
    }

    /// The input ends here.
    pub fn end(&self, at: u64) -> Result<(), Error> {
        match self.promised {
            true => Err(Error::Truncated { at, what: "more frames and a trailer were to follow" }),
            false => Ok(()),
        }
    }
}

fn cut(at: u64) -> Error {
    Error::Truncated { at, what: "a frame is not whole" }
}

/// Moves a frame into the job; `false` if it is too large, and then the job has its beginning.
fn gather(reader: &mut Reader, job: &mut Job, header: Header, bounds: Bounds) -> Result<bool, Error> {
    reader.append(&mut job.input, header.len)?;
    let mut content = 0u64;
    // More than this are a great many blocks without contents.
    let most = compress_bound(usize::try_from(bounds.frame).unwrap_or(usize::MAX / 2)) + (64 << 10);
    loop {
        let block = next_block(reader)?;
        content += block.content as u64;
        if !reader.append(&mut job.input, BLOCK_HEADER + block.len)? {
            return Err(cut(reader.offset()));
        }
        if block.last {
            break;
        }
        if (header.content.is_none() && content > bounds.frame) || job.input.len() > most {
            return Ok(false);
        }
    }
    if header.checksum && !reader.append(&mut job.input, 4)? {
        return Err(cut(reader.offset()));
    }
    job.room = usize::try_from(header.content.unwrap_or(content)).unwrap_or(usize::MAX);
    Ok(true)
}

/// Passes over a frame.
fn pass(reader: &mut Reader, header: Header) -> Result<(), Error> {
    reader.consume(header.len);
    loop {
        let block = next_block(reader)?;
        let sum = if block.last && header.checksum { 4 } else { 0 };
        if !reader.skip((BLOCK_HEADER + block.len + sum) as u64)? {
            return Err(cut(reader.offset()));
        }
        if block.last {
            return Ok(());
        }
    }
}

fn next_block(reader: &mut Reader) -> Result<BlockHeader, Error> {
    let at = reader.offset();
    let bytes = reader.peek(BLOCK_HEADER)?.first_chunk().copied().ok_or(cut(at))?;
    BlockHeader::parse(bytes).ok_or_else(|| Error::damaged(at, "a block's header is wrong"))
}

/// Decodes a gathered frame.
pub(crate) fn decode(context: &mut DCtx<'static>, job: &mut Job, content: Option<u64>) -> Result<(), Error> {
    let at = job.at;
    let (input, room) = job.sides(job.room);
    let len = context.decompress(room, input).map_err(|code| Error::damaged(at, get_error_name(code)))?;
    if content.is_some_and(|content| content != len as u64) {
        return Err(Error::damaged(at, "a frame is longer or shorter than its header has it"));
    }
    job.output_len = len;
    Ok(())
}
