//! Files that processes have open or mapped, from /proc/PID/fd, fdinfo, maps and stat.
//!
//! Files are identified by device and inode. A process that ends meanwhile is no matter; one that may
//! not be looked into is counted, so that unreadable is not taken for absent.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use rustc_hash::FxHashMap;
use rustix::fs::{FileType, Stat};

use crate::{Root, maps::Mapping, reading::LONG_LIMIT, stat};

/// Device and inode.
pub type FileId = (u64, u64);

/// Which file a `stat` is about.
pub fn id(stat: &Stat) -> FileId {
    (stat.st_dev, stat.st_ino)
}

/// One descriptor of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// The process.
    pub pid: u32,
    /// The number of its descriptor.
    pub fd: u32,
    /// True if it goes around the page cache.
    pub direct: bool,
}

/// Processes at /proc.
#[derive(Clone, Debug)]
pub struct Processes {
    root: Root,
    proc: PathBuf,
}

/// Processes that could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// The processes.
    pub pids: Vec<u32>,
}

impl Processes {
    /// The processes of `root`.
    pub fn of(root: &Root) -> Processes {
        Processes { root: root.clone(), proc: root.path("/proc") }
    }

    /// Where their files are read.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// A file or folder of a process.
    pub fn path(&self, pid: u32, name: &str) -> PathBuf {
        self.proc.join(format!("{pid}/{name}"))
    }

    /// All processes now.
    pub fn pids(&self) -> Vec<u32> {
        numbers(&self.root, "/proc").unwrap_or_default()
    }

    /// Returns true if there is such a process.
    pub fn has(&self, pid: u32) -> bool {
        self.path(pid, "").is_dir()
    }

    /// The threads of a process now.
    pub fn tids(&self, pid: u32) -> Vec<u32> {
        numbers(&self.root, &format!("/proc/{pid}/task")).unwrap_or_default()
    }

    /// When the process began, in clock ticks since boot: with the pid it names a process uniquely. None when there is
    /// none, or when it has ended and only waits to be reaped.
    pub fn began(&self, pid: u32) -> Option<u64> {
        stat::of_process(&self.root, pid).filter(|(stat, _)| stat.state != b'Z').map(|(stat, _)| stat.start)
    }

    /// Inodes of the sockets that the process has open; none when it may not be looked into.
    pub fn sockets(&self, pid: u32) -> Vec<u64> {
        let folder = self.path(pid, "fd");
        let fds = numbers(&self.root, &format!("/proc/{pid}/fd")).unwrap_or_default();
        let links = fds.into_iter().filter_map(|fd| fs_err::read_link(folder.join(fd.to_string())).ok());
        links.filter_map(|to| to.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()).collect()
    }

    /// A process' short name.
    pub fn comm(&self, pid: u32) -> Option<String> {
        self.root.read_text(&format!("/proc/{pid}/comm"))
    }

    /// The process' command line, word by word; empty for kernel threads.
    pub fn command(&self, pid: u32) -> Vec<String> {
        let Ok(text) = self.root.read(&format!("/proc/{pid}/cmdline")) else { return Vec::new() };
        let text = text.strip_suffix(b"\0").unwrap_or(&text);
        text.split(|b| *b == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }

    /// The process that began it.
    pub fn parent(&self, pid: u32) -> Option<u32> {
        stat::of_process(&self.root, pid).map(|(stat, _)| stat.ppid)
    }

    /// Where a path of a process is for us: in its own mounts and below its own root.
    pub fn inside(&self, pid: u32, path: &Path) -> PathBuf {
        let own = self.path(pid, "root").join(path.strip_prefix("/").unwrap_or(path));
        if own.exists() { own } else { path.to_owned() }
    }

    /// Visits each descriptor of `pids` that is a file or a block device, with what it is.
    pub fn each_open(&self, pids: &[u32], visit: &mut dyn FnMut(u32, u32, &Stat)) -> Refused {
        let mut refused = Refused::default();
        for pid in pids {
            let folder = self.path(*pid, "fd");
            match numbers(&self.root, &format!("/proc/{pid}/fd")) {
                Ok(fds) => {
                    for fd in fds {
                        if let Ok(stat) = rustix::fs::stat(folder.join(fd.to_string()))
                            && is_cached_kind(&stat)
                        {
                            visit(*pid, fd, &stat);
                        }
                    }
                }
                Err(ErrorKind::PermissionDenied) => refused.pids.push(*pid),
                Err(_) => {}
            }
        }
        refused
    }

    /// True if a descriptor bypasses the page cache (O_DIRECT); None when unknown.
    pub fn is_direct(&self, pid: u32, fd: u32) -> Option<bool> {
        let text = self.root.read_text(&format!("/proc/{pid}/fdinfo/{fd}"))?;
        let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
        Some(i32::from_str_radix(flags.trim(), 8).ok()? & libc::O_DIRECT != 0)
    }

    /// Who has which of the wanted files open.
    pub fn opens(&self, pids: &[u32], wanted: impl Fn(&FileId) -> bool) -> (FxHashMap<FileId, Vec<Open>>, Refused) {
        let mut opens: FxHashMap<FileId, Vec<Open>> = FxHashMap::default();
        let refused = self.each_open(pids, &mut |pid, fd, stat| {
            let id = id(stat);
            if wanted(&id)
                && let Some(direct) = self.is_direct(pid, fd)
            {
                opens.entry(id).or_default().push(Open { pid, fd, direct });
            }
        });
        (opens, refused)
    }

    /// Visits each mapping of a process; false when it may not be looked into.
    pub fn each_mapping(&self, pid: u32, visit: &mut dyn FnMut(&Mapping<'_>)) -> bool {
        match self.root.read_at_most(&format!("/proc/{pid}/maps"), LONG_LIMIT) {
            Ok(text) => {
                String::from_utf8_lossy(&text).lines().filter_map(Mapping::parse).for_each(|m| visit(&m));
                true
            }
            Err(error) => error.kind() != ErrorKind::PermissionDenied,
        }
    }
}

/// Returns true if the page cache may hold such a thing.
pub fn is_cached_kind(stat: &Stat) -> bool {
    matches!(FileType::from_raw_mode(stat.st_mode), FileType::RegularFile | FileType::BlockDevice)
}

/// The numbers among a folder's names.
fn numbers(root: &Root, folder: &str) -> Result<Vec<u32>, ErrorKind> {
    let entries = root.list(folder).map_err(|error| error.kind())?;
    Ok(entries.iter().filter_map(|(name, _)| name.to_str()?.parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use std::{
        fs::OpenOptions,
        os::{fd::AsRawFd, unix::fs::OpenOptionsExt},
    };

    use super::*;

    #[test]
    fn a_file_opened_directly_is_told_from_one_that_is_not() {
        // The target folder is on a file system with storage; what a memory file system refuses is no matter here.
        let dir = tempfile::tempdir_in(".").unwrap();
        let path = dir.path().join("file");
        let plain = fs_err::File::create_new(&path).unwrap();
        let processes = Processes::of(&Root::live());
        let me = std::process::id();
        assert_eq!(processes.is_direct(me, plain.file().as_raw_fd() as u32), Some(false));
        if let Ok(direct) = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(&path) {
            assert_eq!(processes.is_direct(me, direct.as_raw_fd() as u32), Some(true));
            let id = id(&rustix::fs::stat(&path).unwrap());
            let (opens, _) = processes.opens(&[me], |i| *i == id);
            let mut how: Vec<_> = opens[&id].iter().map(|o| o.direct).collect();
            how.sort_unstable();
            assert_eq!(how, [false, true]);
        }
        assert_eq!(processes.parent(me), Some(std::os::unix::process::parent_id()));
        assert!(processes.has(me) && !processes.has(u32::MAX));
    }
}
