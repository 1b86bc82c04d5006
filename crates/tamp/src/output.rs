//! Where data is written to: a stream, or a file that can have holes and be kept out of the page cache.

use std::{
    fmt,
    io::{self, Seek, SeekFrom, Write},
    sync::{Arc, Mutex, PoisonError},
};

use fs_err::File;

use crate::{Meter, input::drop_cached};

/// Bytes of zeros that are worth a hole: a page of most file systems.
const HOLE: usize = 4096;
/// Bytes after which what was written is synced and dropped from the page cache (`--nocache`).
const DROP_AFTER: u64 = 64 << 20;

/// Where data goes.
#[derive(Debug)]
pub struct Output {
    to: To,
    /// Bytes of data so far, holes among them.
    len: u64,
    meter: Meter,
}

enum To {
    Nowhere,
    Stream(Box<dyn Write + Send>),
    File { file: File, sparse: bool, ends_in_hole: bool, nocache: bool, dropped: u64 },
}

impl fmt::Debug for To {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            To::Nowhere => "Nowhere",
            To::Stream(_) => "Stream",
            To::File { .. } => "File",
        })
    }
}

/// Buffer that [`Output::memory`] writes to.
#[derive(Clone, Debug, Default)]
pub struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    /// Takes what was written so far.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Finished [`Output`].
#[derive(Debug)]
pub struct Written {
    /// Bytes of data, holes among them.
    pub len: u64,
    /// The file, if there was one; it is not yet synced.
    pub file: Option<File>,
}

impl Output {
    fn new(to: To) -> Output {
        Output { to, len: 0, meter: Meter::default() }
    }

    /// Data is only counted, as by `--test`.
    pub fn nowhere() -> Output {
        Output::new(To::Nowhere)
    }

    /// Whatever can be written.
    pub fn stream(writer: impl Write + Send + 'static) -> Output {
        Output::new(To::Stream(Box::new(writer)))
    }

    /// Memory, which grows; and a handle to what is in it.
    pub fn memory() -> (Output, Memory) {
        let memory = Memory::default();
        (Output::stream(memory.clone()), memory)
    }

    /// A regular file, from its position.
    pub fn file(file: File) -> Output {
        Output::new(To::File { file, sparse: false, ends_in_hole: false, nocache: false, dropped: 0 })
    }

    /// Leaves holes where there are pages of zeros, if `holes`; only in files.
    pub fn sparse(mut self, holes: bool) -> Output {
        if let To::File { sparse, .. } = &mut self.to {
            *sparse = holes;
        }
        self
    }

    /// Syncs what was written and drops it from the page cache, if `not`; only for files.
    pub fn nocache(mut self, not: bool) -> Output {
        if let To::File { nocache, .. } = &mut self.to {
            *nocache = not;
        }
        self
    }

    pub(crate) fn meter(mut self, meter: &Meter) -> Output {
        self.meter = meter.clone();
        self
    }

    /// Bytes of data so far.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.to {
            To::Nowhere => {}
            To::Stream(writer) => writer.write_all(bytes)?,
            To::File { file, sparse, ends_in_hole, nocache, dropped } => {
                if *sparse {
                    *ends_in_hole = write_sparse(file, bytes, *ends_in_hole)?;
                } else {
                    file.write_all(bytes)?;
                }
                let end = self.len + bytes.len() as u64;
                if *nocache && end - *dropped >= DROP_AFTER {
                    file.sync_data()?;
                    drop_cached(file, *dropped, end - *dropped);
                    *dropped = end;
                }
            }
        }
        self.len += bytes.len() as u64;
        self.meter.written(bytes.len() as u64);
        Ok(())
    }

    /// Writes zeros.
    pub(crate) fn write_zeros(&mut self, mut n: u64) -> io::Result<()> {
        let zeros = vec![0; 64 << 10];
        while n > 0 {
            let now = usize::try_from(n).unwrap_or(usize::MAX).min(zeros.len());
            self.write(&zeros[..now])?;
            n -= now as u64;
        }
        Ok(())
    }

    /// Ends it.
    ///
    /// # Errors
    /// The last bytes cannot be written.
    pub(crate) fn finish(self) -> io::Result<Written> {
        let file = match self.to {
            To::Nowhere => None,
            To::Stream(mut writer) => {
                writer.flush()?;
                None
            }
            To::File { mut file, ends_in_hole, nocache, .. } => {
                if ends_in_hole {
                    let end = file.stream_position()?;
                    file.set_len(end)?;
                }
                if nocache {
                    file.sync_data()?;
                    drop_cached(&file, 0, self.len);
                }
                Some(file)
            }
        };
        Ok(Written { len: self.len, file })
    }
}

/// Writes `bytes` with holes for pages of zeros; whether it ended with a hole, as before it did.
fn write_sparse(file: &mut File, bytes: &[u8], mut ends_in_hole: bool) -> io::Result<bool> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let zeros = leading(rest, true);
        if zeros > 0 {
            file.seek(SeekFrom::Current(i64::try_from(zeros).map_err(io::Error::other)?))?;
            ends_in_hole = true;
            rest = &rest[zeros..];
        }
        let data = leading(rest, false);
        if data > 0 {
            file.write_all(&rest[..data])?;
            ends_in_hole = false;
            rest = &rest[data..];
        }
    }
    Ok(ends_in_hole)
}

/// Bytes at the beginning in pages that are all zero, or are not.
fn leading(bytes: &[u8], zero: bool) -> usize {
    bytes
        .chunks(HOLE)
        .take_while(|page| (page.len() == HOLE && page.iter().all(|byte| *byte == 0)) == zero)
        .map(<[u8]>::len)
        .sum()
}
