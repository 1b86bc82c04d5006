//! Where data is read from: a stream, or a regular file that may be read at several places at a time.

use std::{
    fmt,
    io::{self, Read, Seek},
    os::unix::fs::FileExt,
    sync::Arc,
};

use fs_err::File;
use rustix::fs::{Advice, fadvise};

use crate::{Error, Meter};

/// Bytes that are read at once where nothing else is known.
const BUFFER: usize = 256 << 10;

/// Data to be read once, from beginning to end.
#[derive(Debug)]
pub struct Input {
    pub(crate) from: From,
}

pub(crate) enum From {
    Stream(Box<dyn Read + Send>),
    /// From `at` up to `end`, which is where the file ended when it was opened.
    File {
        file: Arc<File>,
        at: u64,
        end: u64,
        keep: bool,
    },
}

impl fmt::Debug for From {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            From::Stream(_) => f.write_str("Stream"),
            From::File { file, at, end, .. } => write!(f, "File({}, {at}..{end})", file.path().display()),
        }
    }
}

impl Input {
    /// Whatever can be read.
    pub fn stream(reader: impl Read + Send + 'static) -> Input {
        Input { from: From::Stream(Box::new(reader)) }
    }

    /// An open file, from its position up to its end as it is now; what is appended meanwhile is not
    /// read. A pipe, a device, or a file without a size (as in `/proc`) is read as a stream.
    ///
    /// # Errors
    /// The file's facts cannot be read.
    pub fn file(mut file: File) -> io::Result<Input> {
        let facts = file.metadata()?;
        if facts.is_file() && facts.len() > 0 {
            let at = file.stream_position()?;
            return Ok(Input { from: From::File { file: Arc::new(file), at, end: facts.len().max(at), keep: true } });
        }
        Ok(Input::stream(file))
    }

    /// Drops from the page cache what was read, when `not` (`--nocache`); only for regular files.
    pub fn nocache(mut self, not: bool) -> Input {
        if let From::File { keep, .. } = &mut self.from {
            *keep = !not;
        }
        self
    }

    /// Bytes to be read, where that is known.
    pub fn len(&self) -> Option<u64> {
        match &self.from {
            From::Stream(_) => None,
            From::File { at, end, .. } => Some(end - at),
        }
    }

    /// Returns true if it is known that there is nothing to be read.
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }
}

/// A part of a regular file.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    file: Arc<File>,
    at: u64,
    len: usize,
    keep: bool,
}

impl Piece {
    pub fn new(file: &Arc<File>, at: u64, len: usize, keep: bool) -> Piece {
        Piece { file: Arc::clone(file), at, len, keep }
    }

    /// Reads it into the beginning of `buffer`, which is at least as long.
    pub fn read(&self, buffer: &mut [u8]) -> Result<(), Error> {
        let outcome = self.file.file().read_exact_at(&mut buffer[..self.len], self.at);
        if !self.keep {
            drop_cached(&self.file, self.at, self.len as u64);
        }
        outcome.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Error::Shrank,
            _ => Error::Read(error),
        })
    }
}

/// Asks the kernel to forget a part of a file; a file system that cannot is none the worse for it.
pub(crate) fn drop_cached(file: &File, at: u64, len: u64) {
    let _ = fadvise(file, at, std::num::NonZeroU64::new(len), Advice::DontNeed);
}

/// Reads as much of `buffer` as there is.
pub(crate) fn fill(reader: &mut dyn Read, buffer: &mut [u8]) -> Result<usize, Error> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::Read(error)),
        }
    }
    Ok(filled)
}

/// Reads an input in order, with a look ahead.
#[derive(Debug)]
pub(crate) struct Reader {
    from: From,
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
    /// Offset in the input of what is at `begin`.
    offset: u64,
    over: bool,
    meter: Meter,
}

impl Reader {
    pub fn new(input: Input, meter: Meter) -> Reader {
        Reader { from: input.from, buffer: vec![0; BUFFER], begin: 0, end: 0, offset: 0, over: false, meter }
    }

    /// Offset in the input of what is read next.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next bytes, at least `n` of them if there are as many, without taking them.
    pub fn peek(&mut self, n: usize) -> Result<&[u8], Error> {
        if self.end - self.begin < n {
            self.more(n)?;
        }
        Ok(&self.buffer[self.begin..self.end])
    }

    /// Fills the buffer until it has `n` bytes or the input is over.
    fn more(&mut self, n: usize) -> Result<(), Error> {
        self.buffer.copy_within(self.begin..self.end, 0);
        self.end -= self.begin;
        self.begin = 0;
        if self.buffer.len() < n {
            self.buffer.resize(n, 0);
        }
        while self.end < n && !self.over {
            let room = &mut self.buffer[self.end..];
            let got = match &mut self.from {
                From::Stream(reader) => reader.read(room),
                From::File { file, at, end, keep } => {
                    let wanted = room.len().min(usize::try_from(*end - *at).unwrap_or(usize::MAX));
                    let got = file.file().read_at(&mut room[..wanted], *at);
                    if !*keep {
                        drop_cached(file, *at, wanted as u64);
                    }
                    if let Ok(got) = got {
                        *at += got as u64;
                    }
                    got
                }
            };
            match got {
                Ok(0) => self.over = true,
                Ok(got) => {
                    self.end += got;
                    self.meter.read(got as u64);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::Read(error)),
            }
        }
        Ok(())
    }

    /// Takes `n` bytes that were seen.
    pub fn consume(&mut self, n: usize) {
        debug_assert!(n <= self.end - self.begin);
        self.begin += n;
        self.offset += n as u64;
    }

    /// Appends the next `n` bytes to `out`; `false` if there are fewer.
    pub fn append(&mut self, out: &mut Vec<u8>, n: usize) -> Result<bool, Error> {
        self.copy(n, |bytes| out.extend_from_slice(bytes))
    }

    /// Passes over `n` bytes; `false` if there are fewer.
    pub fn skip(&mut self, n: u64) -> Result<bool, Error> {
        let seen = (self.end - self.begin) as u64;
        if let From::File { at, end, .. } = &mut self.from
            && n > seen
        {
            let jump = (n - seen).min(*end - *at);
            *at += jump;
            self.offset += seen + jump;
            self.begin = self.end;
            self.meter.read(jump);
            return Ok(seen + jump == n);
        }
        let mut left = n;
        while left > 0 {
            let now = usize::try_from(left).unwrap_or(usize::MAX).min(BUFFER);
            if !self.copy(now, |_| ())? {
                return Ok(false);
            }
            left -= now as u64;
        }
        Ok(true)
    }

    fn copy(&mut self, n: usize, mut take: impl FnMut(&[u8])) -> Result<bool, Error> {
        let mut left = n;
        while left > 0 {
            let seen = self.peek(1)?;
            let now = seen.len().min(left);
            if now == 0 {
                return Ok(false);
            }
            take(&seen[..now]);
            self.consume(now);
            left -= now;
        }
        Ok(true)
    }

    /// A file that can be read at other offsets too, with the offsets between which the input lies.
    pub fn file(&self) -> Option<(Arc<File>, u64, u64)> {
        match &self.from {
            // The content of the buffer was read before `at`.
            From::File { file, at, end, .. } => {
                let base = *at - (self.end - self.begin) as u64 - self.offset;
                Some((Arc::clone(file), base, *end))
            }
            From::Stream(_) => None,
        }
    }
}
