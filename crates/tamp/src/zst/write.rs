//! How zstd is written: an encoder for each thread, and what stands around their frames.

use std::io;

use zstd_safe::{CCtx, CParameter, compress_bound, get_error_name};

use super::{
    MAGIC,
    seek::{Entry, Trailer},
};
use crate::{Error, Level, Output, container::Container, engine::Worker, job::Job};

/// Entries of a seek table at most; beyond them (8 TiB of blocks of 2 MiB) it is left out, so that memory is bounded.
const MOST_ENTRIES: usize = 4 << 20;

/// Bytes that a compressor keeps beside its blocks, roughly: its tables grow with the level.
pub(crate) fn context(level: Level) -> u64 {
    match level.zstd() {
        ..=3 => 3 << 20,
        4..=9 => 8 << 20,
        _ => 24 << 20,
    }
}

/// Makes frames.
pub(crate) struct Encoder {
    context: CCtx<'static>,
    block: usize,
}

impl Encoder {
    /// For blocks of this size.
    pub fn new(level: Level, block: usize) -> Result<Encoder, Error> {
        let mut context = CCtx::try_create().ok_or_else(|| Error::Encoder("no memory".to_owned()))?;
        for parameter in [CParameter::CompressionLevel(level.zstd()), CParameter::ChecksumFlag(true)] {
            context.set_parameter(parameter).map_err(failed)?;
        }
        Ok(Encoder { context, block })
    }
}

fn failed(code: usize) -> Error {
    Error::Encoder(get_error_name(code).to_owned())
}

impl Worker<Job> for Encoder {
    fn work(&mut self, job: &mut Job) -> Result<(), Error> {
        let promises = job.input_len == self.block;
        let (input, room) = job.sides(compress_bound(job.input_len) + 1);
        let before = usize::from(promises);
        let len = self.context.compress2(&mut room[before..], input).map_err(failed)?;
        if promises {
            promise(room)?;
        }
        job.output_len = before + len;
        Ok(())
    }
}

/// Puts a dictionary's number that is zero into the header of a frame that begins at 1, which then begins at 0.
fn promise(room: &mut [u8]) -> Result<(), Error> {
    // Magic number, descriptor, and unless the frame is a single segment the window.
    let descriptor = room[5];
    let head = if descriptor & 0x20 != 0 { 5 } else { 6 };
    if super::word(&room[1..]) != Some(MAGIC) || descriptor & 3 != 0 {
        return Err(Error::Encoder("an unexpected frame header".to_owned()));
    }
    room.copy_within(1..=head, 0);
    room[4] |= 1;
    room[head] = 0;
    Ok(())
}

/// Writes frames one after the other, and after several a trailer and a seek table.
pub(crate) struct Frames {
    block: usize,
    promised: bool,
    trailer: Trailer,
    table: Option<Vec<Entry>>,
}

impl Frames {
    /// With a seek table, if there shall be an `index`.
    pub fn new(index: bool, block: usize) -> Frames {
        Frames { block, promised: false, trailer: Trailer::default(), table: index.then(Vec::new) }
    }
}

impl Container for Frames {
    fn block(&mut self, job: &Job, out: &mut Output) -> io::Result<()> {
        self.promised |= job.input_len == self.block;
        self.trailer.frames += 1;
        self.trailer.content += job.input_len as u64;
        if let Some(table) = &mut self.table {
            // Blocks are at most 128 MiB.
            table.push(Entry { compressed: job.output_len as u32, content: job.input_len as u32 });
        }
        if self.table.as_ref().is_some_and(|table| table.len() > MOST_ENTRIES) {
            self.table = None;
        }
        out.write(job.output())
    }

    fn end(&mut self, out: &mut Output) -> io::Result<()> {
        if !self.promised {
            return Ok(());
        }
        let table = self.table.as_deref().map(super::seek::table);
        out.write(&self.trailer.bytes(table.as_deref()))?;
        out.write(table.as_deref().unwrap_or_default())
    }
}
