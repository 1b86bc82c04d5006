//! The thread `fenxi-read`: decompresses an input, keeps it, and passes it on in chunks to the thread that parses it.

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{Builder, JoinHandle},
};

use fenxi_store::{RawFile, StoreError};

use crate::{
    keep::{KeptInput, SHORT, keep_whole, packer},
    progress::SharedProgress,
    unpack::{Packing, read_until_error},
};

const CHUNK: usize = 512 << 10;
/// Chunks that may wait for the importer.
const AHEAD: usize = 4;

/// An input as it comes, for the importer.
pub(crate) struct Feed {
    /// None when `current` is all of it.
    receiver: Option<Receiver<io::Result<Arc<Vec<u8>>>>>,
    current: Arc<Vec<u8>>,
    at: usize,
    shared: Arc<SharedProgress>,
}

/// Keeps a short input in another place than its own file.
pub(crate) type KeepShort<'a> = &'a mut dyn FnMut(&[u8]) -> Result<KeptInput, StoreError>;

/// An input being kept: by a thread, or done where one look has read it all.
pub(crate) enum Keeping {
    Done(Result<KeptInput, StoreError>),
    Running(JoinHandle<Result<KeptInput, StoreError>>),
}

impl Keeping {
    /// Waits until all of it is kept.
    pub(crate) fn join(self) -> Result<KeptInput, StoreError> {
        match self {
            Keeping::Done(kept) => kept,
            // The reading thread ends by itself; it cannot panic.
            Keeping::Running(thread) => {
                thread.join().unwrap_or_else(|_| Err(StoreError::from(io::Error::other("reading failed"))))
            }
        }
    }
}

/// Begins reading `source` and keeping it in the file that `raw` gives for its name's new ending
/// (empty when it is compressed already); `keep_short` keeps it where it is short, plain and given.
pub(crate) fn start(
    source: Box<dyn Read + Send>,
    raw: impl FnOnce(&str) -> Result<RawFile, StoreError>,
    keep_short: Option<KeepShort<'_>>,
    shared: Arc<SharedProgress>,
) -> Result<(Feed, Keeping), StoreError> {
    let (packing, source) = Packing::recognise(source)?;
    let raw = || raw(if packing == Packing::Plain { ".zst" } else { "" });
    let mut source = Counting { inner: source, shared: Arc::clone(&shared) };
    let mut begun = Vec::new();
    if packing == Packing::Plain {
        begun.resize(SHORT, 0);
        let (n, error) = read_until_error(&mut source, &mut begun);
        begun.truncate(n);
        if n < SHORT && error.is_none() {
            let whole = Arc::new(begun);
            let kept = match keep_short {
                Some(keep) => keep(&whole),
                None => keep_whole(&whole, raw()?),
            };
            return Ok((Feed { receiver: None, current: whole, at: 0, shared }, Keeping::Done(kept)));
        }
        if let Some(error) = error {
            // The reader will not say it again: what follows is as if it did.
            let source = io::Cursor::new(begun).chain(Failing(Some(error)));
            return in_thread(source, packing, raw()?, shared);
        }
    }
    in_thread(io::Cursor::new(begun).chain(source), packing, raw()?, shared)
}

/// Gives an error, and then nothing.
struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// Reads and keeps an input of any length in its own thread.
fn in_thread(
    source: impl Read + Send + 'static,
    packing: Packing,
    file: RawFile,
    shared: Arc<SharedProgress>,
) -> Result<(Feed, Keeping), StoreError> {
    let (sender, receiver) = sync_channel(AHEAD);
    let limits = Arc::clone(&shared);
    let work = move || match packing {
        Packing::Plain => keep_packed(source, file, &sender),
        packing => keep_as_it_is(source, packing, file, &sender, &limits),
    };
    let thread = Builder::new().name("fenxi-read".to_owned()).spawn(work)?;
    Ok((Feed::new(receiver, shared), Keeping::Running(thread)))
}

/// Hands the input on and keeps it compressed.
fn keep_packed(
    mut source: impl Read,
    mut file: RawFile,
    to: &SyncSender<io::Result<Arc<Vec<u8>>>>,
) -> Result<KeptInput, StoreError> {
    // A frame for each chunk: quicker than one stream, and readable in parallel.
    let mut packer = packer()?;
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
    Ok(KeptInput { bytes, blake3, raw: file.finish()?, part: None })
}

/// Unpacks the input and hands it on; keeps it as it is.
fn keep_as_it_is(
    source: impl Read + Send,
    packing: Packing,
    file: RawFile,
    to: &SyncSender<io::Result<Arc<Vec<u8>>>>,
    shared: &SharedProgress,
) -> Result<KeptInput, StoreError> {
    let mut tee = Tee { source, file, error: None };
    let (bytes, blake3) = {
        let mut reader = Bounded { inner: packing.unpack(&mut tee)?, shared };
        pump(&mut reader, to, |_| Ok(()))?
    };
    // Bytes after the packed data, or after a damaged part of it, belong to the input too.
    io::copy(&mut tee, &mut io::sink())?;
    match tee.error {
        Some(error) => Err(StoreError::Io { source: error }),
        None => Ok(KeptInput { bytes, blake3, raw: tee.file.finish()?, part: None }),
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
    let mut used = Chunks::default();
    loop {
        let mut chunk = used.free();
        chunk.resize(CHUNK, 0);
        let (n, error) = read_until_error(source, &mut chunk);
        chunk.truncate(n);
        let chunk = used.share(chunk);
        // Reading ends when the format is not known; the input is kept all the same.
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

/// Chunks that were handed on, to be filled again once they are read: fresh memory of the kernel costs more than filling it.
#[derive(Default)]
struct Chunks(VecDeque<Arc<Vec<u8>>>);

impl Chunks {
    /// Memory that is not in use any more.
    fn free(&mut self) -> Vec<u8> {
        match self.0.pop_front().map(Arc::try_unwrap) {
            Some(Ok(chunk)) => chunk,
            Some(Err(in_use)) => {
                self.0.push_front(in_use);
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    /// `chunk` for others to read.
    fn share(&mut self, chunk: Vec<u8>) -> Arc<Vec<u8>> {
        let chunk = Arc::new(chunk);
        self.0.push_back(Arc::clone(&chunk));
        chunk
    }
}

impl Feed {
    /// Input that comes in chunks from a thread, until it ends or `shared` asks for it.
    pub(crate) fn new(receiver: Receiver<io::Result<Arc<Vec<u8>>>>, shared: Arc<SharedProgress>) -> Feed {
        Feed { receiver: Some(receiver), current: Arc::default(), at: 0, shared }
    }

    /// Whether all of the input is read already.
    pub(crate) fn is_whole(&self) -> bool {
        self.receiver.is_none()
    }
}

impl Read for Feed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.current.len() {
            if self.shared.is_cancelled() {
                return Ok(0);
            }
            match self.receiver.as_ref().map(Receiver::recv) {
                Some(Ok(chunk)) => (self.current, self.at) = (chunk?, 0),
                Some(Err(_)) | None => return Ok(0),
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
    shared: Arc<SharedProgress>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.shared.is_cancelled() {
            return Ok(0);
        }
        let n = self.inner.read(into)?;
        self.shared.add_read(n as u64);
        Ok(n)
    }
}

/// Ends what unpacks to more than it may.
struct Bounded<'a, R> {
    inner: R,
    shared: &'a SharedProgress,
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.shared.is_cancelled() {
            return Ok(0);
        }
        let n = self.inner.read(into)?;
        Ok(if self.shared.add_unpacked(n as u64) { n } else { 0 })
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
            // Reported at the end: for the unpacker it must not pass for a damaged input.
            self.error = Some(error);
        }
        Ok(n)
    }
}
