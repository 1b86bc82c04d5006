//! Page cache residency of files, and how processes have them open.
//!
//! [`Files`] is a source with a given target: what processes use, what is below folders, or the
//! data of database servers. It cannot be in the list of sources, as there is nothing to look at
//! by default; apart from that it is recorded, saved and replayed as any other.

mod pages;
mod walk;

pub use pages::{Asker, Resident, page_size};

use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

use fenxi_model::{
    Micros, Rows,
    catalog::{file_cache, page_cache},
};
use fenxi_procfs::{
    FileId, Open, Processes, id, is_cached_kind,
    servers::{Class, Server, System, same_folder},
};
use rustc_hash::{FxHashMap, FxHashSet};
use rustix::fs::{Mode, OFlags};

use crate::{Collector, Root, Source, SourceError, Spec, Take, Tick};
use walk::Found;

/// Files whose page cache residency is measured.
#[derive(Clone, Debug)]
pub enum Target {
    /// Files that these processes have open or mapped.
    Processes(Vec<u32>),
    /// Files below these folders, without following links.
    Folders(Vec<PathBuf>),
    /// Files of database servers.
    Servers {
        /// Servers of this kind only.
        system: Option<System>,
        /// The server of this data directory only, whether it runs or not.
        dir: Option<PathBuf>,
    },
}

/// The source `file_cache`.
#[derive(Debug)]
pub struct Files {
    target: Target,
}

static SPEC: Spec = Spec {
    name: "file_cache",
    summary: "residency of chosen files in the page cache (cachestat or mincore, /proc/PID/fd)",
    tables: &[&page_cache::TABLE, &file_cache::TABLE],
    take: Take::EveryTick,
    default: false,
    live: false,
};

impl Files {
    /// Looks at `target`.
    pub fn new(target: Target) -> Files {
        Files { target }
    }
}

impl Source for Files {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        if !root.is_live() {
            let why = "it comes from a system call, and these files are a saved copy".to_owned();
            return Err(SourceError::Unavailable { what: "the residency of files", why });
        }
        let processes = Processes::of(root);
        Ok(Box::new(Residency { target: self.target.clone(), processes, asker: Asker::default(), noted: false }))
    }
}

/// The data directories that `target` means now; none when it does not mean servers.
pub fn servers(processes: &Processes, target: &Target) -> Vec<Server> {
    let Target::Servers { system, dir } = target else { return Vec::new() };
    let mut servers = Server::running(processes, *system);
    if let Some(dir) = dir {
        servers.retain(|server| same_folder(&server.at, dir));
        if servers.is_empty()
            && let Some(system) = system.or_else(|| System::of_folder(dir))
        {
            servers.push(Server::at_rest(system, dir));
        }
    }
    servers
}

struct Residency {
    target: Target,
    processes: Processes,
    asker: Asker,
    /// Whether it was reported that something cannot be read.
    noted: bool,
}

/// A file and what it is to a server.
struct ServedFile {
    found: Found,
    /// Which server's, and what to it.
    of: Option<(usize, Class)>,
}

impl Collector for Residency {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        let Some(dt) = tick.dt.filter(|dt| *dt > 0.0) else { return Ok(()) };
        let servers = servers(&self.processes, &self.target);
        let (looked, mut trouble) = self.find(&servers);
        let wanted: FxHashSet<FileId> = looked.iter().map(|l| l.found.id).collect();
        let (opens, refused) = self.processes.opens(&self.processes.pids(), |id| wanted.contains(id));
        let mut sums: Vec<Sum> = servers.iter().map(|_| Sum::default()).collect();
        let mut names = Names { processes: &self.processes, known: FxHashMap::default() };
        for ServedFile { found, of } in &looked {
            let opens = opens.get(&found.id).map_or(&[][..], Vec::as_slice);
            let resident = open(found).and_then(|file| self.asker.ask(&file));
            if let Err(error) = &resident
                && error.kind() != std::io::ErrorKind::NotFound
            {
                trouble.get_or_insert_with(|| format!("{}: {error}", found.path));
            }
            let resident = resident.ok();
            let server = of.map(|(i, class)| (&servers[i], class));
            emit(found, server, resident, opens, &mut names, (tick.t, dt), rows);
            if let Some((i, Class::Data)) = of {
                sums[*i].add(found, resident, opens, &servers[*i].pids);
            }
        }
        for (server, sum) in servers.iter().zip(&sums) {
            sum.emit(server, server.pids.iter().filter(|p| refused.pids.contains(p)).count(), (tick.t, dt), rows);
        }
        if let Some(trouble) = trouble.filter(|_| !std::mem::replace(&mut self.noted, true)) {
            rows.note("", None, &format!("some files could not be asked, the first is {trouble}"));
        }
        Ok(())
    }
}

impl Residency {
    /// The files to ask, and the first thing that went wrong.
    fn find(&self, servers: &[Server]) -> (Vec<ServedFile>, Option<String>) {
        match &self.target {
            Target::Processes(pids) => {
                let (found, refused) = self.of_processes(pids);
                let trouble = refused.map(|pid| format!("process {pid}, whose files are not ours to see"));
                (found.into_iter().map(|found| ServedFile { found, of: None }).collect(), trouble)
            }
            Target::Folders(folders) => {
                let mut looked = Vec::new();
                let mut trouble = None;
                for folder in folders {
                    let (found, unread) = walk::files(folder, folder, &|_| false);
                    looked.extend(found.into_iter().map(|found| ServedFile { found, of: None }));
                    if unread > 0 {
                        trouble = Some(format!("in {unread} of the folders below {}", folder.display()));
                    }
                }
                (once(looked), trouble)
            }
            Target::Servers { .. } => {
                let mut looked = Vec::new();
                let mut trouble = None;
                for (i, server) in servers.iter().enumerate() {
                    let (found, unread) = walk::files(&server.at, &server.dir, &|below| server.follows(below));
                    looked.extend(found.into_iter().map(|found| {
                        let below = Path::new(&found.path).strip_prefix(&server.dir).unwrap_or(Path::new(&found.path));
                        ServedFile { of: Some((i, server.system.class(below))), found }
                    }));
                    if unread > 0 {
                        trouble = Some(format!("in {unread} of the folders below {}", server.dir.display()));
                    }
                    // Tables may be in other folders; the open files of the server show where.
                    let (outside, _) = self.of_processes(&server.pids);
                    looked.extend(outside.into_iter().filter_map(|found| {
                        let class = server.system.class(Path::new(Path::new(&found.path).file_name()?));
                        (class != Class::Other).then_some(ServedFile { of: Some((i, class)), found })
                    }));
                }
                (once(looked), trouble)
            }
        }
    }

    /// Files that processes have open or mapped, each once, and a process that may not be looked into.
    fn of_processes(&self, pids: &[u32]) -> (Vec<Found>, Option<u32>) {
        let mut seen = FxHashSet::default();
        let mut found = Vec::new();
        let refused = self.processes.each_open(pids, &mut |pid, fd, stat| {
            if seen.insert(id(stat)) {
                let open = self.processes.path(pid, "fd").join(fd.to_string());
                let path = fs_err::read_link(&open).unwrap_or_else(|_| open.clone()).to_string_lossy().into_owned();
                found.push(Found { path, open, id: id(stat), size: stat.st_size.max(0) as u64 });
            }
        });
        for pid in pids {
            self.processes.each_mapping(*pid, &mut |mapping| {
                if mapping.inode == 0 || !mapping.path.starts_with('/') {
                    return;
                }
                let open = self.processes.inside(*pid, Path::new(mapping.path));
                if let Ok(stat) = rustix::fs::stat(&open)
                    && stat.st_ino == mapping.inode
                    && is_cached_kind(&stat)
                    && seen.insert(id(&stat))
                {
                    let size = stat.st_size.max(0) as u64;
                    found.push(Found { path: mapping.path.to_owned(), open, id: id(&stat), size });
                }
            });
        }
        (found, refused.pids.first().copied())
    }
}

/// Each file once, the first time it is named.
fn once(mut looked: Vec<ServedFile>) -> Vec<ServedFile> {
    let mut seen = FxHashSet::default();
    looked.retain(|l| seen.insert(l.found.id));
    looked
}

fn open(found: &Found) -> std::io::Result<std::os::fd::OwnedFd> {
    // Nothing is read, and the file's time of access stays. A pipe that took the name must not hold us.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(rustix::fs::open(&found.open, flags, Mode::empty())?)
}

/// Most processes that are named for one file.
const MAX_NAMED: usize = 4;

/// Names of processes, each read once a sample.
struct Names<'a> {
    processes: &'a Processes,
    known: FxHashMap<u32, String>,
}

impl Names<'_> {
    /// Who has a file open: `name[pid]`, with `O_DIRECT` where it is.
    fn of(&mut self, opens: &[Open]) -> Option<String> {
        let mut text = String::new();
        let mut pids: Vec<u32> = opens.iter().map(|o| o.pid).collect();
        pids.dedup();
        for pid in pids.iter().take(MAX_NAMED) {
            let name = self.known.entry(*pid).or_insert_with(|| self.processes.comm(*pid).unwrap_or_default());
            let own = || opens.iter().filter(|o| o.pid == *pid);
            let how = match (own().any(|o| o.direct), own().any(|o| !o.direct)) {
                (true, true) => " O_DIRECT and buffered",
                (true, false) => " O_DIRECT",
                _ => "",
            };
            let comma = if text.is_empty() { "" } else { ", " };
            let _ = write!(text, "{comma}{name}[{pid}]{how}");
        }
        if pids.len() > MAX_NAMED {
            let _ = write!(text, " and {} more", pids.len() - MAX_NAMED);
        }
        (!text.is_empty()).then_some(text)
    }
}

fn emit(
    found: &Found,
    server: Option<(&Server, Class)>,
    resident: Option<Resident>,
    opens: &[Open],
    names: &mut Names<'_>,
    (t, dt): (Micros, f64),
    rows: &mut Rows,
) {
    let direct = opens.iter().filter(|o| o.direct).count();
    let bytes = |pick: fn(&Resident) -> Option<u64>| resident.as_ref().and_then(pick).map(|b| b as f64);
    let mut row = rows.row(&file_cache::TABLE, t, dt);
    row.str(file_cache::path, found.path.as_str())
        .f64(file_cache::size_bytes, found.size as f64)
        .f64(file_cache::cached_bytes, bytes(|r| Some(r.cached)))
        .f64(file_cache::dirty_bytes, bytes(|r| r.dirty))
        .f64(file_cache::writeback_bytes, bytes(|r| r.writeback))
        .f64(file_cache::recently_evicted_bytes, bytes(|r| r.recently_evicted))
        .f64(file_cache::direct_opens, direct as f64)
        .f64(file_cache::buffered_opens, (opens.len() - direct) as f64);
    if let Some((server, class)) = server {
        row.str(file_cache::place, &*server.dir.to_string_lossy()).str(file_cache::class, class.name());
    }
    if let Some(text) = names.of(opens) {
        row.text(file_cache::opened_by, text.as_str());
    }
}

/// The data files of one server.
#[derive(Default)]
struct Sum {
    files: usize,
    unread: usize,
    size: u64,
    cached: u64,
    dirty: Option<u64>,
    direct: usize,
    buffered: usize,
}

impl Sum {
    fn add(&mut self, found: &Found, resident: Option<Resident>, opens: &[Open], pids: &[u32]) {
        self.files += 1;
        self.size += found.size;
        match resident {
            Some(resident) => {
                self.cached += resident.cached;
                if let Some(dirty) = resident.dirty {
                    self.dirty = Some(self.dirty.unwrap_or(0) + dirty);
                }
            }
            None => self.unread += 1,
        }
        // Others may read along as they like: a copy, a backup.
        let own = |direct: bool| opens.iter().any(|o| o.direct == direct && pids.contains(&o.pid));
        self.direct += usize::from(own(true));
        self.buffered += usize::from(own(false));
    }

    fn emit(&self, server: &Server, unread_processes: usize, (t, dt): (Micros, f64), rows: &mut Rows) {
        let known = |bytes: u64| (self.unread < self.files).then_some(bytes as f64);
        let mut row = rows.row(&page_cache::TABLE, t, dt);
        row.str(page_cache::kind, server.system.name())
            .str(page_cache::place, &*server.dir.to_string_lossy())
            .i64(page_cache::pid, server.pids.first().map(|pid| i64::from(*pid)))
            .f64(page_cache::files, self.files as f64)
            .f64(page_cache::unread_files, self.unread as f64)
            .f64(page_cache::unread_processes, unread_processes as f64)
            .f64(page_cache::size_bytes, self.size as f64)
            .f64(page_cache::cached_bytes, known(self.cached))
            .f64(page_cache::dirty_bytes, self.dirty.and_then(known))
            .f64(page_cache::pool_bytes, server.pool.map(|b| b as f64))
            .f64(page_cache::pool_mapped_bytes, server.pool_mapped.map(|b| b as f64))
            .f64(page_cache::direct_files, self.direct as f64)
            .f64(page_cache::buffered_files, self.buffered as f64)
            .text(page_cache::pool_from, server.pool_from.as_str());
        if let Some(setting) = &server.open_setting {
            row.text(page_cache::open_setting, setting.as_str());
        }
    }
}
