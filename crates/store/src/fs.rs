//! File operations that survive a crash: whole files by rename, directories synced.

use std::{
    io::{self, Write},
    path::Path,
};

use fs_err as fs;

/// Makes the entries of directory `path` durable.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    fs::File::open(path)?.sync_all()
}

/// Writes a new file durably.
pub(crate) fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Replaces `path` by a file of `bytes`: a reader sees the old or the new one, never a part.
///
/// The temporary file is named after this process and `path`, so that two writers do not mix.
pub(crate) fn replace(path: &Path, bytes: &[u8], durable: bool) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let thread = std::thread::current().id();
    let part = path.with_file_name(format!(".{name}.{}-{thread:?}.part", std::process::id()));
    let written = (|| {
        let mut file = fs::File::create(&part)?;
        file.write_all(bytes)?;
        if durable {
            file.sync_all()?;
        }
        fs::rename(&part, path)
    })();
    if written.is_err() {
        // The first error is the one worth telling; a part left behind is hidden and harmless.
        let _ = fs::remove_file(&part);
    } else if durable && let Some(parent) = path.parent() {
        sync_dir(parent)?;
    }
    written
}

/// The names in directory `path`; none when it does not exist.
pub(crate) fn names(path: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(e),
    };
    let mut names = Vec::new();
    for entry in entries {
        // A name that is no UTF-8 is none of the store's.
        if let Ok(name) = entry?.file_name().into_string() {
            names.push(name);
        }
    }
    Ok(names)
}

/// A file being written whose length and BLAKE3 are known when it is done.
#[derive(Debug)]
pub(crate) struct HashingFile {
    file: fs::File,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl HashingFile {
    pub(crate) fn create(path: &Path) -> io::Result<HashingFile> {
        Ok(HashingFile { file: fs::File::create_new(path)?, hasher: blake3::Hasher::new(), bytes: 0 })
    }

    /// Makes the file durable and gives its length and BLAKE3.
    pub(crate) fn finish(&self) -> io::Result<(u64, String)> {
        self.file.sync_all()?;
        Ok((self.bytes, self.hasher.finalize().to_hex().to_string()))
    }
}

impl Write for HashingFile {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let n = self.file.write(buf)?;
        self.hasher.update(&buf[..n]);
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
