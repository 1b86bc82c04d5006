//! Events of a CPU by perf_event_open(2): a few that are counted together and read by one call, and a clock that BPF programs
//! hang on.
//!
//! Counting puts no program into the kernel and takes no samples. It needs CAP_PERFMON, or a `perf_event_paranoid` of 0
//! or less, because it counts what any process does. The interface is linux/perf_event.h.
#![allow(unsafe_code, reason = "there is no wrapper for this system call")]

use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

/// `PERF_TYPE_SOFTWARE`.
pub const SOFTWARE: u32 = 1;
/// `PERF_TYPE_TRACEPOINT`.
const TRACEPOINT: u32 = 2;
/// `PERF_COUNT_SW_CPU_CLOCK`.
const CPU_CLOCK: Event = Event { kind: SOFTWARE, config: 0 };
/// `PERF_COUNT_SW_CONTEXT_SWITCHES`.
pub const CONTEXT_SWITCHES: Event = Event { kind: SOFTWARE, config: 3 };
/// `PERF_COUNT_SW_CPU_MIGRATIONS`: counted on the CPU to which the thread came, when it first runs there.
pub const MIGRATIONS: Event = Event { kind: SOFTWARE, config: 4 };
/// `PERF_COUNT_SW_PAGE_FAULTS_MIN`.
pub const MINOR_FAULTS: Event = Event { kind: SOFTWARE, config: 5 };
/// `PERF_COUNT_SW_PAGE_FAULTS_MAJ`.
pub const MAJOR_FAULTS: Event = Event { kind: SOFTWARE, config: 6 };

/// `PERF_FORMAT_GROUP`: one read gives the values of the whole group.
const FORMAT_GROUP: u64 = 1 << 3;
/// `PERF_FLAG_FD_CLOEXEC`.
const CLOSE_ON_EXEC: libc::c_ulong = 8;

/// Most events of one group.
pub const MOST: usize = 8;

/// Event of perf_event_open: type and config.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The kind: [`SOFTWARE`], or the number in a `type` file of `/sys/bus/event_source/devices`.
    pub kind: u32,
    /// The event of that kind.
    pub config: u64,
}

/// The first fields of `struct perf_event_attr`, in its first version's size.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    config1: u64,
}

const SIZE: u32 = 64;
const _: () = assert!(size_of::<Attributes>() == SIZE as usize, "PERF_ATTR_SIZE_VER0");

impl Attributes {
    fn for_event(event: Event) -> Attributes {
        Attributes { kind: event.kind, size: SIZE, config: event.config, ..Attributes::default() }
    }
}

/// Events of one CPU, counted from when they were opened, whichever task runs there.
#[derive(Debug)]
pub struct Group {
    leader: OwnedFd,
    /// Open as long as the group: a closed one is no longer counted.
    _others: Vec<OwnedFd>,
    n: usize,
}

impl Group {
    /// Begins to count `events` on `cpu`.
    ///
    /// # Errors
    /// When the kernel refuses: without the right (EACCES or EPERM), without such an event (ENOENT, EINVAL), with too many
    /// files open (EMFILE), or because the CPU is offline (ENODEV).
    pub fn on_cpu(cpu: usize, events: &[Event]) -> io::Result<Group> {
        let Some((first, others)) = events.split_first().filter(|_| events.len() <= MOST) else {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        };
        let attributes = |event: &Event| Attributes { read_format: FORMAT_GROUP, ..Attributes::for_event(*event) };
        let leader = open(&attributes(first), cpu, None)?;
        let others =
            others.iter().map(|event| open(&attributes(event), cpu, Some(&leader))).collect::<io::Result<Vec<_>>>()?;
        Ok(Group { leader, _others: others, n: events.len() })
    }

    /// Reads the counters, in the order of the events.
    ///
    /// # Errors
    /// When the kernel gives no values, as of a CPU that went offline.
    pub fn read(&self) -> io::Result<[u64; MOST]> {
        let mut bytes = [0; (1 + MOST) * 8];
        // How many values follow, then the values.
        let expected = (1 + self.n) * 8;
        if rustix::io::read(&self.leader, &mut bytes[..expected])? < expected {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        let mut values = [0; MOST];
        for (value, eight) in values.iter_mut().zip(bytes[8..expected].as_chunks::<8>().0) {
            *value = u64::from_ne_bytes(*eight);
        }
        Ok(values)
    }
}

/// An event that comes every `period_ns` on `cpu`, whichever task runs there.
///
/// # Errors
/// When the kernel refuses, as a [`Group`].
pub fn clock(cpu: usize, period_ns: u64) -> io::Result<OwnedFd> {
    open(&Attributes { period: period_ns, ..Attributes::for_event(CPU_CLOCK) }, cpu, None)
}

/// The tracepoint of this number, whichever process passes it: for a BPF program that hangs on it.
///
/// # Errors
/// When the kernel refuses, as a [`Group`].
pub fn tracepoint(number: u64) -> io::Result<OwnedFd> {
    // A program sees the events of all CPUs, wherever the event is.
    open(&Attributes::for_event(Event { kind: TRACEPOINT, config: number }), 0, None)
}

fn open(attributes: &Attributes, cpu: usize, leader: Option<&OwnedFd>) -> io::Result<OwnedFd> {
    let any_process: libc::pid_t = -1;
    let cpu = libc::c_int::try_from(cpu).map_err(io::Error::other)?;
    let group: libc::c_int = leader.map_or(-1, AsRawFd::as_raw_fd);
    // SAFETY: the attributes are as large as in their `size`, and live during the call; the leader is open.
    let fd = unsafe {
        libc::syscall(libc::SYS_perf_event_open, std::ptr::from_ref(attributes), any_process, cpu, group, CLOSE_ON_EXEC)
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    let fd = i32::try_from(fd).map_err(io::Error::other)?;
    // SAFETY: the kernel just gave it to us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_event_and_too_many_are_refused_before_the_kernel_is_asked() {
        assert_eq!(Group::on_cpu(0, &[]).err().unwrap().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(Group::on_cpu(0, &[MIGRATIONS; MOST + 1]).err().unwrap().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error() {
        assert!(Group::on_cpu(1 << 15, &[MIGRATIONS]).is_err());
    }
}
