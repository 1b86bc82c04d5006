//! Undamaged data, decoded by all threads: parts are passed on until the first that is not whole, or that cannot be
//! separated from its neighbours without decoding them. There one thread looks closer, and what it finds is the same as
//! if it had come all the way alone.

use std::{mem, ops::ControlFlow, sync::Arc};

use crate::{
    Error, Format, Meter, Output,
    decompress::Decoder,
    engine::{self, Sink, Source, Worker},
    frame::{Begun, Bounds},
    gz,
    input::Reader,
    job::Job,
    lz4, zst,
};

use super::{
    Recovery,
    window::{HEAD, begun},
};

/// Parts for which it was worth while to start threads.
const WORTH: usize = 4;
/// How often one thread goes on alone, at most, after it was not.
const PAUSE_MOST: u32 = 1 << 10;

/// How far it got.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passed {
    /// Offset in the input up to which everything is written.
    pub at: u64,
    /// How many parts that were.
    pub parts: usize,
    /// The format of the first.
    pub format: Option<Format>,
}

/// A part that may be damaged.
#[derive(Debug, Default)]
pub(super) struct Attempt {
    job: Job,
    /// Offset in the input at which it ends.
    end: u64,
    /// Bytes of contents that it must have.
    content: Option<u64>,
    whole: bool,
}

impl engine::Job for Attempt {
    fn bytes(&self) -> u64 {
        self.job.bytes()
    }

    fn capacity(&self) -> u64 {
        self.job.capacity()
    }
}

impl Recovery<'_> {
    /// Writes what a source of parts finds from `at` on, up to the first that is not whole.
    pub(super) fn fast<S: Source<Job = Attempt>>(
        &mut self,
        at: u64,
        source: impl FnOnce(Reader) -> S,
    ) -> Result<Passed, Error> {
        let passed = Passed { at, parts: 0, format: None };
        if self.limits.threads == 1 || self.alone > 0 {
            self.alone = self.alone.saturating_sub(1);
            return Ok(passed);
        }
        let source = source(self.reader(at)?);
        let output = mem::replace(&mut self.output, Output::nowhere());
        let sink = Whole { output, passed, meter: self.meter.clone() };
        let sink = engine::run(self.limits, source, Trying::default, sink, self.meter, &mut *self.watch)?;
        self.output = sink.output;
        // Where damage or the end of a frame is never far, starting threads takes longer than they save.
        self.pause = if sink.passed.parts < WORTH { (2 * self.pause + 1).min(PAUSE_MOST) } else { 0 };
        self.alone = self.pause;
        Ok(sink.passed)
    }
}

/// Finds out whether a part is whole.
#[derive(Default)]
struct Trying(Decoder);

impl Worker<Attempt> for Trying {
    fn work(&mut self, attempt: &mut Attempt) -> Result<(), Error> {
        attempt.whole = match self.0.work(&mut attempt.job) {
            Ok(()) => attempt.content.is_none_or(|content| content == attempt.job.output().len() as u64),
            Err(error) if error.is_damage() => false,
            Err(error) => return Err(error),
        };
        Ok(())
    }
}

/// Writes parts that are whole.
struct Whole {
    output: Output,
    passed: Passed,
    meter: Meter,
}

impl Sink<Attempt> for Whole {
    fn write_block(&mut self, attempt: &mut Attempt) -> Result<ControlFlow<()>, Error> {
        if !attempt.whole {
            return Ok(ControlFlow::Break(()));
        }
        self.output.write(attempt.job.output()).map_err(Error::Write)?;
        let passed = &mut self.passed;
        *passed =
            Passed { at: attempt.end, parts: passed.parts + 1, format: passed.format.or(attempt.job.task.format()) };
        self.meter.read_to(attempt.end);
        Ok(ControlFlow::Continue(()))
    }
}

/// The frames that a table names.
pub(super) struct Listed {
    pub reader: Reader,
    pub bounds: Bounds,
    /// Offset in the input of the next frame; the reader began at the first.
    pub at: u64,
    pub entries: Arc<[zst::Entry]>,
    /// Which of them is the next.
    pub next: usize,
}

impl Source for Listed {
    type Job = Attempt;

    fn next(&mut self, attempt: &mut Attempt) -> Result<bool, Error> {
        let Some(entry) = self.entries.get(self.next) else { return Ok(false) };
        let before = self.reader.offset();
        let found = zst::Stream::default().begin(&mut self.reader, &mut attempt.job, self.bounds, 0);
        let len = self.reader.offset() - before;
        if !matches!(found, Ok(Begun::Gathered)) || len != u64::from(entry.compressed) {
            return Ok(false);
        }
        self.at += len;
        self.next += 1;
        attempt.end = self.at;
        attempt.content = Some(u64::from(entry.content));
        Ok(true)
    }
}

/// Frames of zstd and members of gzip, one after the other.
pub(super) struct Frames {
    pub reader: Reader,
    pub bounds: Bounds,
    /// Offset in the input at which the reader began.
    pub base: u64,
    /// Bytes of the input.
    pub len: u64,
    pub format: Option<Format>,
}

impl Frames {
    /// Gathers the next that can be, passing over skippable frames.
    fn gather(&mut self, job: &mut Job) -> Result<bool, Error> {
        loop {
            let at = self.base + self.reader.offset();
            let head = self.reader.peek(HEAD)?;
            if zst::is_skippable(head) {
                let len = zst::skippable_len(head).filter(|len| at + len <= self.len);
                match len {
                    Some(len) => self.reader.skip(len)?,
                    None => return Ok(false),
                };
                continue;
            }
            let found = begun(head, self.format);
            let (reader, bounds) = (&mut self.reader, self.bounds);
            let gathered = match found {
                None => return Ok(false),
                Some(Format::Zst) => matches!(zst::Stream::default().begin(reader, job, bounds, 0)?, Begun::Gathered),
                Some(Format::Gz) => matches!(gz::Stream::default().begin(reader, job, bounds, 0)?, Begun::Gathered),
                Some(Format::Lz4) => false,
            };
            self.format = self.format.or(job.task.format());
            return Ok(gathered);
        }
    }
}

impl Source for Frames {
    type Job = Attempt;

    fn next(&mut self, attempt: &mut Attempt) -> Result<bool, Error> {
        // Errors are reported by the thread that looks closer.
        let more = self.gather(&mut attempt.job).unwrap_or(false);
        attempt.end = self.base + self.reader.offset();
        Ok(more)
    }
}

/// Independent blocks of an LZ4 frame.
pub(super) struct Blocks {
    pub reader: Reader,
    /// Offset in the input at which the reader began.
    pub base: u64,
    pub frame: lz4::Reading,
}

impl Source for Blocks {
    type Job = Attempt;

    fn next(&mut self, attempt: &mut Attempt) -> Result<bool, Error> {
        // The end of the frame is left to the thread that looks closer, as what is wrong.
        let more = self.frame.next(&mut self.reader, &mut attempt.job).unwrap_or(false);
        attempt.end = self.base + self.reader.offset();
        Ok(more && !self.frame.is_over())
    }
}
