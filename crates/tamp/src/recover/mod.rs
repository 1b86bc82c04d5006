//! Recovery: everything that is undamaged is written, and losses are reported (`--recover`).
//!
//! Where the table of a zstd file is undamaged, everything is known. Otherwise frames are walked, and after damage the
//! next frame, or the next LZ4 block with a right checksum, is looked for. Lost contents whose length is known become
//! zeros, so that what follows keeps its position.
//!
//! Undamaged data is decoded by all threads; each place where that ends is looked at by one ([`fast`]).

mod fast;
mod frames;
mod lz4_blocks;
mod window;

use std::{ops::ControlFlow, sync::Arc};

use fs_err::File;

use crate::{
    Decompress, Error, Format, Meter, Output, Watch, Written,
    decompress::{Decoder, bounds, limits},
    engine::Limits,
    frame::Bounds,
    input::Reader,
    job::Job,
    zst,
};
use fast::{Frames, Listed};
use frames::Next;
use window::Window;

/// No byte of any format expands to more contents: those of a zstd block that is one byte again and again, 128 KiB in four.
const MOST_RATIO: u64 = 32 << 10;
/// Zeros after which is asked whether to go on.
const ZEROS: u64 = 16 << 20;

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

/// Result of a recovery.
#[derive(Debug)]
pub struct Recovered {
    /// Where it went.
    pub written: Written,
    /// Lost parts, in the order of the input.
    pub lost: Vec<Lost>,
}

/// Work in progress.
struct Recovery<'a> {
    file: File,
    len: u64,
    window: Window,
    output: Output,
    lost: Vec<Lost>,
    job: Job,
    decoder: Decoder,
    limits: Limits,
    bounds: Bounds,
    /// How often all threads are left out from here, and were when it was last decided.
    alone: u32,
    pause: u32,
    meter: &'a Meter,
    watch: Watch<'a>,
}

/// Writes what is undamaged of `file` to `output`. What is written and what is reported as lost does not depend on the
/// number of threads; a range in `options` does not count.
///
/// # Errors
/// The file cannot be read, it is in no known format anywhere, the output cannot be written, or `watch` ended it.
pub fn recover<'a>(
    file: File,
    output: Output,
    options: &Decompress,
    meter: &'a Meter,
    watch: Watch<'a>,
) -> Result<Recovered, Error> {
    let len = file.metadata().map_err(Error::Read)?.len();
    let window = Window::new(file.try_clone().map_err(Error::Read)?, len);
    let output = output.meter(meter);
    let (lost, job, decoder) = (Vec::new(), Job::default(), Decoder::default());
    let (limits, bounds) = (limits(options), bounds(options.memory));
    let (alone, pause) = (0, 0);
    let mut work =
        Recovery { file, len, window, output, lost, job, decoder, limits, bounds, alone, pause, meter, watch };
    match work.table() {
        Some(entries) => work.by_table(entries.into())?,
        None => work.by_walking()?,
    }
    let Recovery { output, lost, .. } = work;
    Ok(Recovered { written: output.finish().map_err(Error::Write)?, lost })
}

impl Recovery<'_> {
    fn table(&mut self) -> Option<Vec<zst::Entry>> {
        let window = std::cell::RefCell::new(&mut self.window);
        let (_, entries) = zst::find_table(self.len, |at, len| {
            let mut window = window.borrow_mut();
            window.at(at, len).ok().filter(|bytes| bytes.len() == len).map(<[u8]>::to_vec)
        })?;
        Some(entries)
    }

    /// Decodes the frames that the table names.
    fn by_table(&mut self, entries: Arc<[zst::Entry]>) -> Result<(), Error> {
        let (mut at, mut next) = (0, 0);
        loop {
            let (bounds, entries_too) = (self.listed_bounds(), Arc::clone(&entries));
            let passed = self.fast(at, |reader| Listed { reader, bounds, at, entries: entries_too, next })?;
            (at, next) = (passed.at, next + passed.parts);
            let Some(entry) = entries.get(next) else { return Ok(()) };
            let (end, content) = (at + u64::from(entry.compressed), u64::from(entry.content));
            let whole = self.frame(at)?;
            if whole.is_some_and(|found| found == (end, content)) {
                self.write()?;
            } else {
                self.lose(at, end, Some(content))?;
            }
            (at, next) = (end, next + 1);
            self.step(at)?;
        }
    }

    /// Decodes one frame after the other, looking for the next where one is damaged.
    fn by_walking(&mut self) -> Result<(), Error> {
        let mut at = 0;
        let mut format = None;
        loop {
            let (bounds, len) = (self.bounds, self.len);
            let passed = self.fast(at, |reader| Frames { reader, bounds, base: at, len, format })?;
            (at, format) = (passed.at, format.or(passed.format));
            if at >= self.len {
                break;
            }
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
        format.map(|_| ()).ok_or(Error::Unknown { at: 0 })
    }

    /// Finds where data is good again after damage at `at`, where `content` bytes were to be.
    fn resume(&mut self, at: u64, format: Option<Format>, content: Option<u64>) -> Result<u64, Error> {
        let to = self.find(at + 1, format)?;
        // A frame is not longer than its contents by more than this; if the next is farther away, others are lost too.
        let alone = |content: &u64| to - at <= content.saturating_add(content / 128).saturating_add(1024);
        self.lose(at, to, content.filter(alone))?;
        Ok(to)
    }

    /// The first place from `at` on where a frame begins, of this format if it is known; the file's end if none does.
    fn find(&mut self, mut at: u64, format: Option<Format>) -> Result<u64, Error> {
        loop {
            match self.window.look(at, format)? {
                ControlFlow::Break(found) => return Ok(found),
                ControlFlow::Continue(next) => at = next,
            }
            self.step(at)?;
        }
    }

    /// Counts, and asks whether to go on.
    fn step(&mut self, at: u64) -> Result<(), Error> {
        self.meter.read_to(at);
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

    /// A table has the lengths of frames: they need no other bound.
    fn listed_bounds(&self) -> Bounds {
        let most = u64::from(u32::MAX);
        Bounds { frame: most, one_of_many: most, ..self.bounds }
    }

    fn write(&mut self) -> Result<(), Error> {
        self.output.write(self.job.output()).map_err(Error::Write)
    }

    fn lose(&mut self, from: u64, to: u64, content: Option<u64>) -> Result<(), Error> {
        let content_at = self.output.len();
        // A damaged header may say anything.
        let content = content.filter(|content| *content <= (to - from).saturating_mul(MOST_RATIO));
        let mut left = content.unwrap_or(0);
        while left > 0 {
            let now = left.min(ZEROS);
            self.output.write_zeros(now).map_err(Error::Write)?;
            left -= now;
            self.step(from)?;
        }
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
