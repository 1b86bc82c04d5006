//! Contents of a compressed file (`--list`), in true numbers: where the file lacks them, it is decoded to count.

use std::os::unix::fs::FileExt;

use fs_err::File;

use crate::{Decompress, Error, Format, Input, Meter, Output, Watch, decompress, zst};

/// Content of a compressed file: frames, sizes, checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The format of the first frame.
    pub format: Option<Format>,
    /// Frames of zstd and LZ4 and members of gzip.
    pub frames: u64,
    /// Bytes of the file.
    pub compressed: u64,
    /// Bytes of the contents.
    pub content: u64,
    /// True if everything was decoded, and so is whole; otherwise by the file's own headers.
    pub decoded: bool,
}

/// Lists a file.
///
/// # Errors
/// As [`decompress`].
pub fn list(file: File, options: &Decompress, watch: Watch<'_>) -> Result<Listing, Error> {
    let len = file.metadata().map_err(Error::Read)?.len();
    let read = |at: u64, len: usize| {
        let mut bytes = vec![0; len];
        file.file().read_exact_at(&mut bytes, at).ok().map(|()| bytes)
    };
    if let Some((trailer, _)) = zst::find_table(len, read) {
        let (frames, content) = (trailer.frames, trailer.content);
        return Ok(Listing { format: Some(Format::Zst), frames, compressed: len, content, decoded: false });
    }
    let meter = Meter::default();
    let input = Input::file(file).map_err(Error::Read)?;
    let found = decompress(input, Output::nowhere(), options, &meter, watch)?;
    Ok(Listing {
        format: found.format,
        frames: found.frames,
        compressed: meter.totals().read,
        content: found.written.len,
        decoded: true,
    })
}
