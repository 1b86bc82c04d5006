//! Resource usage of processes up to their exit, from the kernel's exit records (taskstats).
//!
//! A record is made while the process ends: what the process still does then (freeing its memory) and
//! what it did since the last clock tick are not in it. So the process's clock is read as well, at
//! once and every few milliseconds until it stops changing, as long as its parent has not waited for it;
//! the maximum is correct. Of a process that is waited for at once, what came after the last clock
//! tick can be missing.

use std::{
    io,
    os::fd::OwnedFd,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI32, Ordering},
    },
    thread::JoinHandle,
};

use fenxi_procfs::stat::printable;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use super::{
    clock,
    netlink::{Socket, attributes, generic, messages, u16_at, u32_at, u64_at},
};
use crate::Root;

/// `TASKSTATS_CMD_GET` and the attribute that asks for the records of a list of CPUs.
const GET: u8 = 1;
const REGISTER_CPUMASK: u16 = 3;
/// Attributes of a record: of a thread, of a whole process, and within each the figures.
const AGGREGATE_PID: u16 = 4;
const AGGREGATE_TGID: u16 = 5;
const STATS: u16 = 3;
/// Since this version (Linux 5.19) a record distinguishes a thread's end from a process's.
const MIN_VERSION: u16 = 12;
/// Flag of the record of a process's last thread.
const LAST_OF_GROUP: u8 = 0x20;
/// Room for the records that wait: some ten thousand.
const ROOM: usize = 8 << 20;
/// A record may lack what was done since the last tick of the kernel, at most 10 ms.
const LONGEST_TICK_NS: u64 = 10_000_000;

/// A clock that did not move in so many looks, more than a tick together, stands still.
const LOOKS: u8 = 8;
const BETWEEN_LOOKS: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_500_000 };

/// A process that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    pub pid: u32,
    pub ppid: u32,
    pub uid: u32,
    pub comm: Box<str>,
    /// CPU time of its life, all threads.
    pub cpu_ns: u64,
    /// Its time runnable without a CPU.
    pub wait_ns: u64,
    /// Its time waiting for block I/O; 0 where the kernel keeps no account of delays.
    pub block_ns: u64,
    /// CPU time in user code and in the kernel as ticks saw it, microseconds: for the proportion only.
    pub usr_us: u64,
    pub sys_us: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    /// Seconds that it lived.
    pub lived_s: f64,
    /// How often its clock is looked at yet.
    looks: u8,
}

/// The records of processes that end from now on.
pub struct Exits {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// The number of the thread's CPU clock, once it runs.
    clock: Arc<AtomicI32>,
}

struct Shared {
    inbox: Mutex<Inbox>,
    stop: OwnedFd,
}

struct Inbox {
    socket: Socket,
    buffer: Vec<u8>,
    ended: Vec<Ended>,
    /// How many of them, from the first on, are looked at no more.
    settled: usize,
    lost: bool,
    /// The version of the records, when it is too old to be of use.
    old: Option<u16>,
}

impl Exits {
    /// Asks the kernel for the records of all CPUs of `root`, which is the live system.
    ///
    /// # Errors
    /// When the kernel makes no records, or does not give them to this user or in this container.
    pub fn begin(root: &Root) -> io::Result<Exits> {
        let socket = Socket::open(ROOM)?;
        let family = socket.family("TASKSTATS")?;
        let cpus = root.read_text("/sys/devices/system/cpu/possible").unwrap_or_else(|| "0".to_owned());
        socket.ask(family, GET, REGISTER_CPUMASK, &[cpus.as_bytes(), b"\0"].concat())?;
        let inbox = Inbox { socket, buffer: vec![0; 16 * 1024], ended: Vec::new(), settled: 0, lost: false, old: None };
        let shared = Arc::new(Shared { inbox: Mutex::new(inbox), stop: eventfd(0, EventfdFlags::CLOEXEC)? });
        let (theirs, clock) = (Arc::clone(&shared), Arc::new(AtomicI32::new(0)));
        let its = Arc::clone(&clock);
        let run = move || {
            its.store(clock::of_this_thread(), Ordering::Relaxed);
            listen(&theirs);
        };
        let thread = std::thread::Builder::new().name("exits".to_owned()).spawn(run)?;
        Ok(Exits { shared, thread: Some(thread), clock })
    }

    /// CPU seconds that taking the records has used so far.
    pub fn cpu_s(&self) -> f64 {
        match self.clock.load(Ordering::Relaxed) {
            0 => 0.0,
            clock => fenxi_sys::clock::ns(clock).unwrap_or(0) as f64 / 1e9,
        }
    }

    /// Everything that ended until now goes to `ended`; gives the note about losses.
    pub fn drain(&mut self, ended: &mut Vec<Ended>) -> Option<String> {
        let mut inbox = self.shared.lock();
        inbox.receive();
        inbox.look_again();
        inbox.settled = 0;
        ended.append(&mut inbox.ended);
        if std::mem::take(&mut inbox.lost) {
            return Some("exit records were lost: more processes ended than could be taken".to_owned());
        }
        let version = inbox.old?;
        Some(format!(
            "exit records of version {version} do not distinguish threads from processes: Linux 5.19 or newer does"
        ))
    }
}

impl Drop for Exits {
    fn drop(&mut self) {
        let reported = rustix::io::write(&self.shared.stop, &1_u64.to_ne_bytes());
        if let (Ok(_), Some(thread)) = (reported, self.thread.take()) {
            // It has nothing to say.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inbox> {
        // No holder panics; if so, records are whole all the same.
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes records as they come until it is asked to stop.
fn listen(shared: &Shared) {
    let Ok(socket) = shared.lock().socket.fd.try_clone() else { return };
    let mut unsettled = false;
    loop {
        let mut both = [PollFd::new(&shared.stop, PollFlags::IN), PollFd::new(&socket, PollFlags::IN)];
        let polled = poll(&mut both, unsettled.then_some(&BETWEEN_LOOKS));
        if !both[0].revents().is_empty() || polled.is_err_and(|e| e != rustix::io::Errno::INTR) {
            return;
        }
        shared.lock().receive();
        // Ends come in crowds: the next look is for all of them.
        let mut stop = [PollFd::new(&shared.stop, PollFlags::IN)];
        let _ = poll(&mut stop, Some(&BETWEEN_LOOKS));
        unsettled = shared.lock().look_again();
    }
}

impl Inbox {
    fn receive(&mut self) {
        loop {
            let n = match self.socket.receive(&mut self.buffer) {
                Ok(Some(n)) => n,
                Ok(None) => return,
                Err(_) if self.lost => return,
                Err(_) => {
                    self.lost = true;
                    continue;
                }
            };
            for (_, payload) in messages(&self.buffer[..n]) {
                match parse(payload) {
                    Ok(Some(mut ended)) => {
                        ended.look();
                        self.ended.push(ended);
                    }
                    Ok(None) => {}
                    Err(Old(version)) => self.old = Some(version),
                }
            }
        }
    }

    /// Looks at all that may still have something to do; whether there are any left.
    fn look_again(&mut self) -> bool {
        let settled = self.ended[self.settled..].iter().take_while(|e| e.looks == 0).count();
        self.settled += settled;
        let rest = &mut self.ended[self.settled..];
        rest.iter_mut().filter(|e| e.looks > 0).for_each(Ended::look);
        rest.iter().any(|e| e.looks > 0)
    }
}

impl Ended {
    /// Reads its clock, which stands still and is exact once it ran to its very end.
    fn look(&mut self) {
        self.looks = match clock::cpu_ns(self.pid) {
            None => 0,
            Some(now) if now > self.cpu_ns => {
                self.cpu_ns = now;
                LOOKS
            }
            Some(_) => self.looks - 1,
        };
    }
}

/// A record of a version that cannot be used.
#[derive(Debug, PartialEq)]
struct Old(u16);

/// The process whose end a message reports; None when only a thread of it ended.
fn parse(payload: &[u8]) -> Result<Option<Ended>, Old> {
    let (mut last, mut group) = (None, None);
    for (kind, value) in generic(payload) {
        let stats = || attributes(value).find(|(kind, _)| *kind == STATS).map(|(_, stats)| stats);
        match kind {
            AGGREGATE_PID => last = stats(),
            AGGREGATE_TGID => group = stats(),
            _ => {}
        }
    }
    let Some(stats) = last else { return Ok(None) };
    let version = u16_at(stats, 0).unwrap_or(0);
    if version < MIN_VERSION {
        return Err(Old(version));
    }
    Ok(ended(stats, group))
}

/// Reads `struct taskstats` of a process's last thread, and of the whole process if it had several.
fn ended(stats: &[u8], group: Option<&[u8]>) -> Option<Ended> {
    if stats.get(8)? & LAST_OF_GROUP == 0 {
        return None;
    }
    let life = |at| u64_at(group.unwrap_or(stats), at);
    let name = stats.get(80..112)?;
    let name = &name[..name.iter().position(|b| *b == 0).unwrap_or(name.len())];
    let (wait_ns, block_ns, mut cpu_ns) = (life(24)?, life(40)?, life(72)?);
    let lived_us = u64_at(stats, 144)?;
    if group.is_none() && u64_at(stats, 272)? == 0 {
        // It never slept: it ran or waited for a CPU all its life, to this moment.
        let ran = (lived_us * 1000).saturating_sub(wait_ns);
        if ran.saturating_sub(cpu_ns) < LONGEST_TICK_NS {
            cpu_ns = cpu_ns.max(ran);
        }
    }
    Some(Ended {
        pid: u32_at(stats, 368)?,
        ppid: u32_at(stats, 132)?,
        uid: u32_at(stats, 120)?,
        comm: printable(name).into(),
        cpu_ns,
        wait_ns,
        block_ns,
        usr_us: u64_at(stats, 152)?,
        sys_us: u64_at(stats, 160)?,
        minor_faults: u64_at(stats, 168)?,
        major_faults: u64_at(stats, 176)?,
        lived_s: lived_us as f64 / 1e6,
        looks: LOOKS,
    })
}

#[cfg(test)]
mod tests {
    use super::{Old, parse};

    fn stats(version: u16, flag: u8, run_ns: u64) -> Vec<u8> {
        let mut s = vec![0_u8; 400];
        let mut put = |at: usize, bytes: &[u8]| s[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &version.to_ne_bytes());
        put(8, &[flag]);
        put(24, &3_000_u64.to_ne_bytes());
        put(40, &700_u64.to_ne_bytes());
        put(72, &run_ns.to_ne_bytes());
        put(80, b"cc\n1");
        put(120, &1000_u32.to_ne_bytes());
        put(132, &7_u32.to_ne_bytes());
        put(144, &20_000_u64.to_ne_bytes());
        put(152, &8_000_u64.to_ne_bytes());
        put(272, &1_u64.to_ne_bytes());
        put(368, &42_u32.to_ne_bytes());
        s
    }

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        [&(4 + value.len() as u16).to_ne_bytes()[..], &kind.to_ne_bytes(), value].concat()
    }

    fn message(parts: &[(u16, Vec<u8>)]) -> Vec<u8> {
        let mut message = vec![2, 1, 0, 0];
        for (kind, stats) in parts {
            message.extend(attribute(*kind, &[attribute(1, &[9; 4]), attribute(3, stats)].concat()));
        }
        message
    }

    #[test]
    fn the_last_thread_tells_the_end_of_its_process() {
        assert_eq!(parse(&message(&[(4, stats(14, 0, 5))])), Ok(None));
        assert_eq!(parse(&message(&[(4, stats(11, 0x20, 5))])), Err(Old(11)));
        let one = parse(&message(&[(4, stats(14, 0x20, 5))])).unwrap().unwrap();
        assert_eq!((one.pid, one.ppid, one.uid, &*one.comm, one.cpu_ns, one.wait_ns), (42, 7, 1000, "cc?1", 5, 3_000));
        assert_eq!((one.usr_us, one.sys_us, one.lived_s, one.block_ns), (8_000, 0, 0.02, 700));
        let all = parse(&message(&[(4, stats(14, 0x20, 5)), (5, stats(14, 0, 900))])).unwrap().unwrap();
        assert_eq!((all.pid, all.cpu_ns), (42, 900));
    }

    #[test]
    fn who_never_slept_ran_or_waited() {
        let mut never_slept = stats(14, 0x20, 17_000_000);
        never_slept[272] = 0;
        let ended = parse(&message(&[(4, never_slept)])).unwrap().unwrap();
        assert_eq!(ended.cpu_ns, 20_000_000 - 3_000);
    }
}
