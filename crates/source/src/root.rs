//! The file system that collectors read: the live one, or a saved copy of /proc and /sys.

use std::{
    collections::BTreeSet,
    io,
    os::fd::AsFd,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use fenxi_model::parse_cpus;
use fs_err as fs;
use rustc_hash::FxHashMap;

/// Where `/proc` and `/sys` are looked for.
#[derive(Clone, Debug)]
pub struct Root {
    path: PathBuf,
    /// Contents that were given, instead of files.
    given: Option<Given>,
}

/// Contents of files by their absolute paths, for collectors that read saved text: what was not
/// given is empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    files: Arc<Mutex<FxHashMap<Box<str>, Vec<u8>>>>,
}

impl Given {
    /// Sets what a collector reads from `absolute` from now on.
    pub(crate) fn set(&self, absolute: &str, content: Vec<u8>) {
        self.with(|files| drop(files.insert(absolute.into(), content)));
    }

    fn with<R>(&self, work: impl FnOnce(&mut FxHashMap<Box<str>, Vec<u8>>) -> R) -> R {
        // Nobody panics while holding it; if so, the map is whole all the same.
        work(&mut self.files.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Root {
    /// The running system.
    pub fn live() -> Root {
        Root { path: PathBuf::from("/"), given: None }
    }

    /// A saved copy below `path`: `path/proc/stat`, `path/sys/class/net` and so on.
    pub fn saved(path: impl Into<PathBuf>) -> Root {
        Root { path: path.into(), given: None }
    }

    /// Contents that are set as they come, without a file system.
    pub(crate) fn given(given: &Given) -> Root {
        // Nothing can stand below what is no folder, on any system.
        Root { path: PathBuf::from("/dev/null"), given: Some(given.clone()) }
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
        match &self.given {
            Some(given) => Ok(ProcFile { from: From::Given(given.clone(), absolute.into()), bytes: Vec::new() }),
            None => ProcFile::open(self.path(absolute)),
        }
    }

    /// Reads a small text file once, trimmed; None when it is missing, unreadable or not text.
    pub fn read_text(&self, absolute: &str) -> Option<String> {
        if self.given.is_some() {
            return None;
        }
        let bytes = fs::read(self.path(absolute)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }
}

/// The CPUs that are online at `root`; None when it does not tell.
pub fn online_cpus(root: &Root) -> Option<BTreeSet<usize>> {
    parse_cpus(&root.read_text("/sys/devices/system/cpu/online")?).filter(|cpus| !cpus.is_empty())
}

/// A file kept open and read from its beginning at each sample, without allocating.
#[derive(Debug)]
pub struct ProcFile {
    from: From,
    bytes: Vec<u8>,
}

#[derive(Debug)]
enum From {
    File(fs::File),
    Given(Given, Box<str>),
}

impl ProcFile {
    /// Opens `path`.
    ///
    /// # Errors
    /// When the file cannot be opened; the text names it.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<ProcFile> {
        Ok(ProcFile { from: From::File(fs::File::open(path)?), bytes: vec![0; 4096] })
    }

    /// The whole content of the file now.
    ///
    /// # Errors
    /// When reading fails, for instance because the process it describes has ended.
    pub fn read(&mut self) -> io::Result<&[u8]> {
        let file = match &self.from {
            From::File(file) => file,
            From::Given(given, absolute) => {
                self.bytes.clear();
                given.with(|files| self.bytes.extend(files.get(absolute).into_iter().flatten()));
                return Ok(&self.bytes);
            }
        };
        let mut len = 0;
        loop {
            if len == self.bytes.len() {
                self.bytes.resize(len * 2, 0);
            }
            // Files of /proc are made anew at offset 0; a short read does not mean the end.
            let n = rustix::io::pread(file.as_fd(), &mut self.bytes[len..], len as u64)
                .map_err(|e| io::Error::new(e.kind(), format!("cannot read {}: {e}", file.path().display())))?;
            if n == 0 {
                return Ok(&self.bytes[..len]);
            }
            len += n;
        }
    }

    /// The file's path, for notes.
    pub fn path(&self) -> &Path {
        match &self.from {
            From::File(file) => file.path(),
            From::Given(_, absolute) => Path::new(&**absolute),
        }
    }
}
