//! Servers that are observed, and their processes.

use fenxi_db::postgres_memory::{
    events::Events,
    image::{Backend, Image},
    layout::{self, Layout, WORKER},
    program::Program,
};
use fenxi_procfs::{
    Processes, Root,
    servers::{Server, System},
    stat,
};
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use super::Dbwait;
use crate::{EbpfError, kernel::now_ns, querystat::name_of};

/// `struct key`: server, what, event, kind, state, process, two stacks, statement.
pub(super) const KEY: usize = 48;
/// `struct server`.
const SERVER: usize = 40;
/// `struct backend`.
pub(super) const BACKEND: usize = SERVER + 8 + KEY + 8 + KEY + 8;
/// Where `since` and the key stand in it.
pub(super) const SINCE: usize = SERVER;
/// `OFF_CPU` of the program.
pub(super) const OFF_CPU: u32 = 2;
/// `HAS_LEADER` of the program.
pub(super) const HAS_LEADER: u32 = 0x100;

/// A server that is observed.
pub(super) struct Found {
    pub pid: u32,
    /// As it is in tables, where no recording knows it by its address.
    name: String,
    pub layout: &'static Layout,
    pub events: Events,
    program: Program,
    place: u32,
}

/// First processes of the servers that run and are wanted, each with the processes of it that are.
///
/// # Errors
/// When a process that was asked for is not there, or none of PostgreSQL's.
pub(super) fn wanted(what: &Dbwait) -> Result<Vec<(u32, Vec<u32>)>, EbpfError> {
    let processes = Processes::of(&Root::live());
    let running = Server::running(&processes, Some(System::Postgres));
    if what.pids.is_empty() {
        return Ok(running.into_iter().filter_map(|server| Some((*server.pids.first()?, server.pids))).collect());
    }
    let mut wanted: Vec<(u32, Vec<u32>)> = Vec::new();
    for pid in &what.pids {
        let server = running.iter().find(|server| server.pids.contains(pid));
        let first = server.and_then(|server| server.pids.first());
        let (Some(server), Some(first)) = (server, first) else {
            let why = if processes.has(*pid) { "is none of PostgreSQL" } else { "is not there" };
            return Err(EbpfError::Target(format!(
                "process {pid} {why}; -p takes a server's first process, or a session's"
            )));
        };
        let of = if pid == first { server.pids.clone() } else { vec![*pid] };
        match wanted.iter_mut().find(|(known, _)| known == first) {
            Some((_, pids)) => pids.extend(of),
            None => wanted.push((*first, of)),
        }
    }
    Ok(wanted)
}

impl Found {
    /// Looks at the program of a server's first process.
    ///
    /// # Errors
    /// When its version is not known, or where its variables are.
    pub fn new(pid: u32, place: u32) -> Result<Found, EbpfError> {
        let processes = Processes::of(&Root::live());
        let name = name_of(&processes, pid);
        let (program, layout) =
            Program::of_any(&processes, pid).map_err(|error| EbpfError::Target(format!("{name}: {error}")))?;
        Ok(Found { pid, name, layout, events: Events::of(layout.major), program, place })
    }

    /// Its name: its address where the same recording asks it over a connection, else its program and port.
    pub fn name(&self) -> String {
        fenxi_db::known::name_of(self.pid).unwrap_or_else(|| self.name.clone())
    }

    /// Lets its processes be observed; the first one before the others, whose children it makes.
    ///
    /// # Errors
    /// When the map has no room.
    pub fn observe(&self, map: &MapHandle, pids: &[u32]) -> Result<(), EbpfError> {
        let root = Root::live();
        // A process already waiting goes on to wait; where memory may not be read it is seen from its next switch on.
        let image = Image::open(self.pid, self.program, self.layout);
        let known: Vec<Backend> =
            image.ok().and_then(|mut image| image.look().ok().map(<[Backend]>::to_vec)).unwrap_or_default();
        for pid in pids {
            let sleeps = stat::of_process(&root, *pid).is_some_and(|(stat, _)| matches!(stat.state, b'S' | b'D'));
            let waits = known.iter().find(|backend| backend.pid == *pid).filter(|_| sleeps);
            let value = self.value(waits);
            match map.update(&pid.to_ne_bytes(), &value, MapFlags::NO_EXIST) {
                Ok(()) => {}
                // It was begun meanwhile, and is there.
                Err(error) if error.kind() == libbpf_rs::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(EbpfError::Map { map: "backends".to_owned(), source }),
            }
        }
        Ok(())
    }

    /// `struct backend` of a process that waits, or does something else.
    fn value(&self, waits: Option<&Backend>) -> Vec<u8> {
        let mut value = Vec::with_capacity(BACKEND);
        for pointer in [self.program.own_wait, self.program.own_status, self.program.own_proc] {
            value.extend(pointer.to_ne_bytes());
        }
        let worker = self.layout.kinds.iter().position(|kind| *kind == WORKER).unwrap_or(usize::MAX);
        let leader = self.layout.proc_length - layout::proc::LEADER_FROM_END;
        for number in [leader, worker] {
            value.extend(u32::try_from(number).unwrap_or(u32::MAX).to_ne_bytes());
        }
        value.extend(self.place.to_ne_bytes());
        value.extend(0_u32.to_ne_bytes());
        let since = if waits.is_some() { now_ns() } else { 0 };
        value.extend(since.to_ne_bytes());
        let what = if waits.is_some() { OFF_CPU } else { 0 };
        let backend = waits.copied().unwrap_or_default();
        let kind = backend.kind | if backend.leader.is_some() { HAS_LEADER } else { 0 };
        for number in [self.place, what, backend.word, kind, backend.state, 0] {
            value.extend(number.to_ne_bytes());
        }
        value.extend([0; 16]);
        value.extend(backend.query_id.to_ne_bytes());
        value.resize(BACKEND, 0);
        value
    }
}
