//! How LZ4 is written.

use std::{hash::Hasher as _, io};

use lzzzz::{lz4, lz4_hc};
use twox_hash::XxHash32;

use super::{MAGIC, STORED, flag, header_sum};
use crate::{Error, Level, Output, container::Container, engine::Worker, job::Job, level::Lz4Level};

/// Makes blocks, each with its length before it and its checksum after it.
pub(crate) struct Encoder {
    level: Lz4Level,
}

impl Encoder {
    /// At this level.
    pub fn new(level: Level) -> Result<Encoder, Error> {
        Ok(Encoder { level: level.lz4() })
    }
}

impl Worker<Job> for Encoder {
    fn work(&mut self, job: &mut Job) -> Result<(), Error> {
        if job.input_len == 0 {
            // A length of zero would end the frame.
            job.output_len = 0;
            return Ok(());
        }
        let level = self.level;
        let (input, room) = job.sides(lz4::max_compressed_size(job.input_len) + 8);
        let body = &mut room[4..];
        let packed = match level {
            Lz4Level::Fast(acceleration) => lz4::compress(input, body, acceleration),
            Lz4Level::Hard(level) => lz4_hc::compress(input, body, level),
        };
        let packed = packed.map_err(|error| Error::Encoder(error.to_string()))?;
        let stored = packed >= input.len();
        let len = packed.min(input.len());
        if stored {
            body[..len].copy_from_slice(input);
        }
        let sum = XxHash32::oneshot(0, &body[..len]);
        body[len..len + 4].copy_from_slice(&sum.to_le_bytes());
        // Blocks are at most 4 MiB.
        let word = len as u32 | if stored { STORED } else { 0 };
        room[..4].copy_from_slice(&word.to_le_bytes());
        job.output_len = len + 8;
        Ok(())
    }
}

/// Writes a frame.
pub(crate) struct Frame {
    block: usize,
    content: Option<u64>,
    sum: Option<XxHash32>,
}

impl Frame {
    /// Of blocks of this size, and of so many bytes if that is known.
    pub fn new(block: usize, content: Option<u64>) -> Frame {
        Frame { block, content, sum: content.is_none().then(|| XxHash32::with_seed(0)) }
    }
}

impl Container for Frame {
    fn begin(&mut self, out: &mut Output) -> io::Result<()> {
        // 64 KiB, 256 KiB, 1 MiB and 4 MiB are 4 to 7.
        let size = ((self.block >> 10).ilog2() - 6) / 2 + 4;
        let further = if self.content.is_some() { flag::CONTENT_LEN } else { flag::CONTENT_SUM };
        let mut header = MAGIC.to_le_bytes().to_vec();
        header.push(flag::VERSION | flag::INDEPENDENT | flag::BLOCK_SUMS | further);
        header.push((size as u8) << 4);
        header.extend(self.content.iter().flat_map(|len| len.to_le_bytes()));
        header.push(header_sum(&header[4..]));
        out.write(&header)
    }

    fn block(&mut self, job: &Job, out: &mut Output) -> io::Result<()> {
        if let Some(sum) = &mut self.sum {
            sum.write(&job.input[..job.input_len]);
        }
        out.write(job.output())
    }

    fn end(&mut self, out: &mut Output) -> io::Result<()> {
        let mut bytes = 0u32.to_le_bytes().to_vec();
        bytes.extend(self.sum.iter().flat_map(|sum| sum.finish_32().to_le_bytes()));
        out.write(&bytes)
    }
}
