//! What processes have open or mapped, from /proc/PID/fd, fdinfo, maps and stat.
//!
//! Files are told apart by device and inode. A process that ends meanwhile is no matter; one that may
//! not be looked into is counted, so that nobody takes silence for absence.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use nix::libc;
use rustc_hash::FxHashMap;
use rustix::fs::{FileType, Stat};

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
    /// Whether it goes around the page cache.
    pub direct: bool,
}

/// Processes at /proc.
#[derive(Debug)]
pub struct Processes {
    proc: PathBuf,
}

/// What could not be looked into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// The processes.
    pub pids: Vec<u32>,
}

impl Processes {
    /// The processes of the folder `proc`.
    pub fn new(proc: impl Into<PathBuf>) -> Processes {
        Processes { proc: proc.into() }
    }

    /// A file or folder of a process.
    pub fn path(&self, pid: u32, name: &str) -> PathBuf {
        self.proc.join(format!("{pid}/{name}"))
    }

    /// All processes now.
    pub fn pids(&self) -> Vec<u32> {
        numbers(&self.proc).unwrap_or_default()
    }

    /// Whether there is such a process.
    pub fn has(&self, pid: u32) -> bool {
        self.path(pid, "").is_dir()
    }

    /// A process' short name.
    pub fn comm(&self, pid: u32) -> Option<String> {
        let text = fs_err::read(self.path(pid, "comm")).ok()?;
        Some(String::from_utf8_lossy(&text).trim_end().to_owned())
    }

    /// The process' command line, word by word; empty for kernel threads.
    pub fn command(&self, pid: u32) -> Vec<String> {
        let Ok(text) = fs_err::read(self.path(pid, "cmdline")) else { return Vec::new() };
        let text = text.strip_suffix(b"\0").unwrap_or(&text);
        text.split(|b| *b == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }

    /// The process that began it.
    pub fn parent(&self, pid: u32) -> Option<u32> {
        let text = fs_err::read(self.path(pid, "stat")).ok()?;
        let text = String::from_utf8_lossy(&text);
        // The name may hold anything, blanks and parentheses too: the last one ends it.
        text.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
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
            match numbers(&folder) {
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

    /// Whether a descriptor goes around the page cache; None when nobody tells.
    pub fn is_direct(&self, pid: u32, fd: u32) -> Option<bool> {
        let text = fs_err::read(self.path(pid, "fdinfo").join(fd.to_string())).ok()?;
        let text = String::from_utf8_lossy(&text);
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
        match fs_err::read(self.path(pid, "maps")) {
            Ok(text) => {
                String::from_utf8_lossy(&text).lines().filter_map(Mapping::parse).for_each(|m| visit(&m));
                true
            }
            Err(error) => error.kind() != ErrorKind::PermissionDenied,
        }
    }
}

/// One line of /proc/PID/maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping<'a> {
    /// The addresses as they are written, which is its name below `map_files`.
    pub range: &'a str,
    /// How many bytes it is long.
    pub length: u64,
    /// Four letters: `r-xp`.
    pub rights: &'a str,
    /// Device and inode as written; the inode is 0 where there is no file.
    pub device: &'a str,
    /// The inode, 0 where there is no file.
    pub inode: u64,
    /// The file, or what the kernel calls the mapping; empty for a process' private memory.
    pub path: &'a str,
}

impl<'a> Mapping<'a> {
    /// Reads a line; None when it is none.
    pub fn parse(line: &'a str) -> Option<Mapping<'a>> {
        // The path is padded and may hold blanks itself.
        let mut words = line.splitn(6, ' ');
        let (range, rights, _offset, device) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let inode = words.next()?.parse().ok()?;
        let (from, to) = range.split_once('-')?;
        let address = |text| u64::from_str_radix(text, 16).ok();
        let length = address(to)?.checked_sub(address(from)?)?;
        Some(Mapping { range, length, rights, device, inode, path: words.next().unwrap_or("").trim_start() })
    }

    /// Whether it can be executed and stands for a file.
    pub fn is_program(&self) -> bool {
        self.inode != 0 && self.rights.as_bytes().get(2) == Some(&b'x') && self.path.starts_with('/')
    }
}

/// Whether the page cache may hold such a thing.
pub fn is_cached_kind(stat: &Stat) -> bool {
    matches!(FileType::from_raw_mode(stat.st_mode), FileType::RegularFile | FileType::BlockDevice)
}

/// The numbers among a folder's names.
fn numbers(folder: &Path) -> Result<Vec<u32>, ErrorKind> {
    let entries = fs_err::read_dir(folder).map_err(|error| error.kind())?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use std::{
        fs::OpenOptions,
        os::{fd::AsRawFd, unix::fs::OpenOptionsExt},
    };

    use super::*;

    #[test]
    fn a_line_of_maps_is_read_whole() {
        let line = "7f6e5cfa9000-7f6e5d000000 r-xp 00000000 fe:00 316526                     /usr/lib/a b.so (deleted)";
        let mapping = Mapping::parse(line).unwrap();
        assert_eq!((mapping.length, mapping.inode, mapping.path), (0x57000, 316_526, "/usr/lib/a b.so (deleted)"));
        assert!(mapping.is_program());
        let private = Mapping::parse("776a6b000000-776a73000000 rw-p 00000000 00:00 0 ").unwrap();
        assert_eq!((private.length, private.inode, private.path), (128 << 20, 0, ""));
        let vdso = Mapping::parse("7f6e613ec000-7f6e613ee000 r-xp 00000000 00:00 0                          [vdso]");
        assert!(!vdso.unwrap().is_program());
        assert_eq!(Mapping::parse("nonsense"), None);
    }

    #[test]
    fn a_file_opened_directly_is_told_from_one_that_is_not() {
        // The target folder is on a file system with storage; what a memory file system refuses is no matter here.
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = dir.path().join("file");
        let plain = fs_err::File::create_new(&path).unwrap();
        let processes = Processes::new("/proc");
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
