//! `page_cache`: part of the page cache that holds executables and libraries.
//!
//! The kernel has no counter for it. Every file that some process maps with the right to execute is
//! asked how much of it is cached, each inode once, as Solaris' `::memstat` counts "Exec and libs".
//! Processes are looked through, and their programs asked, every ten seconds at most: it costs a few
//! system calls for each mapped file, and what programs and libraries hold changes slowly.
//! Files in a memory file system are left out: they are shared memory, not page cache.

use std::path::PathBuf;

use fenxi_model::{
    Micros, Rows,
    catalog::page_cache::{self, TABLE},
};
use fenxi_procfs::Processes;
use rustc_hash::{FxHashMap, FxHashSet};
use rustix::fs::{Mode, OFlags};

use crate::{Collector, Root, Source, SourceError, Spec, Take, Tick, residency::Asker};

pub struct PageCache;

/// The source.
pub static SOURCE: PageCache = PageCache;

static SPEC: Spec = Spec {
    name: "page_cache",
    summary: "page cache of executables and libraries (/proc/PID/maps, cachestat or mincore)",
    tables: &[&TABLE],
    take: Take::EveryTick,
    default: false,
    live: true,
};

impl Source for PageCache {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        if !root.is_live() {
            let why = "it comes from a system call, and these files are a saved copy".to_owned();
            return Err(SourceError::Unavailable { what: "the page cache of executables", why });
        }
        Ok(Box::new(Executables {
            processes: Processes::of(root),
            asker: Asker::default(),
            sum: Sum::default(),
            looked: None,
        }))
    }
}

/// How long what was found is good, less what a tick may come early.
const LOOK_AGAIN_US: i64 = 9_990_000;

/// Programs by device (major, minor) and inode, as in `maps`.
type Programs = FxHashMap<((u32, u32), u64), Program>;

struct Executables {
    processes: Processes,
    asker: Asker,
    sum: Sum,
    looked: Option<Micros>,
}

struct Program {
    /// By its path, in the process' own mounts too, and by the mapping itself, for files removed since.
    places: [PathBuf; 3],
    inode: u64,
}

impl Collector for Executables {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        if self.looked.is_none_or(|looked| !(0..LOOK_AGAIN_US).contains(&(tick.t.0 - looked.0))) {
            self.looked = Some(tick.t);
            self.sum = self.look();
        }
        let Some(dt) = tick.dt.filter(|dt| *dt > 0.0) else { return Ok(()) };
        let sum = &self.sum;
        let n = |n: usize| Some(n as f64);
        // No file to ask means that nothing is known, not that nothing is cached.
        let known = |bytes: u64| (sum.files > 0).then_some(bytes as f64);
        rows.row(&TABLE, tick.t, dt)
            .str(page_cache::kind, "executables")
            .f64(page_cache::files, n(sum.files + sum.unread))
            .f64(page_cache::unread_files, n(sum.unread))
            .f64(page_cache::unread_processes, n(sum.unread_processes))
            .f64(page_cache::size_bytes, known(sum.size))
            .f64(page_cache::cached_bytes, known(sum.cached));
        Ok(())
    }
}

impl Executables {
    /// Looks through all processes, and asks about what they map.
    fn look(&self) -> Sum {
        let mut programs = Programs::default();
        let mut sum = Sum::default();
        for pid in self.processes.pids() {
            sum.unread_processes += usize::from(!self.look_into(pid, &mut programs));
        }
        let mut seen = FxHashSet::default();
        for program in programs.values() {
            sum.add(program, &self.asker, &mut seen);
        }
        sum
    }

    /// Adds what a process maps; false when that is not readable.
    fn look_into(&self, pid: u32, programs: &mut Programs) -> bool {
        self.processes.each_mapping(pid, &mut |mapping| {
            if !mapping.is_program() || mapping.path.starts_with("/memfd:") {
                return;
            }
            let key = (mapping.device, mapping.inode);
            programs.entry(key).or_insert_with(|| Program {
                places: [
                    PathBuf::from(mapping.path),
                    self.processes.path(pid, "root").join(mapping.path.trim_start_matches('/')),
                    self.processes.path(pid, "map_files").join(format!("{:x}-{:x}", mapping.begin, mapping.end)),
                ],
                inode: mapping.inode,
            });
        })
    }
}

/// All programs, each once.
#[derive(Default)]
struct Sum {
    files: usize,
    unread: usize,
    unread_processes: usize,
    size: u64,
    cached: u64,
}

impl Sum {
    fn add(&mut self, program: &Program, asker: &Asker, seen: &mut FxHashSet<(u64, u64)>) {
        match program.ask(asker, seen) {
            CachedSize::Is { size, cached } => {
                self.files += 1;
                self.size += size;
                self.cached += cached;
            }
            CachedSize::Memory => {}
            CachedSize::Unknown => self.unread += 1,
        }
    }
}

enum CachedSize {
    Is {
        size: u64,
        cached: u64,
    },
    /// It is in a memory file system, or known by another name.
    Memory,
    Unknown,
}

/// File systems whose files are memory themselves: tmpfs, ramfs, hugetlbfs.
const MEMORY: [u64; 3] = [0x0102_1994, 0x8584_58f6, 0x9584_58f6];

impl Program {
    fn ask(&self, asker: &Asker, seen: &mut FxHashSet<(u64, u64)>) -> CachedSize {
        for place in &self.places {
            let Ok(file) = rustix::fs::open(place, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())
            else {
                continue;
            };
            // Another file may have got the name since.
            let Ok(stat) = rustix::fs::fstat(&file) else { continue };
            if stat.st_ino != self.inode {
                continue;
            }
            if rustix::fs::fstatfs(&file).is_ok_and(|fs| MEMORY.contains(&(fs.f_type as u64 & 0xffff_ffff)))
                || !seen.insert((stat.st_dev, stat.st_ino))
            {
                return CachedSize::Memory;
            }
            return match asker.ask(&file) {
                Ok(resident) => CachedSize::Is { size: stat.st_size.max(0) as u64, cached: resident.cached },
                Err(_) => CachedSize::Unknown,
            };
        }
        CachedSize::Unknown
    }
}

#[cfg(test)]
mod tests {
    use fenxi_model::{Micros, Rows};

    use super::SOURCE;
    use crate::{
        Root, Source, Tick,
        testing::{Machine, Observed},
    };

    #[test]
    fn this_program_is_among_the_executables_that_are_cached() {
        let mut collector = SOURCE.start(&Root::live()).unwrap();
        let mut rows = Rows::new("h");
        collector.sample(Tick::new(Micros(0), None), &mut rows).unwrap();
        assert!(rows.is_empty());
        collector.sample(Tick::new(Micros(1), Some(1.0)), &mut rows).unwrap();
        let seen = Observed::of(rows);
        let value = |column| seen.value("page_cache", column, &["executables", ""]);
        // Others' programs may not be readable for this user, but its own are, and it runs.
        let own = std::env::current_exe().unwrap().metadata().unwrap().len() as f64;
        assert!(value("size_bytes").unwrap() >= own);
        assert!(value("cached_bytes").unwrap() > 0.0);
        assert!(value("files").unwrap() >= 2.0, "the program and a library");
    }

    #[test]
    fn a_saved_copy_cannot_be_asked() {
        let error = Machine::new().try_start(&SOURCE).err().unwrap();
        assert!(error.to_string().contains("saved copy"), "{error}");
    }
}
