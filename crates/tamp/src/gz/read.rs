//! How gzip is read: members that say how long they are go to workers, others are decoded in order.

use flate2::{Decompress, FlushDecompress, Status};
use libdeflater::{Crc, Decompressor, crc32};

use super::{FOOT, MAGIC, MemberInfo, PROMISE, Parsed, header, parse};
use crate::{
    Error,
    frame::{Begun, Bounds, InOrder},
    input::Reader,
    job::{Job, Task},
    zst::word,
};

/// Bytes of contents that are handed on at a time.
const CHUNK: usize = 1 << 20;
/// No byte of compressed data decodes to more (zlib's manual: 1032 to 1).
const MOST_RATIO: u64 = 1032;

/// Whether a member begins so.
pub(crate) fn is_magic(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// State of the members so far.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    promised: bool,
}

impl Stream {
    /// Reads the member that begins here; one whose contents are all within the next `unwanted` bytes is passed over.
    pub fn begin(
        &mut self,
        reader: &mut Reader,
        job: &mut Job,
        bounds: Bounds,
        unwanted: u64,
    ) -> Result<Begun<Serial>, Error> {
        let at = reader.offset();
        let (head, known) = header_of(reader)?;
        let Some(known) = known.filter(|known| known.len as u64 <= bounds.one_of_many) else {
            reader.consume(head);
            return Ok(Begun::Serial(Box::new(Serial::new(at))));
        };
        self.promised = (self.promised || known.flags & PROMISE != 0) && known.content != Some(0);
        if let Some(content) = known.content.filter(|content| *content > 0 && u64::from(*content) <= unwanted) {
            return match reader.skip(known.len as u64)? {
                true => Ok(Begun::Passed(u64::from(content))),
                false => Err(cut(reader.offset())),
            };
        }
        job.reset(at);
        gather(reader, job, known)?;
        job.task = Task::Gzip { data: head };
        Ok(Begun::Gathered)
    }

    /// The input ends here.
    pub fn end(&self, at: u64) -> Result<(), Error> {
        match self.promised {
            true => Err(Error::Truncated { at, what: "more members were to follow" }),
            false => Ok(()),
        }
    }
}

fn cut(at: u64) -> Error {
    Error::Truncated { at, what: "a member is not whole" }
}

/// The header that begins here.
fn header_of(reader: &mut Reader) -> Result<(usize, Option<MemberInfo>), Error> {
    let at = reader.offset();
    let mut wanted = 512;
    loop {
        let seen = reader.peek(wanted)?;
        match parse(seen) {
            Parsed::Header(len, known) => return Ok((len, known)),
            Parsed::Cut if seen.len() < wanted => return Err(cut(at + seen.len() as u64)),
            Parsed::Cut if wanted < header::MOST => wanted *= 4,
            Parsed::Cut | Parsed::Wrong => return Err(Error::damaged(at, "a member's header is wrong")),
        }
    }
}

/// Moves a member into the job.
fn gather(reader: &mut Reader, job: &mut Job, known: MemberInfo) -> Result<(), Error> {
    job.input.clear();
    if !reader.append(&mut job.input, known.len)? {
        return Err(cut(reader.offset()));
    }
    job.input_len = known.len;
    let content = word(&job.input[known.len - 4..]).unwrap_or(0);
    let differs = known.content.is_some_and(|message| message != content);
    if differs || u64::from(content) > known.len as u64 * MOST_RATIO {
        return Err(Error::damaged(job.at, "a member is longer or shorter than its header has it"));
    }
    job.room = content as usize;
    Ok(())
}

/// Decodes a gathered member.
pub(crate) fn decode(inflate: &mut Decompressor, job: &mut Job, data: usize) -> Result<(), Error> {
    let at = job.at;
    let len = job.room;
    let (input, room) = job.sides(len);
    let (packed, foot) = input[data..].split_at(input.len() - data - FOOT);
    let made = inflate.deflate_decompress(packed, room).map_err(|error| Error::damaged(at, error.to_string()))?;
    if made != len || word(foot) != Some(crc32(room)) {
        return Err(Error::damaged(at, "a member's checksum is wrong"));
    }
    job.output_len = made;
    Ok(())
}

/// A member that does not say how long it is, on its way.
pub(crate) struct Serial {
    inflate: Decompress,
    crc: Crc,
    at: u64,
    content: u64,
    over: bool,
}

impl Serial {
    /// Of a member at this offset whose header was taken already.
    pub fn new(at: u64) -> Serial {
        Serial { inflate: Decompress::new(false), crc: Crc::new(), at, content: 0, over: false }
    }
}

impl InOrder for Serial {
    fn next(&mut self, reader: &mut Reader, job: &mut Job) -> Result<bool, Error> {
        if self.over {
            return Ok(false);
        }
        job.reset(reader.offset());
        let mut filled = 0;
        while filled < CHUNK && !self.over {
            let input = reader.peek(1)?;
            if input.is_empty() {
                break;
            }
            let (read, made) = (self.inflate.total_in(), self.inflate.total_out());
            let room = &mut job.room_of(CHUNK)[filled..];
            let status = self
                .inflate
                .decompress(input, room, FlushDecompress::None)
                .map_err(|error| Error::damaged(self.at, error.to_string()))?;
            // Neither can be more than what was given.
            reader.consume((self.inflate.total_in() - read) as usize);
            filled += (self.inflate.total_out() - made) as usize;
            self.over = status == Status::StreamEnd;
        }
        if filled == 0 && !self.over {
            return Err(cut(reader.offset()));
        }
        job.output_len = filled;
        self.crc.update(job.output());
        self.content += filled as u64;
        if self.over {
            self.check(reader)?;
        }
        Ok(true)
    }
}

impl Serial {
    /// Compares with the member's trailer.
    fn check(&self, reader: &mut Reader) -> Result<(), Error> {
        let foot = reader.peek(FOOT)?.first_chunk::<FOOT>().copied().ok_or(cut(reader.offset()))?;
        reader.consume(FOOT);
        // The length is kept modulo 2^32.
        if word(&foot) != Some(self.crc.sum()) || word(&foot[4..]) != Some(self.content as u32) {
            return Err(Error::damaged(self.at, "a member's checksum is wrong"));
        }
        Ok(())
    }
}
