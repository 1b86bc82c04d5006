//! The file system that collectors read: the live one, or a saved copy of /proc and /sys.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    io,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use fenxi_model::parse_cpus;
use rustc_hash::FxHashMap;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::FileType,
};

use crate::{
    reading::{self, Last},
    shared::{SharedFile, SharedFiles},
};

/// Where `/proc` and `/sys` are looked for.
#[derive(Clone, Debug)]
pub struct Root {
    path: PathBuf,
    /// Contents that were given, instead of files.
    given: Option<Given>,
    /// Files that several collectors have open.
    shared: SharedFiles,
}

/// Contents of files by their absolute paths, for collectors that read saved text: what was not
/// given is empty.
#[derive(Clone, Debug, Default)]
pub struct Given {
    files: Arc<Mutex<FxHashMap<Box<str>, Vec<u8>>>>,
}

impl Given {
    /// Sets what a collector reads from `absolute` from now on.
    pub fn set(&self, absolute: &str, content: Vec<u8>) {
        self.with(|files| drop(files.insert(absolute.into(), content)));
    }

    fn with<R>(&self, work: impl FnOnce(&mut FxHashMap<Box<str>, Vec<u8>>) -> R) -> R {
        // No holder panics; if so, the map is whole all the same.
        work(&mut self.files.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Root {
    /// The running system.
    pub fn live() -> Root {
        Root { path: PathBuf::from("/"), given: None, shared: SharedFiles::default() }
    }

    /// A saved copy below `path`: `path/proc/stat`, `path/sys/class/net` and so on.
    pub fn saved(path: impl Into<PathBuf>) -> Root {
        Root { path: path.into(), given: None, shared: SharedFiles::default() }
    }

    /// Contents that are set as they come, without a file system.
    pub fn given(given: &Given) -> Root {
        // Nothing can be below what is no folder, on any system.
        Root { path: PathBuf::from("/dev/null"), given: Some(given.clone()), shared: SharedFiles::default() }
    }

    /// Returns true if this is the running system, where system calls may be used besides files.
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
    /// When the file cannot be opened or is no regular one; the text names it.
    pub fn open(&self, absolute: &str) -> io::Result<ProcFile> {
        if let Some(given) = &self.given {
            return Ok(ProcFile { from: From::Given(given.clone(), absolute.into()), bytes: Vec::new() });
        }
        let file = self.open_file(absolute)?;
        Ok(ProcFile { from: From::File(file, self.path(absolute)), bytes: vec![0; 4096] })
    }

    /// Opens a file that other collectors read at the same moments; clones of this root share it.
    ///
    /// # Errors
    /// As [`Root::open`].
    pub fn open_shared(&self, absolute: &str) -> io::Result<SharedFile> {
        self.shared.get(absolute, || self.open(absolute))
    }

    /// Reads a small text file once, trimmed; None when it is missing, unreadable or not text.
    pub fn read_text(&self, absolute: &str) -> Option<String> {
        let bytes = self.read(absolute).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }

    /// Reads a file once.
    ///
    /// # Errors
    /// When it cannot be read, is no regular file, or is longer than any that is read; the text names it.
    pub fn read(&self, absolute: &str) -> io::Result<Vec<u8>> {
        self.read_at_most(absolute, reading::LIMIT)
    }

    /// Reads a file once, of at most `limit` bytes.
    ///
    /// # Errors
    /// As [`Root::read`].
    pub fn read_at_most(&self, absolute: &str, limit: usize) -> io::Result<Vec<u8>> {
        let named = |e: io::Error| self.named("read", absolute, &e);
        if self.given.is_some() {
            return Err(named(io::ErrorKind::NotFound.into()));
        }
        reading::whole(self.open_file(absolute)?, limit).map_err(named)
    }

    /// Opens a regular file. Of a saved copy, only what is in it: no link leads out of it.
    ///
    /// # Errors
    /// When there is none; the text names it.
    pub fn open_file(&self, absolute: &str) -> io::Result<OwnedFd> {
        if self.is_live() {
            return reading::open_regular(&self.path(absolute));
        }
        let opened = self.top().and_then(|top| reading::open_regular_below(top.as_fd(), Path::new(absolute)));
        opened.map_err(|e| self.named("open", absolute, &e))
    }

    /// Names in a folder, in any order, and which of them are folders.
    ///
    /// # Errors
    /// When it is not there or may not be read; the text names it.
    pub fn list(&self, absolute: &str) -> io::Result<Vec<(OsString, bool)>> {
        let folder = self.open_folder(absolute)?;
        reading::names(&folder).map_err(|e| self.named("list", absolute, &e))
    }

    /// Opens a folder for reading.
    ///
    /// # Errors
    /// When it is not there or may not be read; the text names it.
    pub fn open_folder(&self, absolute: &str) -> io::Result<OwnedFd> {
        let opened = if self.is_live() {
            reading::open_folder(&self.path(absolute))
        } else {
            self.top().and_then(|top| reading::open_folder_below(top.as_fd(), Path::new(absolute)))
        };
        opened.map_err(|e| self.named("open", absolute, &e))
    }

    /// Returns true if something is there.
    pub fn exists(&self, absolute: &str) -> bool {
        self.place(absolute, Last::Followed).is_ok()
    }

    /// Returns true if a folder is there.
    pub fn is_dir(&self, absolute: &str) -> bool {
        let kind = self.place(absolute, Last::Followed).and_then(|place| reading::kind(&place));
        kind.is_ok_and(|kind| kind == FileType::Directory)
    }

    /// Where the link leads to; None when there is none.
    pub fn read_link(&self, absolute: &str) -> Option<PathBuf> {
        reading::target_of(&self.place(absolute, Last::Itself).ok()?).ok()
    }

    /// An `O_PATH` descriptor of a path, without opening it.
    ///
    /// # Errors
    /// When there is none.
    pub fn place(&self, absolute: &str, last: Last) -> io::Result<OwnedFd> {
        if self.is_live() { reading::place(&self.path(absolute), last) } else { self.below(absolute, last) }
    }

    fn below(&self, absolute: &str, last: Last) -> io::Result<OwnedFd> {
        reading::place_below(self.top()?.as_fd(), Path::new(absolute), last)
    }

    fn top(&self) -> io::Result<OwnedFd> {
        reading::place(&self.path, Last::Followed)
    }

    fn named(&self, what: &str, absolute: &str, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("cannot {what} {}: {error}", self.path(absolute).display()))
    }
}

/// The CPUs that are online at `root`; None when it does not list them.
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
    File(OwnedFd, PathBuf),
    Given(Given, Box<str>),
}

impl ProcFile {
    /// The whole content of the file now.
    ///
    /// # Errors
    /// When reading fails, for instance because the process it describes has ended, and when the file is longer than
    /// any that is read.
    pub fn read(&mut self) -> io::Result<&[u8]> {
        match &self.from {
            From::File(file, path) => {
                let len = reading::fill(file, &mut self.bytes, reading::LIMIT)
                    .map_err(|e| io::Error::new(e.kind(), format!("cannot read {}: {e}", path.display())))?;
                Ok(&self.bytes[..len])
            }
            From::Given(given, absolute) => {
                self.bytes.clear();
                given.with(|files| self.bytes.extend(files.get(absolute).into_iter().flatten()));
                Ok(&self.bytes)
            }
        }
    }

    /// Returns true if the kernel reports that the content changed since this was last asked, or since the file was opened. Only some
    /// files report it, such as `/proc/self/mounts`; of a given one nothing is known, which is true here.
    pub fn has_changed(&self) -> bool {
        let From::File(file, _) = &self.from else { return true };
        let mut asked = [PollFd::new(file, PollFlags::PRI)];
        match poll(&mut asked, Some(&Timespec::default())) {
            Ok(_) => asked[0].revents().intersects(PollFlags::PRI | PollFlags::ERR),
            Err(_) => true,
        }
    }

    /// The file's path, for notes.
    pub fn path(&self) -> &Path {
        match &self.from {
            From::File(_, path) => path,
            From::Given(_, absolute) => Path::new(&**absolute),
        }
    }
}
