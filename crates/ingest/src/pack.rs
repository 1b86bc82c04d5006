//! The thread `fenxi-pack`: writes many short inputs into one file; a file for each would cost more than reading it.
//!
//! The file is zstd frames one after another, each of the texts of some inputs; `zstd -dc` gives all of them. The manifest
//! has the offset of each ([`Part`]).

use std::{
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::{Builder, JoinHandle},
};

use fenxi_store::{FileEntry, Part, RawFile, StoreError};
use fs_err as fs;

use crate::keep::packer;

/// Bytes of a frame's content: reading one input again unpacks its frame.
const FRAME: usize = 128 << 10;

/// Frames that may wait to be packed.
const FRAMES_AHEAD: usize = 4;

/// The file in which short inputs are kept, while a thread writes it.
pub(crate) struct Pack {
    /// Its name in the folder of inputs.
    name: String,
    writer: Option<Writer>,
    /// The frame that is being filled, and its number.
    frame: Vec<u8>,
    number: u64,
}

/// The thread that packs and writes frames; gives the file, and the byte at which each of them begins.
struct Writer {
    frames: SyncSender<Vec<u8>>,
    thread: JoinHandle<io::Result<(RawFile, Vec<u64>)>>,
}

impl Writer {
    fn begin(file: RawFile) -> io::Result<Writer> {
        let (frames, receiver) = sync_channel(FRAMES_AHEAD);
        let thread = Builder::new().name("fenxi-pack".to_owned()).spawn(|| write_frames(receiver, file))?;
        Ok(Writer { frames, thread })
    }

    fn end(self) -> io::Result<(RawFile, Vec<u64>)> {
        drop(self.frames);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("packing ended early")))
    }
}

fn write_frames(frames: Receiver<Vec<u8>>, mut file: RawFile) -> io::Result<(RawFile, Vec<u64>)> {
    let mut packer = packer()?;
    let (mut begins, mut at) = (Vec::new(), 0);
    for frame in frames {
        let packed = packer.compress(&frame)?;
        file.write_all(&packed)?;
        begins.push(at);
        at += packed.len() as u64;
    }
    Ok((file, begins))
}

impl Pack {
    /// A file that will be called `name`; it is made when there is something to keep.
    pub(crate) fn new(name: String) -> Pack {
        Pack { name, writer: None, frame: Vec::with_capacity(FRAME), number: 0 }
    }

    /// Keeps an input; `make` makes the file of a name. The part has the number of its frame, until [`Packed::place`] knows
    /// where that begins.
    pub(crate) fn add(
        &mut self,
        content: &[u8],
        make: impl FnOnce(&str) -> Result<RawFile, StoreError>,
    ) -> Result<Part, StoreError> {
        if self.writer.is_none() {
            self.writer = Some(Writer::begin(make(&self.name)?)?);
        }
        if !self.frame.is_empty() && self.frame.len() + content.len() > FRAME {
            self.write_frame()?;
        }
        let part = Part { frame: self.number, from: self.frame.len() as u64 };
        self.frame.extend_from_slice(content);
        Ok(part)
    }

    fn write_frame(&mut self) -> io::Result<()> {
        let frame = std::mem::replace(&mut self.frame, Vec::with_capacity(FRAME));
        self.number += 1;
        let sent = self.writer.as_ref().is_some_and(|writer| writer.frames.send(frame).is_ok());
        match (sent, self.writer.take_if(|_| !sent)) {
            // A thread that is gone reports why.
            (false, Some(writer)) => writer.end().and(Err(io::Error::other("packing ended early"))),
            _ => Ok(()),
        }
    }

    /// Ends the file; None when nothing was kept in it.
    pub(crate) fn finish(mut self) -> Result<Option<Packed>, StoreError> {
        if self.writer.is_some() {
            self.write_frame()?;
        }
        let Some((file, begins)) = self.writer.map(Writer::end).transpose()? else { return Ok(None) };
        Ok(Some(Packed { file: file.finish()?, begins }))
    }
}

/// A file of short inputs that is written.
pub(crate) struct Packed {
    /// Entry for the manifest.
    pub(crate) file: FileEntry,
    /// The byte at which each frame begins.
    begins: Vec<u64>,
}

impl Packed {
    /// Where a part is in the file, by the number of its frame.
    pub(crate) fn place(&self, part: Part) -> Part {
        Part { frame: self.begins.get(part.frame as usize).copied().unwrap_or_default(), ..part }
    }
}

/// Reads the input of `bytes` bytes at `part` of the file at `path`.
pub(crate) fn read(path: &Path, part: Part, bytes: u64) -> io::Result<impl Read + Send + use<>> {
    let mut file = fs::File::open(path)?;
    file.seek(SeekFrom::Start(part.frame))?;
    let mut frame = zstd::Decoder::new(file)?.single_frame();
    if io::copy(&mut (&mut frame).take(part.from), &mut io::sink())? < part.from {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(frame.take(bytes))
}
