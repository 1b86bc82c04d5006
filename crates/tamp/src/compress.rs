//! Compression: blocks of the input become frames, blocks or members of the output, independent of each other.

use std::{ops::ControlFlow, sync::Arc};

use crate::{
    Error, Format, Input, Level, Meter, Output, Watch, Written,
    container::Container,
    engine::{self, Limits, Sink, Source, Worker},
    gz,
    input::{From, Piece, fill},
    job::Job,
    lz4, zst,
};

/// Options of compression.
#[derive(Clone, Debug)]
pub struct Compress {
    /// Into what.
    pub format: Format,
    /// How hard.
    pub level: Level,
    /// Threads that may work at a time; [`crate::threads`] are useful.
    pub threads: usize,
    /// Bytes of a block; that of the format if not given. LZ4 has four sizes, and takes the next larger one.
    pub block: Option<usize>,
    /// Bytes of memory that blocks and compressors may hold, about; at least what one thread needs is taken.
    pub memory: Option<u64>,
    /// True if zstd output of several blocks ends with a table by which other tools find them.
    pub index: bool,
}

impl Default for Compress {
    fn default() -> Compress {
        Compress {
            format: Format::default(),
            level: Level::default(),
            threads: crate::threads(),
            block: None,
            memory: None,
            index: true,
        }
    }
}

/// Compresses `input` into `output`, and counts in `meter`.
///
/// # Errors
/// The input cannot be read or became shorter, the output cannot be written, or `watch` ended it.
pub fn compress(
    input: Input,
    output: Output,
    options: &Compress,
    meter: &Meter,
    watch: Watch<'_>,
) -> Result<Written, Error> {
    let (format, level) = (options.format, options.level);
    let block = format.fitting(options.block.unwrap_or(format.block()));
    let (threads, len) = (options.threads, input.len());
    let line = |context: u64| Packing {
        limits: limits(threads, block, context, options.memory),
        chunks: Chunks { from: input.from, block, begun: false, offset: 0, meter: meter.clone() },
        output: output.meter(meter),
        meter,
    };
    match format {
        Format::Zst => {
            let encoder = move || zst::Encoder::new(level, block);
            line(zst::context(level)).run(encoder, zst::Frames::new(options.index, block), watch)
        }
        Format::Lz4 => line(64 << 10).run(move || lz4::Encoder::new(level), lz4::Frame::new(block, len), watch),
        Format::Gz => line(2 << 20).run(move || gz::Encoder::new(level, block), gz::Members::new(block), watch),
    }
}

/// Four blocks for each thread, or what fits into `memory`, where a block has two sides and a thread its context.
fn limits(threads: usize, block: usize, context: u64, memory: Option<u64>) -> Limits {
    let sides = 2 * block as u64;
    let memory = memory.unwrap_or(u64::MAX);
    // With fewer than two blocks for each, threads would wait for each other.
    let threads = usize::try_from(memory / (context + 2 * sides)).unwrap_or(usize::MAX).clamp(1, threads.max(1));
    let left = memory.saturating_sub(context * threads as u64);
    let jobs = usize::try_from(left / sides).unwrap_or(usize::MAX).clamp(2, 4 * threads);
    Limits { threads, jobs, bytes: u64::MAX }
}

/// All that a compression needs beside its format.
struct Packing<'a> {
    limits: Limits,
    chunks: Chunks,
    output: Output,
    meter: &'a Meter,
}

impl Packing<'_> {
    fn run<W, C>(
        self,
        encoder: impl Fn() -> Result<W, Error> + Send + Sync + 'static,
        mut container: C,
        watch: Watch<'_>,
    ) -> Result<Written, Error>
    where
        W: Worker<Job>,
        C: Container,
    {
        let Packing { limits, chunks, mut output, meter } = self;
        container.begin(&mut output).map_err(Error::Write)?;
        let packer = Packer { container, output };
        let Packer { mut container, mut output } =
            engine::run(limits, chunks, move || Reading(encoder()), packer, meter, watch)?;
        container.end(&mut output).map_err(Error::Write)?;
        output.finish().map_err(Error::Write)
    }
}

/// Cuts the input into blocks.
struct Chunks {
    from: From,
    block: usize,
    begun: bool,
    offset: u64,
    meter: Meter,
}

impl Source for Chunks {
    type Job = Job;

    fn next(&mut self, job: &mut Job) -> Result<bool, Error> {
        job.reset(self.offset);
        let got = match &mut self.from {
            From::Stream(reader) => fill(reader, &mut job.input_of(self.block)[..self.block])?,
            From::File { file, at, end, keep } => {
                // Only assigned here, and read by the worker: one thread would be too few to read for many.
                let len = self.block.min(usize::try_from(*end - *at).unwrap_or(usize::MAX));
                job.piece = (len > 0).then(|| Piece::new(&Arc::clone(file), *at, len, *keep));
                *at += len as u64;
                len
            }
        };
        self.meter.read(got as u64);
        job.input_len = got;
        job.room = self.block;
        self.offset += got as u64;
        // Nothing at all is one empty block.
        let more = got > 0 || !self.begun;
        self.begun = true;
        Ok(more)
    }
}

/// A worker that reads its block first, if it is in a file.
struct Reading<W>(Result<W, Error>);

impl<W: Worker<Job>> Worker<Job> for Reading<W> {
    fn work(&mut self, job: &mut Job) -> Result<(), Error> {
        if let Some(piece) = job.piece.take() {
            piece.read(job.input_of(job.input_len))?;
        }
        match &mut self.0 {
            Ok(worker) => worker.work(job),
            Err(error) => Err(Error::Encoder(error.to_string())),
        }
    }
}

/// Writes a container of blocks.
struct Packer<C> {
    container: C,
    output: Output,
}

impl<C: Container> Sink<Job> for Packer<C> {
    fn write_block(&mut self, job: &mut Job) -> Result<ControlFlow<()>, Error> {
        self.container.block(job, &mut self.output).map_err(Error::Write)?;
        Ok(ControlFlow::Continue(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_bounds_blocks_first_and_threads_after() {
        let mib = 1 << 20;
        let bounds = |memory: Option<u64>| {
            let limits = limits(8, 1 << 20, mib, memory);
            (limits.threads, limits.jobs)
        };
        assert_eq!(bounds(None), (8, 32));
        assert_eq!(bounds(Some(64 * mib)), (8, 28));
        assert_eq!(bounds(Some(20 * mib)), (4, 8));
        assert_eq!(bounds(Some(0)), (1, 2));
    }
}
