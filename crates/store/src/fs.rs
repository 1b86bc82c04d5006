//! Crash-safe file operations: atomic rename, fsync of files and directories.

use std::{
    fs::Permissions,
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use fs_err as fs;

/// Makes the entries of directory `path` durable.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    fs::File::open(path)?.sync_all()
}

/// Makes everything durable that was written to the file system of directory `path`: for more files than can be made so one
/// by one.
pub(crate) fn sync_all_of(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(fs::File::open(path)?.file())?)
}

/// Writes a new file durably. What lies there is left, and a link there leads nowhere: it is an error.
pub(crate) fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Who may read what a store writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Modes {
    /// As the process's umask allows.
    ByUmask,
    /// Its owner alone, as set in `store.json`.
    Private,
}

impl Modes {
    /// The mode of files, before the process's umask.
    pub(crate) fn of_files(self) -> u32 {
        if self == Modes::Private { 0o600 } else { 0o666 }
    }

    /// The mode of folders, before the process's umask.
    pub(crate) fn of_folders(self) -> u32 {
        if self == Modes::Private { 0o700 } else { 0o777 }
    }

    /// Gives one file or directory the mode that it is to have.
    pub(crate) fn apply(self, path: &Path) -> io::Result<()> {
        if self == Modes::ByUmask {
            return Ok(());
        }
        let mode = if fs::symlink_metadata(path)?.is_dir() { 0o700 } else { 0o600 };
        fs::set_permissions(path, Permissions::from_mode(mode))
    }

    /// Gives a directory and everything in it the modes that they are to have.
    pub(crate) fn apply_all(self, dir: &Path) -> io::Result<()> {
        if self == Modes::ByUmask {
            return Ok(());
        }
        self.apply(dir)?;
        for name in names(dir)? {
            let path = dir.join(name);
            if path.is_dir() { self.apply_all(&path)? } else { self.apply(&path)? }
        }
        Ok(())
    }
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
        // A name that is no UTF-8 is not a file of the store.
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
        Ok(self.finish_later())
    }

    /// Gives the length and BLAKE3 of a file that is made durable together with others.
    pub(crate) fn finish_later(&self) -> (u64, String) {
        (self.bytes, self.hasher.finalize().to_hex().to_string())
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
