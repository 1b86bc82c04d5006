//! Decompression: what [`crate::unpack`] finds is decoded by all threads and written in order.

use std::{
    hash::Hasher as _,
    ops::{ControlFlow, Range},
};

use libdeflater::Decompressor;
use twox_hash::XxHash32;
use zstd_safe::DCtx;

use crate::{
    Error, Format, Input, Meter, Output, Watch, Written,
    engine::{self, Limits, Sink, Worker},
    frame::Bounds,
    gz,
    input::Reader,
    job::{Job, Task},
    lz4,
    unpack::{Shared, Unpack},
    zst,
};

/// The largest frame that is gathered for a worker.
const FRAME_MOST: u64 = 16 << 20;
/// The same for our own frames: the largest block that is written.
const OWN_FRAME_MOST: u64 = 128 << 20;
/// Bytes in flight for each thread, when nothing else is asked for.
const BYTES_PER_THREAD: u64 = 64 << 20;
/// The window of `zstd -d` when nothing else is asked for.
const WINDOW: u64 = 128 << 20;

/// Options of decompression.
#[derive(Clone, Debug)]
pub struct Decompress {
    /// Threads that may work at a time; [`crate::threads`] are useful.
    pub threads: usize,
    /// Bytes of memory that blocks may hold, about; a window may have as many.
    pub memory: Option<u64>,
    /// Only these bytes of the contents.
    pub range: Option<Range<u64>>,
}

impl Default for Decompress {
    fn default() -> Decompress {
        Decompress { threads: crate::threads(), memory: None, range: None }
    }
}

/// Result of a decompression.
#[derive(Debug)]
pub struct Unpacked {
    /// Where it went.
    pub written: Written,
    /// The format of the first frame.
    pub format: Option<Format>,
    /// Frames of zstd and LZ4 and members of gzip.
    pub frames: u64,
    /// Parts that were decoded one beside the other.
    pub blocks: u64,
    /// True if parts had to be decoded in order, by one thread.
    pub serial: bool,
}

/// Decompresses `input` into `output`, and counts in `meter`. Formats are recognised, and may follow each other.
///
/// # Errors
/// The input is damaged, cut off or cannot be read, the output cannot be written, or `watch` ended it. What came
/// before the damage has been written.
pub fn decompress(
    input: Input,
    output: Output,
    options: &Decompress,
    meter: &Meter,
    watch: Watch<'_>,
) -> Result<Unpacked, Error> {
    let (limits, bounds) = (limits(options), bounds(options.memory));
    let shared = Shared::default();
    let reader = Reader::new(input, meter.clone());
    let source = Unpack::new(reader, bounds, options.range.clone(), shared.clone())?;
    let sink = Unpacker::new(output.meter(meter), options.range.clone());
    let sink = engine::run(limits, source, Decoder::default, sink, meter, watch)?;
    let facts = shared.facts();
    Ok(Unpacked {
        written: sink.output.finish().map_err(Error::Write)?,
        format: facts.format,
        frames: facts.frames,
        blocks: facts.blocks,
        serial: facts.serial,
    })
}

/// Four blocks for each thread, or what fits into the memory.
pub(crate) fn limits(options: &Decompress) -> Limits {
    let threads = options.threads.max(1);
    Limits { threads, jobs: 4 * threads, bytes: options.memory.unwrap_or(BYTES_PER_THREAD * threads as u64) }
}

/// Bounds of a frame when blocks may hold `memory` bytes.
pub(crate) fn bounds(memory: Option<u64>) -> Bounds {
    let most = |most: u64| memory.map_or(most, |memory| (memory / 4).min(most));
    Bounds { frame: most(FRAME_MOST), one_of_many: most(OWN_FRAME_MOST), window: memory.unwrap_or(WINDOW) }
}

/// Decodes blocks of any format.
#[derive(Default)]
pub(crate) struct Decoder {
    zstd: Option<DCtx<'static>>,
    inflate: Option<Decompressor>,
}

impl Worker<Job> for Decoder {
    fn work(&mut self, job: &mut Job) -> Result<(), Error> {
        match job.task {
            Task::Ready => Ok(()),
            Task::Lz4 { stored, sum } => lz4::decode(job, stored, sum, &[]),
            Task::Gzip { data } => gz::decode(self.inflate.get_or_insert_with(Decompressor::new), job, data),
            Task::Zstd { content } => {
                let context = match &mut self.zstd {
                    Some(context) => context,
                    None => {
                        let context = DCtx::try_create().ok_or_else(|| Error::Encoder("no memory".to_owned()))?;
                        self.zstd.insert(context)
                    }
                };
                zst::decode(context, job, content)
            }
        }
    }
}

/// Writes what was decoded, and checks what frames promise of all their blocks.
struct Unpacker {
    output: Output,
    range: Option<Range<u64>>,
    /// Offset in the contents.
    position: u64,
    /// Of the frame.
    sum: XxHash32,
    len: u64,
}

impl Unpacker {
    fn new(output: Output, range: Option<Range<u64>>) -> Unpacker {
        Unpacker { output, range, position: 0, sum: XxHash32::with_seed(0), len: 0 }
    }

    fn check(&mut self, job: &Job) -> Result<(), Error> {
        if job.check.opens {
            self.sum = XxHash32::with_seed(0);
            self.len = 0;
        }
        if job.check.summed {
            self.sum.write(job.output());
        }
        self.len += job.output().len() as u64;
        if let Some(promise) = job.check.closes {
            if promise.len.is_some_and(|len| len != self.len) {
                return Err(Error::damaged(job.at, "a frame is longer or shorter than its header has it"));
            }
            if promise.sum.is_some_and(|sum| sum != self.sum.finish_32()) {
                return Err(Error::damaged(job.at, "a frame's checksum is wrong"));
            }
        }
        Ok(())
    }
}

impl Sink<Job> for Unpacker {
    fn write_block(&mut self, job: &mut Job) -> Result<ControlFlow<()>, Error> {
        self.position = job.position.unwrap_or(self.position);
        let begin = self.position;
        let end = begin + job.output().len() as u64;
        self.position = end;
        let wanted = match &self.range {
            None => job.output(),
            Some(range) => {
                let from = range.start.clamp(begin, end) - begin;
                let to = range.end.clamp(begin, end) - begin;
                // Both are at most the length of the output.
                &job.output()[from as usize..(to.max(from)) as usize]
            }
        };
        // Contents that are wrong only in the end are written too, as far as they go: the caller gets the error.
        self.output.write(wanted).map_err(Error::Write)?;
        self.check(job)?;
        let enough = self.range.as_ref().is_some_and(|range| end >= range.end);
        Ok(if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}
