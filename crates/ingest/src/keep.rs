//! Keeping an input compressed in its run: by the thread `fenxi-read` as it reads, of short ones by the import's thread.

use std::{
    cell::RefCell,
    io::{self, Write},
};

use fenxi_store::{FileEntry, Part, RawFile, StoreError};
use zstd::bulk::Compressor;

/// Inputs shorter than this are read and kept at once: a thread would cost more than they do.
pub(crate) const SHORT: usize = 64 << 10;
/// Level at which inputs are kept: text shrinks several times and it costs less than parsing.
const LEVEL: i32 = 1;

/// An input that was read to its end and kept.
#[derive(Debug)]
pub(crate) struct KeptInput {
    /// Bytes, unpacked.
    pub(crate) bytes: u64,
    /// BLAKE3 of them.
    pub(crate) blake3: String,
    pub(crate) raw: FileEntry,
    /// Where it is among others in a [`Pack`](crate::pack::Pack); `raw` is not known then before that ends.
    pub(crate) part: Option<Part>,
}

thread_local! {
    /// Packs the short inputs of a thread one after another: making it costs as much as one of them.
    static PACKER: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
}

/// Packs into frames with a checksum.
pub(crate) fn packer() -> io::Result<Compressor<'static>> {
    let mut packer = Compressor::new(LEVEL)?;
    packer.include_checksum(true)?;
    Ok(packer)
}

/// Keeps a short input that was read.
pub(crate) fn keep_whole(content: &[u8], mut file: RawFile) -> Result<KeptInput, StoreError> {
    PACKER.with_borrow_mut(|held| -> io::Result<()> {
        let packer = match held {
            Some(packer) => packer,
            None => held.insert(packer()?),
        };
        file.write_all(&packer.compress(content)?)
    })?;
    let blake3 = blake3::hash(content).to_hex().to_string();
    Ok(KeptInput { bytes: content.len() as u64, blake3, raw: file.finish()?, part: None })
}
