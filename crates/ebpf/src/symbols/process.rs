//! Memory mappings of a process.

use std::{
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use fenxi_procfs::{
    Processes, Root,
    maps::Mapping,
    reading::{self, LIMIT, LONG_LIMIT, text},
    status,
};
use fs_err as fs;

use super::{Frame, demangled, file::Files};

/// The mapped files of a process, and its own map of code that it made.
#[derive(Debug)]
pub(super) struct Process {
    /// When it began, in the kernel's ticks: distinguishes it from another with its number.
    pub start: Option<u64>,
    /// The turn when it was last asked about.
    pub asked: u64,
    /// The turn when its maps were read.
    read: u64,
    /// Those with code. Sorted by address; they do not overlap.
    regions: Vec<Region>,
    /// Those without code that have a file: variables, for the most part. Sorted, too.
    data: Vec<Region>,
    /// Code made at run time, as listed in `/tmp/perf-PID.map`: begin, end, name.
    made: Vec<(u64, u64, Arc<str>)>,
}

#[derive(Clone, Debug)]
struct Region {
    begin: u64,
    end: u64,
    /// Of `begin`, in the file.
    offset: u64,
    /// Device and inode; None: no file.
    file: Option<(u64, u64)>,
    path: PathBuf,
    name: Arc<str>,
}

impl Process {
    pub(super) fn read(pid: u32, turn: u64) -> Process {
        let mut process = Process {
            start: Processes::of(&Root::live()).began(pid),
            asked: turn,
            read: turn,
            regions: Vec::new(),
            data: Vec::new(),
            made: Vec::new(),
        };
        process.read_maps(pid);
        process
    }

    fn read_maps(&mut self, pid: u32) {
        let (mut regions, mut data) = (Vec::new(), Vec::new());
        Processes::of(&Root::live()).each_mapping(pid, &mut |mapping| {
            if mapping.has_code() {
                regions.push(region(pid, mapping));
            } else if mapping.inode != 0 {
                data.push(region(pid, mapping));
            }
        });
        // Of an ended process, what is known stays known.
        if !regions.is_empty() {
            (self.regions, self.data) = (regions, data);
        }
        self.made = made_code(pid);
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.regions.is_empty()
    }

    pub(super) fn resolve(&mut self, pid: u32, address: u64, turn: u64, files: &mut Files) -> Frame {
        let mut found = self.known(address);
        let may_be_named = match &found {
            None => true,
            // Where a list is seldom, looking for one is not worth much.
            Some(Location::Mapped(region)) => region.is_made() && !(files.is_bounded() && self.made.is_empty()),
            Some(Location::Made(..)) => false,
        };
        if may_be_named && self.read != turn {
            // Something was mapped, or made, since: once in a turn.
            self.read = turn;
            let _ = files.budget.spend(|| self.read_maps(pid));
            found = self.known(address);
        }
        match found {
            Some(Location::Made(name, offset)) => Frame { function: name, file: "".into(), offset },
            Some(Location::Mapped(region)) => {
                let offset = address - region.begin + region.offset;
                let symbols = region.file.and_then(|id| files.get(id, &region.path, || region.readable(pid)));
                match symbols.and_then(|symbols| symbols.at(offset)) {
                    Some((function, offset)) => Frame { function, file: region.name, offset },
                    None => Frame { function: bracketed(&region.name), file: region.name, offset },
                }
            }
            None => Frame { function: "[unknown]".into(), file: "".into(), offset: address },
        }
    }

    /// The variable at an address. Those that begin as 0 follow what is mapped of their file.
    pub(super) fn variable(&self, pid: u32, address: u64, files: &mut Files) -> Option<Frame> {
        let place = self.data.partition_point(|region| region.begin <= address).checked_sub(1)?;
        let region = self.data.get(place)?;
        let symbols = files.get(region.file?, &region.path, || region.readable(pid))?;
        let (function, offset) = symbols.variable(region.offset, address - region.begin)?;
        Some(Frame { function, file: Arc::clone(&region.name), offset })
    }

    fn known(&self, address: u64) -> Option<Location> {
        let made = self.made.partition_point(|(begin, _, _)| *begin <= address).checked_sub(1);
        if let Some((begin, end, name)) = made.and_then(|place| self.made.get(place))
            && address < *end
        {
            return Some(Location::Made(Arc::clone(name), address - begin));
        }
        let place = self.regions.partition_point(|region| region.begin <= address).checked_sub(1)?;
        let region = self.regions.get(place).filter(|region| address < region.end)?;
        Some(Location::Mapped(region.clone()))
    }
}

enum Location {
    Made(Arc<str>, u64),
    Mapped(Region),
}

impl Region {
    /// Whether its code was made at run time.
    fn is_made(&self) -> bool {
        self.file.is_none() && self.path.as_os_str().is_empty()
    }

    fn readable(&self, pid: u32) -> PathBuf {
        readable(pid, self.begin, self.end, &self.path)
    }
}

/// A path that leads to the file mapped at `begin`, whatever root directory the process has, and if it was replaced meanwhile.
pub(crate) fn readable(pid: u32, begin: u64, end: u64, path: &Path) -> PathBuf {
    let mapped = PathBuf::from(format!("/proc/{pid}/map_files/{begin:x}-{end:x}"));
    if mapped.exists() {
        return mapped;
    }
    let rooted = Path::new(&format!("/proc/{pid}/root")).join(path.strip_prefix("/").unwrap_or(path));
    if rooted.exists() { rooted } else { path.to_path_buf() }
}

/// `[libc.so.6]`; what has brackets already keeps them: `[vdso]`.
fn bracketed(name: &str) -> Arc<str> {
    if name.starts_with('[') { name.into() } else { format!("[{name}]").into() }
}

fn region(pid: u32, mapping: &Mapping<'_>) -> Region {
    let (major, minor) = mapping.device;
    let file = (mapping.inode != 0).then(|| (rustix::fs::makedev(major, minor), mapping.inode));
    let path = mapping.path.trim_end().trim_end_matches(" (deleted)");
    let name = match path.rsplit('/').next() {
        Some("") | None => format!("anonymous memory of {pid}"),
        Some(name) => name.to_owned(),
    };
    let Mapping { begin, end, offset, .. } = *mapping;
    Region { begin, end, offset, file, path: PathBuf::from(path), name: name.into() }
}

/// A run-time compiler's list of the code it made: `/tmp/perf-PID.map`, with the number that the process has for
/// itself, below the root directory that it has.
fn made_code(pid: u32) -> Vec<(u64, u64, Arc<str>)> {
    let status = text(format!("/proc/{pid}/status"), LIMIT).unwrap_or_default();
    let own = status::value(&status, "NSpid").and_then(|pids| pids.split_ascii_whitespace().last());
    let path = Path::new(&format!("/proc/{pid}/root")).join(format!("tmp/perf-{}.map", own.unwrap_or("0")));
    // Anybody can write to /tmp: only what the process's owner wrote is believed.
    let owner = fs::metadata(format!("/proc/{pid}")).map(|m| m.uid()).ok();
    // Asked of what is open: the name can mean another file the next moment.
    let Ok(file) = reading::open_itself(&path) else { return Vec::new() };
    let believed = rustix::fs::fstat(&file).is_ok_and(|stat| Some(stat.st_uid) == owner || stat.st_uid == 0);
    if !believed {
        return Vec::new();
    }
    let bytes = reading::whole(&file, LONG_LIMIT).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let mut made: Vec<_> = text
        .lines()
        .filter_map(|line| {
            let mut words = line.splitn(3, ' ');
            let begin = u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok()?;
            let size = u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok()?;
            Some((begin, begin.checked_add(size)?, demangled(words.next()?)))
        })
        .collect();
    // Of what was made twice at one place, the later counts.
    made.reverse();
    made.sort_by_key(|(begin, _, _)| *begin);
    made.dedup_by_key(|(begin, _, _)| *begin);
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps_are_taken_apart() {
        let line = "7f00a000-7f00b000 r-xp 00002000 fe:01 77   /usr/lib/a name.so (deleted)";
        let read = |line| region(1, &Mapping::parse(line).unwrap());
        let region = read(line);
        assert_eq!(
            (region.begin, region.end, region.offset, &*region.name),
            (0x7f00_a000, 0x7f00_b000, 0x2000, "a name.so")
        );
        assert_eq!(region.path, Path::new("/usr/lib/a name.so"));
        let vdso = read("1000-2000 r-xp 0 00:00 0  [vdso]");
        assert_eq!((&*bracketed(&vdso.name), vdso.file), ("[vdso]", None));
    }

    /// A list that is written, or becomes longer, while its process is known already.
    #[test]
    fn code_that_was_made_since_has_its_name() {
        let pid = std::process::id();
        let list = format!("/tmp/perf-{pid}.map");
        let mut process = Process::read(pid, 0);
        process.regions = vec![region(pid, &Mapping::parse("1000-2000 rwxp 0 00:00 0 ").unwrap())];
        fs::write(&list, "1000 10 first\n1010 10 second\n").unwrap();
        let mut files = Files::default();
        let mut at = |turn| process.resolve(pid, 0x1012, turn, &mut files).function.to_string();
        let names = [at(0), at(1)];
        fs::remove_file(&list).unwrap();
        assert_eq!(names, [format!("[anonymous memory of {pid}]"), "second".to_owned()], "read once in a turn");
    }

    #[test]
    fn own_code_and_variables_of_files_are_kept_and_nothing_else() {
        let process = Process::read(std::process::id(), 0);
        let code = own_code_and_variables_of_files_are_kept_and_nothing_else as *const () as u64;
        assert!(process.regions.iter().any(|region| (region.begin..region.end).contains(&code)));
        let stack = &raw const code as u64;
        assert!(!process.data.is_empty() && process.data.iter().all(|region| region.file.is_some()));
        assert!(!process.data.iter().chain(&process.regions).any(|region| (region.begin..region.end).contains(&stack)));
    }
}
