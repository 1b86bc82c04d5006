//! Recovery: everything that is undamaged is written, and what is lost is said (`--recover`).
//!
//! Where the table of a zstd file is undamaged, everything is known. Otherwise frames are walked, and after damage the
//! next frame, or the next LZ4 block with a right checksum, is looked for. Lost contents whose length is known become
//! zeros, so that what follows stands where it stood.

mod frames;
mod lz4_blocks;
mod window;

use fs_err::File;

use crate::{Error, Format, Meter, Output, Watch, Written, decompress::bounds, input::Reader, job::Job, zst};
use frames::Next;
use window::Window;

/// A part that could not be recovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Offset in the input where the damage begins.
    pub from: u64,
    /// Offset in the input from which data is good again.
    pub to: u64,
    /// Offset in the output of what is missing.
    pub content_at: u64,
    /// Bytes of contents that are zeros instead; `None` if it is not known how many are missing, and then there are none.
    pub content: Option<u64>,
}

/// What was recovered.
#[derive(Debug)]
pub struct Recovered {
    /// Where it went.
    pub written: Written,
    /// What is missing, in the order of the input.
    pub lost: Vec<Lost>,
}

/// Work in progress.
struct Work<'a> {
    file: File,
    len: u64,
    window: Window,
    output: Output,
    lost: Vec<Lost>,
    job: Job,
    decoder: crate::decompress::Decoder,
    memory: Option<u64>,
    meter: &'a Meter,
    watch: Watch<'a>,
}

/// Writes what is undamaged of the file `file` to `output`, where frames may need windows of `memory` bytes.
///
/// # Errors
/// The file cannot be read, it is in no known format anywhere, the output cannot be written, or `watch` said so.
pub fn recover<'a>(
    file: File,
    output: Output,
    memory: Option<u64>,
    meter: &'a Meter,
    watch: Watch<'a>,
) -> Result<Recovered, Error> {
    let len = file.metadata().map_err(Error::Read)?.len();
    let window = Window::new(file.try_clone().map_err(Error::Read)?, len);
    let output = output.meter(meter);
    let (lost, job, decoder) = (Vec::new(), Job::default(), crate::decompress::Decoder::default());
    let mut work = Work { file, len, window, output, lost, job, decoder, memory, meter, watch };
    match work.table() {
        Some(entries) => work.by_table(&entries)?,
        None => work.by_walking()?,
    }
    let Work { output, lost, .. } = work;
    Ok(Recovered { written: output.finish().map_err(Error::Write)?, lost })
}

impl Work<'_> {
    fn table(&mut self) -> Option<Vec<zst::Entry>> {
        let window = std::cell::RefCell::new(&mut self.window);
        let (_, entries) = zst::find_table(self.len, |at, len| {
            let mut window = window.borrow_mut();
            window.at(at, len).ok().filter(|bytes| bytes.len() == len).map(<[u8]>::to_vec)
        })?;
        Some(entries)
    }

    /// Decodes the frames that the table names.
    fn by_table(&mut self, entries: &[zst::Entry]) -> Result<(), Error> {
        let mut at = 0;
        for entry in entries {
            let (next, content) = (at + u64::from(entry.compressed), u64::from(entry.content));
            let whole = self.frame(at)?;
            if whole.is_some_and(|(end, len)| end == next && len == content) {
                self.write()?;
            } else {
                self.lose(at, next, Some(content))?;
            }
            at = next;
            self.step(at)?;
        }
        Ok(())
    }

    /// Decodes one frame after the other, looking for the next where one is damaged.
    fn by_walking(&mut self) -> Result<(), Error> {
        let mut at = 0;
        let mut format = None;
        while at < self.len {
            at = match self.next(at, format)? {
                Next::Good { end, found } => {
                    format = format.or(found);
                    end
                }
                Next::Bad { format: found, content } => {
                    format = format.or(found);
                    self.resume(at, format, content)?
                }
            };
            self.step(at)?;
        }
        if format.is_none() {
            return Err(Error::Unknown { at: 0 });
        }
        Ok(())
    }

    /// Finds where data is good again after damage at `at`, where `content` bytes were to be.
    fn resume(&mut self, at: u64, format: Option<Format>, content: Option<u64>) -> Result<u64, Error> {
        let to = self.window.find_magic(at + 1, format)?;
        // A frame is not longer than its contents by more than this; if the next is farther away, others are lost too.
        let alone = |content: &u64| to - at <= content + content / 128 + 1024;
        self.lose(at, to, content.filter(alone))?;
        Ok(to)
    }

    /// Counts, and asks whether to go on.
    fn step(&mut self, at: u64) -> Result<(), Error> {
        self.meter.read(at.saturating_sub(self.meter.totals().read));
        match (self.watch)(self.meter.totals()).is_break() {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }

    fn reader(&self, at: u64) -> Result<Reader, Error> {
        use std::io::{Seek, SeekFrom};
        let mut file = self.file.try_clone().map_err(Error::Read)?;
        file.seek(SeekFrom::Start(at)).map_err(Error::Read)?;
        Ok(Reader::new(crate::Input::file(file).map_err(Error::Read)?, Meter::default()))
    }

    fn bounds(&self) -> crate::unpack::Bounds {
        bounds(self.memory)
    }

    fn write(&mut self) -> Result<(), Error> {
        self.output.write(self.job.output()).map_err(Error::Write)
    }

    fn lose(&mut self, from: u64, to: u64, content: Option<u64>) -> Result<(), Error> {
        let content_at = self.output.len();
        self.output.write_zeros(content.unwrap_or(0)).map_err(Error::Write)?;
        match self.lost.last_mut() {
            // One report for damage that was met twice.
            Some(last) if last.to == from && last.content.is_some() == content.is_some() => {
                last.to = to;
                last.content = last.content.zip(content).map(|(a, b)| a + b);
            }
            _ => self.lost.push(Lost { from, to, content_at, content }),
        }
        Ok(())
    }
}
