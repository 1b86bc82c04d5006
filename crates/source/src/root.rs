//! The file system that collectors read: the live one, or a saved copy of /proc and /sys.

use std::{
    io,
    os::fd::AsFd,
    path::{Path, PathBuf},
};

use fs_err as fs;

/// Where `/proc` and `/sys` are looked for.
#[derive(Clone, Debug)]
pub struct Root {
    path: PathBuf,
}

impl Root {
    /// The running system.
    pub fn live() -> Root {
        Root { path: PathBuf::from("/") }
    }

    /// A saved copy below `path`: `path/proc/stat`, `path/sys/class/net` and so on.
    pub fn saved(path: impl Into<PathBuf>) -> Root {
        Root { path: path.into() }
    }

    /// Whether this is the running system, where system calls may be used besides files.
    pub fn is_live(&self) -> bool {
        self.path == Path::new("/")
    }

    /// The real place of an absolute path such as `/proc/stat`.
    pub fn path(&self, absolute: &str) -> PathBuf {
        self.path.join(absolute.trim_start_matches('/'))
    }

    /// Opens a file that will be read again and again.
    ///
    /// # Errors
    /// When the file cannot be opened; the text names it.
    pub fn open(&self, absolute: &str) -> io::Result<ProcFile> {
        ProcFile::open(self.path(absolute))
    }

    /// Reads a small text file once, trimmed; None when it is missing, unreadable or not text.
    pub fn read_text(&self, absolute: &str) -> Option<String> {
        let bytes = fs::read(self.path(absolute)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }
}

/// A file kept open and read from its beginning at each sample, without allocating.
#[derive(Debug)]
pub struct ProcFile {
    file: fs::File,
    bytes: Vec<u8>,
}

impl ProcFile {
    /// Opens `path`.
    ///
    /// # Errors
    /// When the file cannot be opened; the text names it.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<ProcFile> {
        Ok(ProcFile { file: fs::File::open(path)?, bytes: vec![0; 4096] })
    }

    /// The whole content of the file now.
    ///
    /// # Errors
    /// When reading fails, for instance because the process it describes has ended.
    pub fn read(&mut self) -> io::Result<&[u8]> {
        let mut len = 0;
        loop {
            if len == self.bytes.len() {
                self.bytes.resize(len * 2, 0);
            }
            // Files of /proc are made anew at offset 0; a short read does not mean the end.
            let n = rustix::io::pread(self.file.as_fd(), &mut self.bytes[len..], len as u64)
                .map_err(|e| io::Error::new(e.kind(), format!("cannot read {}: {e}", self.file.path().display())))?;
            if n == 0 {
                return Ok(&self.bytes[..len]);
            }
            len += n;
        }
    }

    /// The file's path, for notes.
    pub fn path(&self) -> &Path {
        self.file.path()
    }
}
