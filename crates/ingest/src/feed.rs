//! Reader thread of an input: decompresses it, keeps it, and passes it on in chunks.

use std::{
    io::{self, Read, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{Builder, JoinHandle},
};

use fenxi_store::{FileEntry, RawFile, StoreError};

use crate::unpack::{Packing, read_until_error};

const CHUNK: usize = 512 << 10;
/// Chunks that may wait for the importer.
const AHEAD: usize = 4;
/// Level at which inputs are kept: text shrinks several times and it costs less than parsing.
const LEVEL: i32 = 1;

/// An input as it comes, for the importer.
pub(crate) struct Feed {
    receiver: Receiver<io::Result<Arc<Vec<u8>>>>,
    current: Arc<Vec<u8>>,
    at: usize,
    shared: Arc<Shared>,
}

/// What the reading thread and its owner tell each other.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Bytes read so far, as they lie there.
    pub(crate) read: AtomicU64,
    /// Set to make the input end here.
    pub(crate) cancelled: AtomicBool,
    /// Bytes that an input may unpack to; None for any number.
    pub(crate) most: Option<u64>,
    /// Set when an input was longer than that, which also ends it.
    pub(crate) too_long: AtomicBool,
}

/// An input that was read to its end and kept.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Bytes, unpacked.
    pub(crate) bytes: u64,
    /// BLAKE3 of them.
    pub(crate) blake3: String,
    pub(crate) raw: FileEntry,
}

/// Begins reading `source` and keeping it in the file that `raw` gives for its name's new ending
/// (empty when it is compressed already).
pub(crate) fn start(
    source: Box<dyn Read + Send>,
    raw: impl FnOnce(&str) -> Result<RawFile, StoreError>,
    shared: Arc<Shared>,
) -> Result<(Feed, JoinHandle<Result<Kept, StoreError>>), StoreError> {
    let (packing, source) = Packing::recognise(source)?;
    let file = raw(if packing == Packing::Plain { ".zst" } else { "" })?;
    let source = Counting { inner: source, shared: Arc::clone(&shared) };
    let (sender, receiver) = sync_channel(AHEAD);
    let limits = Arc::clone(&shared);
    let work = move || match packing {
        Packing::Plain => keep_packed(source, file, &sender),
        packing => keep_as_it_is(source, packing, file, &sender, &limits),
    };
    let thread = Builder::new().name("fenxi-read".to_owned()).spawn(work)?;
    Ok((Feed { receiver, current: Arc::default(), at: 0, shared }, thread))
}

/// Hands the input on and keeps it compressed.
fn keep_packed(
    mut source: impl Read,
    mut file: RawFile,
    to: &SyncSender<io::Result<Arc<Vec<u8>>>>,
) -> Result<Kept, StoreError> {
    // A frame for each chunk: quicker than one stream, and readable in parallel.
    let mut packer = zstd::bulk::Compressor::new(LEVEL)?;
    packer.include_checksum(true)?;
    let mut packed = vec![0u8; zstd::zstd_safe::compress_bound(CHUNK)];
    let (bytes, blake3) = pump(&mut source, to, |chunk| {
        let n = packer.compress_to_buffer(chunk, &mut packed[..])?;
        file.write_all(&packed[..n])
    })?;
    if bytes == 0 {
        // An empty file is a frame too.
        let n = packer.compress_to_buffer(&[], &mut packed[..])?;
        file.write_all(&packed[..n])?;
    }
    Ok(Kept { bytes, blake3, raw: file.finish()? })
}

/// Unpacks the input and hands it on; keeps it as it is.
fn keep_as_it_is(
    source: impl Read + Send,
    packing: Packing,
    file: RawFile,
    to: &SyncSender<io::Result<Arc<Vec<u8>>>>,
    shared: &Shared,
) -> Result<Kept, StoreError> {
    let mut tee = Tee { source, file, error: None };
    let (bytes, blake3) = {
        let mut reader = Bounded { inner: packing.unpack(&mut tee)?, shared, bytes: 0 };
        pump(&mut reader, to, |_| Ok(()))?
    };
    // What follows the packed data, or a damaged part of it, belongs to the input too.
    io::copy(&mut tee, &mut io::sink())?;
    match tee.error {
        Some(error) => Err(StoreError::Io { source: error }),
        None => Ok(Kept { bytes, blake3, raw: tee.file.finish()? }),
    }
}

/// Reads to the end; gives the length and the BLAKE3 of what was read. An error of the source ends
/// the input: it is handed on, for a note.
fn pump(
    source: &mut impl Read,
    to: &SyncSender<io::Result<Arc<Vec<u8>>>>,
    mut keep: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<(u64, String)> {
    let mut hasher = blake3::Hasher::new();
    let mut bytes = 0;
    let mut wanted = true;
    loop {
        let mut chunk = vec![0u8; CHUNK];
        let (n, error) = read_until_error(source, &mut chunk);
        chunk.truncate(n);
        let chunk = Arc::new(chunk);
        // Nobody reads on when the format is not known; the input is kept all the same.
        wanted = wanted && n > 0 && to.send(Ok(Arc::clone(&chunk))).is_ok();
        hasher.update(&chunk);
        bytes += n as u64;
        if n > 0 {
            keep(&chunk)?;
        }
        if let Some(error) = error {
            let _ = to.send(Err(error));
            break;
        }
        if n < CHUNK {
            break;
        }
    }
    Ok((bytes, hasher.finalize().to_hex().to_string()))
}

impl Read for Feed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.current.len() {
            if self.shared.cancelled.load(Ordering::Relaxed) {
                return Ok(0);
            }
            match self.receiver.recv() {
                Ok(chunk) => (self.current, self.at) = (chunk?, 0),
                Err(_) => return Ok(0),
            }
        }
        let n = into.len().min(self.current.len() - self.at);
        into[..n].copy_from_slice(&self.current[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

struct Counting<R> {
    inner: R,
    shared: Arc<Shared>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.shared.cancelled.load(Ordering::Relaxed) {
            return Ok(0);
        }
        let n = self.inner.read(into)?;
        self.shared.read.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// Ends what unpacks to more than it may.
struct Bounded<'a, R> {
    inner: R,
    shared: &'a Shared,
    bytes: u64,
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(into)?;
        self.bytes += n as u64;
        if self.shared.most.is_some_and(|most| self.bytes > most) {
            self.shared.too_long.store(true, Ordering::Relaxed);
            self.shared.cancelled.store(true, Ordering::Relaxed);
            return Ok(0);
        }
        Ok(n)
    }
}

/// Copies what is read into the file that keeps it.
struct Tee<R> {
    source: R,
    file: RawFile,
    error: Option<io::Error>,
}

impl<R: Read> Read for Tee<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read(into)?;
        if self.error.is_none()
            && let Err(error) = self.file.write_all(&into[..n])
        {
            // Told at the end: for the unpacker it must not pass for a damaged input.
            self.error = Some(error);
        }
        Ok(n)
    }
}
