//! Limits of a server: files that it must not change, and resident memory that it may take, of a process with
//! all that it started. Shared by the standing adversary and the tests of the command line.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use fs_err as fs;

/// Between two looks at memory.
const LOOK: Duration = Duration::from_millis(10);
/// So many looks lie between two searches for processes of the group whose parents have ended.
const STRAYS_EVERY: u32 = 50;

/// Everything below some paths: kind, mode, size and a hash of the content of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree(BTreeMap<PathBuf, (u32, u64, u64)>);

impl Tree {
    /// The files at and below `paths` now. Those that vanish meanwhile are left out.
    pub fn of<P: AsRef<Path>>(paths: &[P]) -> Tree {
        let mut tree = Tree::default();
        paths.iter().for_each(|path| tree.add(path.as_ref()));
        tree
    }

    fn add(&mut self, path: &Path) {
        let Ok(meta) = fs::symlink_metadata(path) else { return };
        let mut hash = DefaultHasher::new();
        if meta.is_dir() {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            entries.for_each(|entry| self.add(&entry.path()));
        } else if meta.is_symlink() {
            fs::read_link(path).ok().hash(&mut hash);
        } else if meta.is_file() {
            fs::read(path).ok().hash(&mut hash);
        }
        // A folder's size is the file system's business.
        let size = if meta.is_dir() { 0 } else { meta.len() };
        self.0.insert(path.to_owned(), (meta.mode(), size, hash.finish()));
    }

    /// Paths that are new, gone or other in `now`, a line each; empty when none is.
    pub fn changes(&self, now: &Tree) -> Vec<String> {
        let paths: BTreeSet<&PathBuf> = self.0.keys().chain(now.0.keys()).collect();
        let said = |path: &&PathBuf| match (self.0.get(*path), now.0.get(*path)) {
            (None, Some(_)) => Some(format!("new: {}", path.display())),
            (Some(_), None) => Some(format!("gone: {}", path.display())),
            (was, is) if was != is => Some(format!("changed: {}", path.display())),
            _ => None,
        };
        paths.iter().filter_map(said).collect()
    }

    /// The paths.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.keys().map(PathBuf::as_path)
    }
}

/// A process and everything that descends from it, or is of its group.
pub fn family(root: i32, strays: bool) -> BTreeSet<i32> {
    let mut found = BTreeSet::new();
    let mut open = vec![root];
    if strays {
        open.extend(of_group(root));
    }
    while let Some(pid) = open.pop() {
        if found.insert(pid) {
            open.extend(children(pid));
        }
    }
    found
}

fn children(pid: i32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).unwrap_or_default();
    tasks.flat_map(|t| of(t).split_whitespace().filter_map(|n| n.parse().ok()).collect::<Vec<_>>()).collect()
}

/// The processes of the group `root`, whatever their parents are now.
fn of_group(root: i32) -> Vec<i32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|e| e.file_name().to_string_lossy().parse::<i32>().ok());
    pids.filter(|pid| group(*pid) == Some(root)).collect()
}

fn group(pid: i32) -> Option<i32> {
    // Kernel threads have the group 0, which `getpgid` of rustix cannot give.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()
}

/// Resident bytes of a process, shared ones included.
fn resident(pid: i32) -> u64 {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    statm.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) * 4096
}

/// Resident bytes of a process, of what several share its part.
fn share(pid: i32) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = rollup.lines().find_map(|l| l.strip_prefix("Pss:"));
    let kib = line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok());
    // Not readable, as by a process that changed its user: then all of it.
    kib.map_or_else(|| resident(pid), |kib| kib * 1024)
}

/// Looks at the memory of a process and all that it started, every 10 milliseconds, until it is dropped.
#[derive(Debug)]
pub struct Memory {
    most: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Memory {
    /// Watches the process `root`. Where the plain sum is over `bound`, pages that several processes share count
    /// once, as the machine counts them.
    pub fn watch(root: i32, bound: u64) -> Memory {
        let (most, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (theirs, ends) = (Arc::clone(&most), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let mut strays = BTreeSet::new();
            for look in 0_u32.. {
                if ends.load(Ordering::Relaxed) {
                    break;
                }
                if look.is_multiple_of(STRAYS_EVERY) {
                    strays = family(root, true);
                }
                let all: BTreeSet<i32> = family(root, false).union(&strays).copied().collect();
                let sum: u64 = all.iter().map(|pid| resident(*pid)).sum();
                let sum = if sum > bound { sum.min(all.iter().map(|pid| share(*pid)).sum()) } else { sum };
                theirs.fetch_max(sum, Ordering::Relaxed);
                std::thread::sleep(LOOK);
            }
        });
        Memory { most, stop, thread: Some(thread) }
    }

    /// The most that was seen since the last time this was asked, in bytes.
    pub fn most(&self) -> u64 {
        self.most.swap(0, Ordering::Relaxed)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
