//! How gzip is written.

use std::io;

use libdeflater::{Compressor, crc32};

use super::{EXTRA, FOOT, MAGIC, PART, PROMISE};
use crate::{Error, Level, Output, container::Container, engine::Worker, job::Job};

/// Bytes of our header.
const HEAD: usize = 10 + 2 + 4 + 9;
/// The operating system of a header: Unix.
const UNIX: u8 = 3;

/// Makes members.
pub(crate) struct Encoder {
    compressor: Compressor,
    block: usize,
}

impl Encoder {
    /// For blocks of this size.
    pub fn new(level: Level, block: usize) -> Result<Encoder, Error> {
        Ok(Encoder { compressor: Compressor::new(level.deflate()), block })
    }
}

impl Worker<Job> for Encoder {
    fn work(&mut self, job: &mut Job) -> Result<(), Error> {
        let room = HEAD + self.compressor.deflate_compress_bound(job.input_len) + FOOT;
        let promises = job.input_len == self.block;
        let (input, room) = job.sides(room);
        job.output_len = member(&mut self.compressor, input, room, promises)?;
        Ok(())
    }
}

/// Writes a member into `room`; its length.
fn member(compressor: &mut Compressor, input: &[u8], room: &mut [u8], promises: bool) -> Result<usize, Error> {
    let packed =
        compressor.deflate_compress(input, &mut room[HEAD..]).map_err(|error| Error::Encoder(error.to_string()))?;
    let len = HEAD + packed + FOOT;
    room[..10].copy_from_slice(&[MAGIC[0], MAGIC[1], MAGIC[2], EXTRA, 0, 0, 0, 0, 0, UNIX]);
    room[10..12].copy_from_slice(&13u16.to_le_bytes());
    room[12..14].copy_from_slice(&PART);
    room[14..16].copy_from_slice(&9u16.to_le_bytes());
    room[16] = if promises { PROMISE } else { 0 };
    // Blocks are at most 128 MiB.
    room[17..21].copy_from_slice(&(len as u32).to_le_bytes());
    room[21..25].copy_from_slice(&(input.len() as u32).to_le_bytes());
    room[len - 8..len - 4].copy_from_slice(&crc32(input).to_le_bytes());
    room[len - 4..len].copy_from_slice(&(input.len() as u32).to_le_bytes());
    Ok(len)
}

/// Writes members one after the other, and an empty one after several.
pub(crate) struct Members {
    block: usize,
    promised: bool,
}

impl Members {
    /// Of blocks of this size.
    pub fn new(block: usize) -> Members {
        Members { block, promised: false }
    }
}

impl Container for Members {
    fn block(&mut self, job: &Job, out: &mut Output) -> io::Result<()> {
        self.promised |= job.input_len == self.block;
        out.write(job.output())
    }

    fn end(&mut self, out: &mut Output) -> io::Result<()> {
        if !self.promised {
            return Ok(());
        }
        let mut compressor = Compressor::new(Level::default().deflate());
        let mut room = vec![0; HEAD + compressor.deflate_compress_bound(0) + FOOT];
        let len = member(&mut compressor, &[], &mut room, false).map_err(io::Error::other)?;
        out.write(&room[..len])
    }
}
