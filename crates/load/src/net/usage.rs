//! Resource use of an end: time of its threads, CPUs of its host, packets of the interface to the other end.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicI32, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use fenxi_procfs::{Root, cpu_ticks::CpuTicks, scan, schedstat};
use fenxi_sys::{ethtool::Ethtool, interface};
use rustix::event::{Timespec, epoll};
use serde::{Deserialize, Serialize};

/// The place of `softirq` in a line of /proc/stat.
const SOFTIRQ: usize = 6;

/// Id and idle time of a thread, which it shows while it runs.
#[derive(Debug, Default)]
pub(super) struct Seat {
    tid: AtomicI32,
    /// Time for which it waited for something to happen.
    idle_ns: AtomicU64,
}

impl Seat {
    /// So many, for threads that are to begin.
    pub fn some(n: usize) -> Arc<[Seat]> {
        (0..n).map(|_| Seat::default()).collect()
    }

    /// The calling thread is this one.
    pub fn take(&self) {
        self.tid.store(rustix::thread::gettid().as_raw_nonzero().get(), Ordering::Relaxed);
    }

    /// Waits for events of `epoll`, which replace those before.
    pub fn wait(&self, epoll: &impl std::os::fd::AsFd, events: &mut Vec<epoll::Event>, timeout: Duration) {
        let began = Instant::now();
        events.clear();
        let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) };
        // An error is a signal; the caller looks again.
        let _ = epoll::wait(epoll, rustix::buffer::spare_capacity(events), Some(&timeout));
        self.idle_ns.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }
}

/// An interface's name, speed and counters.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Packets {
    interface: String,
    speed_mbps: Option<f64>,
    /// Bytes and packets received, bytes and packets sent.
    counters: [u64; 4],
}

/// Nanoseconds waited for messages; of CPU time, and of waiting for a CPU, where the kernel counts them.
type Thread = (u64, Option<(u64, u64)>);

/// Resource use of an end up to a moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Snapshot {
    at_ns: u64,
    threads: Vec<Thread>,
    /// Ticks of all CPUs, then of each: used, in soft interrupts, all.
    cpus: Vec<[u64; 3]>,
    packets: Option<Packets>,
    /// The same for all namespaces and containers of a host.
    boot: Option<String>,
}

impl Snapshot {
    /// Whether both are of one host.
    pub fn shares_host(&self, other: &Snapshot) -> bool {
        self.boot.is_some() && self.boot == other.boot
    }

    /// Of threads of this process, and of the interface that has the address `own` and leads to `peer`.
    pub fn take(seats: &[Seat], own: IpAddr, peer: IpAddr) -> Snapshot {
        let root = Root::live();
        let thread = |seat: &Seat| {
            let tid = seat.tid.load(Ordering::Relaxed);
            let text = root.read_text(&format!("/proc/self/task/{tid}/schedstat"));
            let times = text.and_then(|text| schedstat::times(&text));
            (seat.idle_ns.load(Ordering::Relaxed), times.map(|[ran, waited, _]| (ran, waited)))
        };
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        Snapshot {
            at_ns: now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64,
            threads: seats.iter().map(thread).collect(),
            cpus: cpus(&root),
            packets: packets(&root, own, peer),
            boot: root.read_text("/proc/sys/kernel/random/boot_id"),
        }
    }
}

fn cpus(root: &Root) -> Vec<[u64; 3]> {
    let Ok(mut file) = root.open("/proc/stat") else { return Vec::new() };
    let Ok(text) = file.read() else { return Vec::new() };
    let lines = scan::lines(text).take_while(|line| line.starts_with(b"cpu"));
    lines.filter_map(CpuTicks::parse).map(|ticks| [ticks.busy(), ticks.of[SOFTIRQ], ticks.total()]).collect()
}

fn packets(root: &Root, own: IpAddr, peer: IpAddr) -> Option<Packets> {
    // Packets to an address of this host go through loopback.
    let interface = if own == peer { "lo".to_owned() } else { interface::of_address(own).ok().flatten()? };
    let mut file = root.open("/proc/thread-self/net/dev").ok()?;
    let line = scan::lines(file.read().ok()?).find_map(|line| {
        let line = std::str::from_utf8(line).ok()?;
        let (name, counters) = line.rsplit_once(':')?;
        (name.trim() == interface).then(|| counters.to_owned())
    })?;
    let numbers: Vec<u64> = line.split_ascii_whitespace().filter_map(|n| n.parse().ok()).collect();
    // Those of tun, veth and loopback are constants, whatever these can do.
    let driver = Ethtool::open(&interface).and_then(|of| of.driver()).unwrap_or_default();
    let is_real = interface != "lo" && !matches!(driver.as_str(), "veth" | "tun");
    let speed = root.read_text(&format!("/sys/class/net/{interface}/speed")).filter(|_| is_real);
    let speed_mbps = speed.and_then(|text| text.trim().parse::<f64>().ok()).filter(|mbps| *mbps > 0.0);
    let at = |place: usize| numbers.get(place).copied();
    Some(Packets { speed_mbps, counters: [at(0)?, at(1)?, at(8)?, at(9)?], interface })
}

/// Resource use of an end over a time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Used {
    /// Threads, and CPUs of the host.
    pub threads: usize,
    /// As `threads`.
    pub host_cpus: usize,
    /// Share of the threads' time, 0 to 1, in which they did not wait for messages: they ran, waited for a CPU or were held up.
    pub busy: f64,
    /// CPU time of the threads, in CPUs; None where the kernel does not count it.
    pub cpus: Option<f64>,
    /// Share of the CPU time of the host that was used, by whatever.
    pub host_busy: Option<f64>,
    /// The largest share of one CPU that was used, if most of that was in soft interrupts: packets are received there.
    pub softirq: Option<f64>,
    /// The interface, and its speed where the driver knows it.
    pub interface: Option<String>,
    /// As `interface`.
    pub speed_mbps: Option<f64>,
    /// Bytes and packets received, bytes and packets sent, per second.
    pub per_s: Option<[f64; 4]>,
}

impl Used {
    /// Between two moments; None if no time has passed.
    pub(super) fn between(before: &Snapshot, after: &Snapshot) -> Option<Used> {
        let ns = after.at_ns.checked_sub(before.at_ns).filter(|ns| *ns > 0)? as f64;
        let threads = before.threads.iter().zip(&after.threads);
        let times = |(was, is): (&Thread, &Thread)| {
            let awake = 1.0 - is.0.saturating_sub(was.0) as f64 / ns;
            let used = was.1.zip(is.1).map(|(was, is)| (is.0.saturating_sub(was.0), is.1.saturating_sub(was.1)));
            // Woken by a message, a thread may wait for a CPU within its wait for messages.
            let wanted = used.map_or(0.0, |(cpu, queued)| (cpu + queued) as f64 / ns);
            (awake.max(wanted).clamp(0.0, 1.0), used.map(|(cpu, _)| cpu as f64 / ns))
        };
        let times: Vec<(f64, Option<f64>)> = threads.map(times).collect();
        let share = |(was, is): (&[u64; 3], &[u64; 3]), of: usize| {
            let all = is[2].saturating_sub(was[2]);
            (all > 0).then(|| is[of].saturating_sub(was[of]) as f64 / all as f64)
        };
        let softirq = before.cpus.iter().zip(&after.cpus).skip(1).filter_map(|cpu| {
            let (busy, soft) = (share(cpu, 0)?, share(cpu, 1)?);
            (soft > 0.5 * busy).then_some(busy)
        });
        let packets = before.packets.as_ref().zip(after.packets.as_ref());
        let per_s = packets.map(|(was, is)| {
            std::array::from_fn(|i| is.counters[i].saturating_sub(was.counters[i]) as f64 / (ns / 1e9))
        });
        Some(Used {
            threads: times.len(),
            host_cpus: after.cpus.len().saturating_sub(1),
            busy: times.iter().map(|(busy, _)| busy).sum::<f64>() / times.len().max(1) as f64,
            cpus: times.iter().map(|(_, cpu)| *cpu).sum(),
            host_busy: before.cpus.first().zip(after.cpus.first()).and_then(|all| share(all, 0)),
            softirq: softirq.reduce(f64::max),
            interface: after.packets.as_ref().map(|packets| packets.interface.clone()),
            speed_mbps: after.packets.as_ref().and_then(|packets| packets.speed_mbps),
            per_s,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_is_a_difference() {
        let packets = |counters| Some(Packets { interface: "eth0".to_owned(), speed_mbps: Some(1000.0), counters });
        let before = Snapshot {
            at_ns: 1_000_000_000,
            threads: vec![(0, Some((0, 0))), (500, None)],
            cpus: vec![[10, 0, 100], [10, 0, 50], [0, 0, 50]],
            packets: packets([0, 0, 7, 1]),
            boot: Some("a".to_owned()),
        };
        let after = Snapshot {
            at_ns: 3_000_000_000,
            threads: vec![(1_500_000_000, Some((400_000_000, 1_400_000_000))), (1_000_000_500, None)],
            cpus: vec![[110, 60, 300], [20, 0, 150], [90, 60, 150]],
            packets: packets([2000, 20, 7, 1]),
            boot: None,
        };
        let used = Used::between(&before, &after).unwrap();
        // The first one wanted a CPU for 1.8 of 2 s, although it was awake for 0.5 s only.
        assert!((used.busy - (0.9 + 0.5) / 2.0).abs() < 1e-9 && used.cpus.is_none(), "{used:?}");
        assert_eq!((used.host_busy, used.softirq, used.host_cpus), (Some(0.5), Some(0.9), 2));
        assert_eq!(used.per_s, Some([1000.0, 10.0, 0.0, 0.0]));
        assert_eq!(Used::between(&after, &after), None);
        assert!(before.shares_host(&before) && !before.shares_host(&after) && !after.shares_host(&after));
    }
}
