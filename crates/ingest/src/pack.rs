//! Many short inputs in one file: making a file for each costs more than reading it.
//!
//! The file is zstd frames one after another, each of the texts of some inputs; `zstd -dc` gives all of them. The manifest
//! says where each begins ([`Part`]).

use std::{
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
};

use fenxi_store::{FileEntry, Part, RawFile, StoreError};
use fs_err as fs;
use zstd::bulk::Compressor;

use crate::feed::packer;

/// Bytes of a frame's content: reading one input again unpacks its frame.
const FRAME: usize = 128 << 10;

/// The file in which short inputs are kept, while it is written.
pub(crate) struct Pack {
    /// Its name in the folder of inputs.
    name: String,
    packer: Compressor<'static>,
    file: Option<RawFile>,
    /// The frame that is being filled, and the byte of the file at which it will begin.
    frame: Vec<u8>,
    at: u64,
}

impl Pack {
    /// A file that will be called `name`; it is made when there is something to keep.
    pub(crate) fn new(name: String) -> io::Result<Pack> {
        Ok(Pack { name, packer: packer()?, file: None, frame: Vec::with_capacity(FRAME), at: 0 })
    }

    /// Keeps an input; `make` makes the file of a name.
    pub(crate) fn add(
        &mut self,
        content: &[u8],
        make: impl FnOnce(&str) -> Result<RawFile, StoreError>,
    ) -> Result<Part, StoreError> {
        if self.file.is_none() {
            self.file = Some(make(&self.name)?);
        }
        if !self.frame.is_empty() && self.frame.len() + content.len() > FRAME {
            self.write_frame()?;
        }
        let part = Part { frame: self.at, from: self.frame.len() as u64 };
        self.frame.extend_from_slice(content);
        Ok(part)
    }

    fn write_frame(&mut self) -> io::Result<()> {
        let packed = self.packer.compress(&self.frame)?;
        if let Some(file) = &mut self.file {
            file.write_all(&packed)?;
        }
        self.at += packed.len() as u64;
        self.frame.clear();
        Ok(())
    }

    /// Ends the file and says what the manifest has to know of it; None when nothing was kept in it.
    pub(crate) fn finish(mut self) -> Result<Option<FileEntry>, StoreError> {
        if self.file.is_some() {
            self.write_frame()?;
        }
        self.file.map(RawFile::finish).transpose()
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
