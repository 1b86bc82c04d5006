//! Takes compressed data apart, whatever the format: into blocks that workers decode, wherever that is possible,
//! or into parts of contents that had to be decoded in order.

use std::{
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    Error, Format,
    engine::Source,
    frame::{Begun, Bounds, InOrder},
    gz,
    input::Reader,
    job::{Job, Task},
    lz4, zst,
};

/// Facts about the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// The format of the first frame.
    pub format: Option<Format>,
    /// Frames of zstd and LZ4 and members of gzip.
    pub frames: u64,
    /// Parts that could be decoded at the same time.
    pub blocks: u64,
    /// Some had to be decoded in order.
    pub serial: bool,
}

/// [`Facts`] that are seen from outside.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared(Arc<Mutex<Facts>>);

impl Shared {
    pub fn facts(&self) -> Facts {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reader's position in the data.
enum Inside {
    Between,
    Zstd(Box<zst::Serial>),
    Lz4(lz4::Reading),
    Gzip(Box<gz::Serial>),
}

/// The next step.
enum Step {
    /// The job is a part of the contents.
    Job,
    /// Look again.
    Again,
    /// There is nothing more.
    End,
}

/// The source of blocks to be decoded.
pub(crate) struct Unpack {
    reader: Reader,
    bounds: Bounds,
    inside: Inside,
    zst: zst::Stream,
    gz: gz::Stream,
    /// Offset in the contents, as long as it is known.
    position: Option<u64>,
    /// Contents that are wanted.
    range: Option<Range<u64>>,
    facts: Facts,
    shared: Shared,
}

impl Unpack {
    /// Of this input, for these parts of its contents.
    pub fn new(reader: Reader, bounds: Bounds, range: Option<Range<u64>>, shared: Shared) -> Result<Unpack, Error> {
        let mut unpack = Unpack {
            reader,
            bounds,
            inside: Inside::Between,
            zst: zst::Stream::default(),
            gz: gz::Stream::default(),
            position: Some(0),
            range,
            facts: Facts::default(),
            shared,
        };
        unpack.jump()?;
        Ok(unpack)
    }

    /// Goes to the frame in which the wanted range begins, if the file has a table of them.
    fn jump(&mut self) -> Result<(), Error> {
        let Some(begin) = self.range.as_ref().map(|range| range.start) else { return Ok(()) };
        let Some((file, base, end)) = self.reader.file() else { return Ok(()) };
        let read = |at: u64, len: usize| {
            use std::os::unix::fs::FileExt;
            let mut bytes = vec![0; len];
            file.file().read_exact_at(&mut bytes, base + at).ok().map(|()| bytes)
        };
        let Some((_, entries)) = zst::find_table(end - base, read) else { return Ok(()) };
        let (mut offset, mut position, mut frames) = (0, 0, 0);
        for entry in entries {
            let next = position + u64::from(entry.content);
            if next > begin {
                break;
            }
            offset += u64::from(entry.compressed);
            position = next;
            frames += 1;
        }
        self.reader.skip(offset)?;
        self.zst = zst::Stream::after(frames, position);
        self.position = Some(position);
        self.found(Format::Zst);
        Ok(())
    }

    fn found(&mut self, format: Format) {
        self.facts.format.get_or_insert(format);
    }

    /// Bytes of contents from here that are not wanted.
    fn unwanted(&self) -> u64 {
        match (&self.range, self.position) {
            (Some(range), Some(position)) => range.start.saturating_sub(position),
            _ => 0,
        }
    }

    /// Whether all that is wanted was found.
    fn enough(&self) -> bool {
        match (&self.range, self.position) {
            (Some(range), Some(position)) => position >= range.end,
            _ => false,
        }
    }

    fn step(&mut self, job: &mut Job) -> Result<Step, Error> {
        let more = match &mut self.inside {
            Inside::Between => return self.begin(job),
            Inside::Zstd(frame) => frame.next(&mut self.reader, job)?,
            Inside::Gzip(member) => member.next(&mut self.reader, job)?,
            Inside::Lz4(frame) => frame.next(&mut self.reader, job)?,
        };
        if !more {
            self.inside = Inside::Between;
            return Ok(Step::Again);
        }
        Ok(Step::Job)
    }

    /// Looks at what begins here.
    fn begin(&mut self, job: &mut Job) -> Result<Step, Error> {
        let at = self.reader.offset();
        let seen = self.reader.peek(4)?;
        if seen.is_empty() {
            return self.end(at);
        }
        if zst::is_skippable(seen) {
            self.zst.skippable(&mut self.reader)?;
            return Ok(Step::Again);
        }
        if zst::is_magic(seen) {
            self.begins(Format::Zst);
            let unwanted = self.unwanted();
            return Ok(match self.zst.begin(&mut self.reader, job, self.bounds, unwanted)? {
                Begun::Gathered => Step::Job,
                Begun::Passed(content) => self.passed(content),
                Begun::Serial(frame) => self.serial(Inside::Zstd(frame)),
            });
        }
        if lz4::is_magic(seen) || lz4::is_legacy(seen) {
            self.begins(Format::Lz4);
            self.inside = Inside::Lz4(lz4::Reading::begin(&mut self.reader)?);
            return Ok(Step::Again);
        }
        if gz::is_magic(seen) {
            self.begins(Format::Gz);
            let unwanted = self.unwanted();
            return Ok(match self.gz.begin(&mut self.reader, job, self.bounds, unwanted)? {
                Begun::Gathered => Step::Job,
                Begun::Passed(content) => self.passed(content),
                Begun::Serial(member) => self.serial(Inside::Gzip(member)),
            });
        }
        // gzip's own files may be padded, as on tapes.
        if seen[0] == 0 && self.facts.format == Some(Format::Gz) {
            self.reader.consume(1);
            return Ok(Step::Again);
        }
        Err(if self.facts.frames > 0 {
            Error::damaged(at, "what follows the last frame is none")
        } else {
            Error::Unknown { at }
        })
    }

    fn begins(&mut self, format: Format) {
        self.found(format);
        self.facts.frames += 1;
    }

    fn passed(&mut self, content: u64) -> Step {
        self.position = self.position.and_then(|position| position.checked_add(content));
        Step::Again
    }

    fn serial(&mut self, inside: Inside) -> Step {
        self.facts.serial = true;
        self.inside = inside;
        Step::Again
    }

    fn end(&self, at: u64) -> Result<Step, Error> {
        if self.facts.format.is_none() {
            return Err(Error::Truncated { at, what: "there is nothing in it" });
        }
        self.zst.end(at)?;
        self.gz.end(at)?;
        Ok(Step::End)
    }

    /// Notes the job's position in the contents.
    fn place(&mut self, job: &mut Job) {
        job.position = self.position;
        let content = match job.task {
            Task::Ready => Some(job.output_len as u64),
            Task::Zstd { content } => content,
            Task::Gzip { .. } => Some(job.room as u64),
            Task::Lz4 { .. } => None,
        };
        self.position = self.position.zip(content).and_then(|(position, content)| position.checked_add(content));
        self.facts.blocks += 1;
    }
}

impl Source for Unpack {
    type Job = Job;

    fn next(&mut self, job: &mut Job) -> Result<bool, Error> {
        let more = loop {
            if self.enough() {
                break false;
            }
            match self.step(job)? {
                Step::Job => break true,
                Step::Again => {}
                Step::End => break false,
            }
        };
        if more {
            self.place(job);
        }
        *self.shared.0.lock().unwrap_or_else(PoisonError::into_inner) = self.facts;
        Ok(more)
    }
}
