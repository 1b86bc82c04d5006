//! Reads the small files of /proc/PID without allocating.

use std::{
    borrow::Cow,
    fmt::Write as _,
    io,
    mem::MaybeUninit,
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use fenxi_model::{HIDDEN, command_without_secrets, is_hidden};
use fenxi_procfs::{
    reading,
    scan::{lines, number, words},
    stat::{self, Stat},
};
use rustix::fs::{AtFlags, Mode, OFlags, RawDir, SeekFrom};

use crate::Root;

/// Scheduler statistics of one thread (schedstat).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Nanoseconds on a CPU.
    pub run_ns: u64,
    /// Nanoseconds runnable without a CPU.
    pub wait_ns: u64,
    /// Times it was put on a CPU.
    pub slices: u64,
}

/// The folder /proc and buffers to read from it.
pub struct Reader {
    folder: OwnedFd,
    /// Whether it is a saved copy, in which a file may be replaced by anything.
    saved: bool,
    path: String,
    bytes: Vec<u8>,
    entries: Vec<MaybeUninit<u8>>,
    /// Room for a list of threads.
    pub tids: Vec<u32>,
    /// True if only CPU times are wanted: I/O, context switches and users are then not read.
    pub cpu_only: bool,
    /// This very process, when it is among those that are read.
    pub own: Option<u32>,
}

/// Longer command lines are cut: the cut part is rarely read.
const MAX_COMMAND: usize = 250;

const READ_ONLY: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC);

impl Reader {
    /// Opens `/proc` of `root`.
    pub fn open(root: &Root) -> io::Result<Reader> {
        let folder = root.open_folder("/proc")?;
        let entries = vec![MaybeUninit::uninit(); 32 * 1024];
        let own = root.is_live().then(std::process::id);
        let (bytes, tids) = (vec![0; 8192], Vec::new());
        let saved = !root.is_live();
        Ok(Reader { folder, saved, path: String::new(), bytes, entries, tids, cpu_only: false, own })
    }

    /// Puts the ids of all processes into `pids`.
    pub fn pids(&mut self, pids: &mut Vec<u32>) -> io::Result<()> {
        pids.clear();
        rustix::fs::seek(&self.folder, SeekFrom::Start(0))?;
        numbers(&self.folder, &mut self.entries, pids)
    }

    /// Puts the ids of the threads of `pid` into `tids`; false when the process is gone.
    pub fn list_tids(&mut self, pid: u32, tids: &mut Vec<u32>) -> bool {
        tids.clear();
        self.path.clear();
        let _ = write!(self.path, "{pid}/task");
        let folder = if self.saved {
            reading::open_folder_below(self.folder.as_fd(), Path::new(&self.path)).ok()
        } else {
            rustix::fs::openat(&self.folder, &*self.path, READ_ONLY | OFlags::DIRECTORY, Mode::empty()).ok()
        };
        let Some(folder) = folder else { return false };
        numbers(&folder, &mut self.entries, tids).is_ok()
    }

    /// `stat` of a process and its name.
    pub fn stat(&mut self, pid: u32) -> Option<(Stat, Cow<'_, str>)> {
        stat::parse(self.file(pid, None, "stat")?)
    }

    /// The path of its control group: of version 2, or the longest of version 1.
    pub fn group(&mut self, pid: u32) -> Option<&str> {
        let text = std::str::from_utf8(self.file(pid, None, "cgroup")?).ok()?;
        let paths = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
        // Where both are, containers are in groups of version 1 too, and those of version 2 may be the root.
        paths.max_by_key(|path| path.len())
    }

    /// `schedstat` of a process's main thread, from `file` where that is given.
    pub fn schedstat(&mut self, pid: u32, file: Option<&OwnedFd>) -> Option<Run> {
        match file {
            Some(file) => {
                let n = rustix::io::pread(file, &mut self.bytes[..], 0).ok()?;
                parse_run(&self.bytes[..n])
            }
            None => parse_run(self.file(pid, None, "schedstat")?),
        }
    }

    /// `schedstat` of one thread.
    pub fn thread_schedstat(&mut self, pid: u32, tid: u32) -> Option<Run> {
        parse_run(self.file(pid, Some(tid), "schedstat")?)
    }

    /// `stat` of one thread and its name.
    pub fn thread_stat(&mut self, pid: u32, tid: u32) -> Option<(Stat, Cow<'_, str>)> {
        stat::parse(self.file(pid, Some(tid), "stat")?)
    }

    /// The effective user of a process.
    pub fn uid(&mut self, pid: u32) -> Option<u32> {
        let text = self.file(pid, None, "status")?;
        let line = lines(text).find_map(|line| line.strip_prefix(b"Uid:"))?;
        // real, effective, saved, file system
        number(words(line).nth(1)?).and_then(|uid| u32::try_from(uid).ok())
    }

    /// The command line of a process, its words with blanks between, up to 250 bytes and without the passwords in it; None
    /// when it has none, as threads of the kernel and processes that have ended.
    pub fn command(&mut self, pid: u32) -> Option<String> {
        let text = self.file(pid, None, "cmdline")?;
        let end = text.iter().rposition(|b| *b != 0)? + 1;
        let words: Vec<_> = text[..end].split(|b| *b == 0).map(String::from_utf8_lossy).collect();
        // Before it is cut: a URL without its end does not look like one.
        let mut shown = command_without_secrets(&words).join(" ");
        shown.truncate((0..=MAX_COMMAND.min(shown.len())).rev().find(|at| shown.is_char_boundary(*at))?);
        Some(shown.chars().map(|c| if is_hidden(c) { HIDDEN } else { c }).collect())
    }

    /// Number of open files of a process; None where the kernel does not report it at once (before 6.2), or of a saved copy.
    pub fn open_files(&mut self, pid: u32) -> Option<u64> {
        if self.saved {
            return None;
        }
        self.set_path(pid, None, "fd");
        let stat = rustix::fs::statat(&self.folder, &*self.path, AtFlags::empty()).ok()?;
        u64::try_from(stat.st_size).ok().filter(|open| *open > 0)
    }

    /// Opens `schedstat` to be kept.
    pub fn open_schedstat(&mut self, pid: u32) -> Option<OwnedFd> {
        self.set_path(pid, None, "schedstat");
        self.open_path()
    }

    /// One of the small files of a process or of one of its threads; None when it is gone or forbidden.
    pub fn file(&mut self, pid: u32, tid: Option<u32>, name: &str) -> Option<&[u8]> {
        self.set_path(pid, tid, name);
        let file = self.open_path()?;
        // These files are made by one call: a read that does not fill the buffer has it all.
        let n = rustix::io::read(file.as_fd(), &mut self.bytes[..]).ok()?;
        (n > 0).then(|| &self.bytes[..n])
    }

    /// All of a file of a process that may be longer; None when it is gone or forbidden, has more than `limit` bytes, or is a
    /// saved copy's.
    pub fn whole(&mut self, pid: u32, name: &str, limit: usize) -> Option<Vec<u8>> {
        self.set_path(pid, None, name);
        let file = self.live()?;
        let mut bytes = Vec::new();
        let n = reading::fill(&file, &mut bytes, limit).ok()?;
        bytes.truncate(n);
        Some(bytes)
    }

    /// Fills `into` from the memory of a living process at an address; None when that is forbidden, or not mapped.
    pub fn memory(&mut self, pid: u32, address: u64, into: &mut [u8]) -> Option<()> {
        self.set_path(pid, None, "mem");
        let file = self.live()?;
        (rustix::io::pread(&file, &mut *into, address).ok()? == into.len()).then_some(())
    }

    /// All links of a folder of a living process, by their numbers, and where they lead; None when it is forbidden, or there are
    /// more than `most`.
    pub fn links(&mut self, pid: u32, name: &str, most: usize) -> Option<Vec<(u32, String)>> {
        self.set_path(pid, None, name);
        let folder = self.live()?;
        let mut files = Vec::new();
        numbers(&folder, &mut self.entries, &mut files).ok()?;
        let target =
            |file: &u32| rustix::fs::readlinkat(&folder, file.to_string(), Vec::new()).ok()?.into_string().ok();
        (files.len() <= most).then(|| files.iter().filter_map(|file| Some((*file, target(file)?))).collect())
    }

    /// Opens what was set as the path, unless it is a saved copy's.
    fn live(&self) -> Option<OwnedFd> {
        if self.saved { None } else { self.open_path() }
    }

    /// Opens what was set as the path; the files of the live /proc are what they are.
    fn open_path(&self) -> Option<OwnedFd> {
        if self.saved {
            return reading::open_regular_below(self.folder.as_fd(), Path::new(&self.path)).ok();
        }
        rustix::fs::openat(&self.folder, &*self.path, READ_ONLY, Mode::empty()).ok()
    }

    fn set_path(&mut self, pid: u32, tid: Option<u32>, name: &str) {
        self.path.clear();
        // Writing to a String cannot fail.
        let _ = match tid {
            Some(tid) => write!(self.path, "{pid}/task/{tid}/{name}"),
            None => write!(self.path, "{pid}/{name}"),
        };
    }
}

/// The entries of `folder` whose names are numbers.
fn numbers(folder: &OwnedFd, buffer: &mut [MaybeUninit<u8>], out: &mut Vec<u32>) -> io::Result<()> {
    let mut entries = RawDir::new(folder, buffer);
    while let Some(entry) = entries.next() {
        out.extend(number(entry?.file_name().to_bytes()).and_then(|n| u32::try_from(n).ok()));
    }
    Ok(())
}

/// `run wait slices`; all zeroes where the kernel does not keep them.
fn parse_run(text: &[u8]) -> Option<Run> {
    let mut words = words(text.trim_ascii()).map(number);
    Some(Run { run_ns: words.next()??, wait_ns: words.next()??, slices: words.next()?? })
}
