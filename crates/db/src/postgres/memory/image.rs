//! One look at the processes of a server, in its shared memory.
//!
//! Wait event, state and other fields of a process are read within a microsecond, the wait event once before and once
//! after the rest: a session that moved on meanwhile is read again. Otherwise work would be seen as a wait for the client,
//! and the other way round.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use fenxi_sys::memory::{Place, read};

use super::{
    layout::{self, APPLICATION_LENGTH, Layout, header, proc, status},
    program::Program,
};

/// The most processes that are read: more means that something else is there.
const MOST: u32 = 100_000;
/// How often a process that moves on is read again.
const TRIES: u32 = 3;
/// Bytes read of each process: the event, the status, the event, the count of changes.
const STEP: usize = 4 + status::LENGTH + 4 + 4;
const AFTER: usize = 4 + status::LENGTH;

/// Why a look gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The kernel refuses.
    #[error("memory of process {pid} cannot be read: {source}")]
    Refused {
        /// The process.
        pid: u32,
        /// Why.
        source: io::Error,
    },
    /// The memory holds other content than expected.
    #[error("{0}")]
    Unknown(String),
}

/// One process of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backend {
    /// Its number.
    pub pid: u32,
    /// Wait event; 0: none.
    pub word: u32,
    /// The oldest transaction that it sees; 0: none.
    pub xmin: u32,
    /// The process that leads it in a parallel query.
    pub leader: Option<u32>,
    /// Number of its kind.
    pub kind: u32,
    /// Number of its state.
    pub state: u32,
    /// Microseconds since 2000, 0 where there is none: begin of the session, the transaction, the statement, the state.
    pub since: [i64; 4],
    /// Number of its database; 0: none.
    pub database: u32,
    /// Number of its user; 0: none.
    pub user: u32,
    /// The client's address; None for a socket of the file system, and for the server's own processes.
    pub client: Option<IpAddr>,
    /// The statement's number; 0: none.
    pub query_id: i64,
    /// Changes so far.
    changes: u32,
    application: u64,
    text: u64,
    /// Where its status is.
    status: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    pid: u32,
    /// Where its status is; 0: not known yet.
    status: u64,
}

/// The shared memory of a server.
#[derive(Debug)]
pub struct Image {
    pid: u32,
    program: Program,
    layout: &'static Layout,
    /// Where the list of processes begins; it changes only with all of the memory.
    header: u64,
    procs_at: u64,
    text_length: usize,
    next_xid: u64,
    procs: Vec<u8>,
    slots: Vec<Slot>,
    /// Places in `slots` of the processes that are read.
    wanted: Vec<usize>,
    again: Vec<usize>,
    places: Vec<Place>,
    bytes: Vec<u8>,
    backends: Vec<Backend>,
    /// The next transaction's number.
    next: u32,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes)
}

impl Image {
    /// Finds the shared memory of the server whose first process is `pid`.
    ///
    /// # Errors
    /// When memory may not be read, or what is there is not as expected.
    pub fn open(pid: u32, program: Program, layout: &'static Layout) -> Result<Image, MemoryError> {
        let mut image = Image {
            pid,
            program,
            layout,
            header: 0,
            procs_at: 0,
            text_length: 0,
            next_xid: 0,
            procs: Vec::new(),
            slots: Vec::new(),
            wanted: Vec::new(),
            again: Vec::new(),
            places: Vec::new(),
            bytes: Vec::new(),
            backends: Vec::new(),
            next: 0,
        };
        image.header = image.pointer(program.processes)?;
        let mut header = [0; header::LENGTH];
        image.read(image.header, &mut header)?;
        image.procs_at = u64_at(&header, header::PROCS);
        let count = u32_at(&header, header::COUNT);
        if !(8..=MOST).contains(&count) {
            return Err(MemoryError::Unknown(format!("{count} is no number of processes")));
        }
        image.next_xid = image.pointer(program.next_xid)? + layout::NEXT_XID;
        let mut length = [0; 4];
        image.read(program.text_length, &mut length)?;
        image.text_length = u32_at(&length, 0) as usize;
        image.procs = vec![0; count as usize * layout.proc_length];
        image.slots = vec![Slot::default(); count as usize];
        Ok(image)
    }

    /// The layout of the server's version.
    pub fn layout(&self) -> &'static Layout {
        self.layout
    }

    /// The server's first process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        let place = Place { at, len: into.len() };
        read(self.pid, &[place], into).map_err(|source| MemoryError::Refused { pid: self.pid, source })
    }

    fn pointer(&self, at: u64) -> Result<u64, MemoryError> {
        let mut bytes = [0; 8];
        self.read(at, &mut bytes)?;
        match u64::from_ne_bytes(bytes) {
            0 => Err(MemoryError::Unknown("the server has not begun yet, or ends".to_owned())),
            pointer => Ok(pointer),
        }
    }

    /// Reads all processes.
    ///
    /// # Errors
    /// When memory may not be read any more, or is another one: after a crash a server has new memory.
    pub fn look(&mut self) -> Result<&[Backend], MemoryError> {
        self.bytes.resize(12, 0);
        let places = [Place { at: self.program.processes, len: 8 }, Place { at: self.next_xid, len: 4 }];
        let refused = |source| MemoryError::Refused { pid: self.pid, source };
        read(self.pid, &places, &mut self.bytes).map_err(refused)?;
        if u64_at(&self.bytes, 0) != self.header {
            return Err(MemoryError::Unknown("the server has other shared memory than before".to_owned()));
        }
        self.next = u32_at(&self.bytes, 8);
        let place = Place { at: self.procs_at, len: self.procs.len() };
        read(self.pid, &[place], &mut self.procs).map_err(refused)?;
        self.find();
        self.backends.clear();
        let mut wanted = std::mem::take(&mut self.wanted);
        let mut again = std::mem::take(&mut self.again);
        for attempt in 1..=TRIES {
            again.clear();
            self.take(&wanted, (attempt < TRIES).then_some(&mut again))?;
            std::mem::swap(&mut wanted, &mut again);
            if wanted.is_empty() {
                break;
            }
        }
        (self.wanted, self.again) = (wanted, again);
        Ok(&self.backends)
    }

    /// Finds out which processes there are, and where the status of each is.
    fn find(&mut self) {
        self.wanted.clear();
        let Image { procs, slots, wanted, layout, program, .. } = self;
        for (place, (proc, slot)) in procs.chunks_exact(layout.proc_length).zip(slots).enumerate() {
            let pid = u32_at(proc, layout.proc_pid);
            if slot.pid != pid {
                *slot = Slot { pid, status: 0 };
            }
            if pid == 0 {
                continue;
            }
            if slot.status == 0 {
                // One that has just begun has none, and one that is gone is none.
                let mut pointer = [0; 8];
                if read(pid, &[Place { at: program.own_status, len: 8 }], &mut pointer).is_ok() {
                    slot.status = u64::from_ne_bytes(pointer);
                }
            }
            if slot.status != 0 {
                wanted.push(place);
            }
        }
    }

    /// Reads these; those that moved on meanwhile are put into `again`.
    fn take(&mut self, wanted: &[usize], mut again: Option<&mut Vec<usize>>) -> Result<(), MemoryError> {
        self.places.clear();
        for place in wanted {
            let word = self.procs_at + (place * self.layout.proc_length + proc::WAIT) as u64;
            let at = self.slots[*place].status;
            self.places.extend([
                Place { at: word, len: 4 },
                Place { at, len: status::LENGTH },
                Place { at: word, len: 4 },
                Place { at: at + status::CHANGES as u64, len: 4 },
            ]);
        }
        self.bytes.resize(wanted.len() * STEP, 0);
        read(self.pid, &self.places, &mut self.bytes)
            .map_err(|source| MemoryError::Refused { pid: self.pid, source })?;
        for (bytes, place) in self.bytes.chunks_exact(STEP).zip(wanted) {
            let of = &bytes[4..];
            let changes = u32_at(of, status::CHANGES);
            let is_still = u32_at(bytes, 0) == u32_at(bytes, AFTER)
                && changes == u32_at(bytes, AFTER + 4)
                && changes.is_multiple_of(2);
            if let Some(again) = again.as_mut().filter(|_| !is_still) {
                again.push(*place);
                continue;
            }
            let slot = &mut self.slots[*place];
            if u32_at(of, status::PID) != slot.pid {
                // It has ended, or has another place.
                slot.status = 0;
                continue;
            }
            let proc = &self.procs[place * self.layout.proc_length..][..self.layout.proc_length];
            let leader = u64_at(proc, self.layout.proc_length - proc::LEADER_FROM_END);
            let leader = leader.checked_sub(self.procs_at).map(|at| at as usize / self.layout.proc_length);
            let leader = leader.filter(|at| at != place).and_then(|at| self.slots.get(at)).map(|slot| slot.pid);
            let slot = self.slots[*place];
            self.backends.push(Backend {
                pid: slot.pid,
                word: u32_at(bytes, AFTER),
                xmin: u32_at(proc, proc::XMIN),
                leader: leader.filter(|pid| *pid != 0),
                status: slot.status,
                ..backend(of)
            });
        }
        Ok(())
    }

    /// The number that the next transaction gets.
    pub fn next_xid(&self) -> u32 {
        self.next
    }

    /// Gives the names of the applications of processes, one after the other, and keeps those processes that are wanted.
    ///
    /// # Errors
    /// When memory may not be read any more.
    pub fn applications(
        &mut self,
        of: &mut Vec<Backend>,
        is_wanted: &mut dyn FnMut(&Backend, &str) -> bool,
    ) -> Result<(), MemoryError> {
        self.places.clear();
        self.places.extend(of.iter().map(|backend| Place { at: backend.application, len: APPLICATION_LENGTH }));
        self.bytes.resize(of.len() * APPLICATION_LENGTH, 0);
        read(self.pid, &self.places, &mut self.bytes)
            .map_err(|source| MemoryError::Refused { pid: self.pid, source })?;
        let mut names = self.bytes.chunks_exact(APPLICATION_LENGTH);
        of.retain(|backend| {
            let name = std::str::from_utf8(ended(names.next().unwrap_or_default())).unwrap_or_default();
            is_wanted(backend, name)
        });
        Ok(())
    }

    /// The text of a process's statement, `most` bytes at most, as the server has it; None when it has another one by now.
    pub fn text(&mut self, of: &Backend, most: usize) -> Option<&[u8]> {
        let length = self.text_length.min(most);
        self.bytes.resize(length + 8, 0);
        // The count of changes and the process's number stand side by side.
        let places = [Place { at: of.text, len: length }, Place { at: of.status + status::CHANGES as u64, len: 8 }];
        read(self.pid, &places, &mut self.bytes).ok()?;
        let is_same = u32_at(&self.bytes, length) == of.changes && u32_at(&self.bytes, length + 4) == of.pid;
        let text = ended(&self.bytes[..length]);
        (is_same && !text.is_empty()).then_some(text)
    }
}

/// The bytes before the first NUL; all of them without one.
fn ended(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len())]
}

/// The process that a status describes.
fn backend(of: &[u8]) -> Backend {
    let time = |at| u64_at(of, at).cast_signed();
    Backend {
        kind: u32_at(of, status::KIND),
        state: u32_at(of, status::STATE),
        since: [status::BEGUN, status::TRANSACTION, status::STATEMENT, status::CHANGED].map(time),
        database: u32_at(of, status::DATABASE),
        user: u32_at(of, status::USER),
        client: address(&of[status::CLIENT..]),
        query_id: u64_at(of, status::QUERY_ID).cast_signed(),
        changes: u32_at(of, status::CHANGES),
        application: u64_at(of, status::APPLICATION),
        text: u64_at(of, status::TEXT),
        ..Backend::default()
    }
}

/// An address as sockets have it.
fn address(bytes: &[u8]) -> Option<IpAddr> {
    let family = i32::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
    if family == i32::from(rustix::net::AddressFamily::INET.as_raw()) {
        let bytes: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
        Some(Ipv4Addr::from(bytes).into())
    } else if family == i32::from(rustix::net::AddressFamily::INET6.as_raw()) {
        let bytes: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
        Some(Ipv6Addr::from(bytes).into())
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_sockets_are_those_of_clients() {
        let mut bytes = [0_u8; 128];
        assert_eq!(address(&bytes), None);
        bytes[..8].copy_from_slice(&[2, 0, 0x15, 0x38, 127, 0, 0, 1]);
        assert_eq!(address(&bytes), Some(Ipv4Addr::LOCALHOST.into()));
        bytes[..2].copy_from_slice(&10_u16.to_ne_bytes());
        bytes[4..24].fill(0);
        bytes[23] = 1;
        assert_eq!(address(&bytes), Some(Ipv6Addr::LOCALHOST.into()));
        bytes[..2].copy_from_slice(&1_u16.to_ne_bytes());
        assert_eq!(address(&bytes), None, "a socket of the file system");
    }
}
