//! Resource usage of a server on this host: CPU time, run-queue latency, context switches, memory.
//!
//! Its process is the one that listens where the load connects; with all of its children it is the server, so that one
//! process with threads (MariaDB) and one process for each connection (PostgreSQL) are measured alike. What cannot be read
//! is None: another host, another user's processes, a kernel without `schedstat`.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use fenxi_procfs::{USER_HZ, schedstat, stat::Stat, status};
use fenxi_wire::{host::Listener, target::Endpoint};
use serde::Serialize;

use crate::engine::Interval;

/// A sample may take at most this share of the time since the last one: reading the threads of ten thousand connections
/// every second would be a load itself.
const SHARE_OF_TIME: u32 = 100;

/// The server's process, and those that come from it.
#[derive(Clone, Debug)]
pub struct Server(Listener);

/// CPU time and memory of a server while transactions were counted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Usage {
    /// Name of its process.
    pub name: String,
    /// Transactions that were completed meanwhile.
    pub transactions: u64,
    /// CPU time of its threads, in seconds; a hundredth is the unit of the kernel.
    pub cpu_s: f64,
    /// Time in which its threads were ready to run and had no processor, in seconds. Threads that ended meanwhile are not in it.
    pub wait_s: Option<f64>,
    /// How often a processor was given to one of its threads; as `wait_s`.
    pub switches: Option<u64>,
    /// Its own memory and what its processes share, in bytes, at the end.
    pub memory_bytes: Option<u64>,
    /// By how much that grew meanwhile.
    pub grown_bytes: Option<i64>,
}

impl Usage {
    /// An amount for each transaction; None when there was none.
    pub fn per_transaction(&self, amount: f64) -> Option<f64> {
        (self.transactions > 0).then(|| amount / self.transactions as f64)
    }
}

/// Running time, waiting time (both nanoseconds) and turns of a thread, by its number.
type Turns = BTreeMap<u32, (u64, u64)>;

/// A server at a moment.
#[derive(Clone, Debug, PartialEq)]
struct Sample {
    /// Clock ticks of all its processes, ended ones included.
    ticks: u64,
    /// Nanoseconds waited and turns of each thread; None when the kernel does not count them.
    turns: Option<Turns>,
    memory_bytes: Option<u64>,
}

/// Clock ticks of a process, those of children that it has waited for included.
fn ticks(stat: &Stat) -> u64 {
    stat.ticks() + stat.child_utime + stat.child_stime
}

impl Server {
    /// The process that listens at an endpoint; None when it is not on this host or may not be looked at.
    pub fn find(endpoint: &Endpoint) -> Option<Server> {
        Listener::find(endpoint).map(Server)
    }

    /// Its process's number.
    pub fn pid(&self) -> u32 {
        self.0.pid()
    }

    /// None when it has ended.
    fn sample(&self) -> Option<Sample> {
        let (family, processes) = (self.0.family(), self.0.processes());
        let root = processes.root();
        family.get(&self.0.pid())?;
        let mut turns = Some(Turns::new());
        let (mut own, mut shared) = (Some(0), 0);
        for pid in family.keys() {
            for tid in processes.tids(*pid) {
                // A thread may have ended since; a kernel that does not count has no such file for any.
                let thread = format!("/proc/{pid}/task/{tid}");
                match root.read_text(&format!("{thread}/schedstat")) {
                    Some(text) => {
                        let read = schedstat::times(&text).map(|[_, waited, turns]| (tid, (waited, turns)));
                        turns.iter_mut().for_each(|turns| turns.extend(read));
                    }
                    None if root.exists(&thread) => turns = None,
                    None => {}
                }
            }
            let Some(status) = root.read_text(&format!("/proc/{pid}/status")) else { continue };
            own = own.zip(status::bytes(&status, "RssAnon")).map(|(sum, bytes)| sum + bytes);
            // Every process of a server has the same memory of all of them.
            shared = shared.max(status::bytes(&status, "RssShmem").unwrap_or(0));
        }
        let turns = turns.filter(|turns| !turns.is_empty());
        Some(Sample { ticks: family.values().map(ticks).sum(), turns, memory_bytes: own.map(|own| own + shared) })
    }
}

fn usage(name: &str, transactions: u64, first: &Sample, last: &Sample) -> Usage {
    let sum = |of: fn(&(u64, u64)) -> u64| {
        let (before, after) = (first.turns.as_ref()?, last.turns.as_ref()?);
        let grown = after.iter().map(|(thread, turns)| {
            let then = before.get(thread).map_or(0, of);
            // A number may have come to another thread.
            of(turns).checked_sub(then).unwrap_or_else(|| of(turns))
        });
        Some(grown.sum::<u64>())
    };
    let memory = first.memory_bytes.zip(last.memory_bytes);
    Usage {
        name: name.to_owned(),
        transactions,
        cpu_s: last.ticks.saturating_sub(first.ticks) as f64 / USER_HZ as f64,
        wait_s: sum(|turns| turns.0).map(|ns| ns as f64 / 1e9),
        switches: sum(|turns| turns.1),
        memory_bytes: last.memory_bytes,
        grown_bytes: memory.map(|(first, last)| last as i64 - first as i64),
    }
}

/// Follows a server through a load. A server that was started anew has ended: what it used is known up to then.
#[derive(Debug)]
pub struct Meter {
    server: Option<Server>,
    /// Seconds after the beginning at which the last interval ends.
    end_s: f64,
    first: Option<Sample>,
    last: Option<(Sample, u64)>,
    transactions: u64,
    sampled: Instant,
    cost: Duration,
}

impl Meter {
    /// Of a server, until a load's last interval has ended, so many seconds after it began.
    pub fn new(server: Option<Server>, end_s: f64) -> Meter {
        let (sampled, cost) = (Instant::now(), Duration::ZERO);
        Meter { server, end_s, first: None, last: None, transactions: 0, sampled, cost }
    }

    /// The load begins.
    pub fn begin(&mut self) {
        self.first = self.sample();
    }

    /// An interval has ended.
    pub fn interval(&mut self, interval: &Interval) {
        if interval.warmup {
            return self.begin();
        }
        self.transactions += interval.tally.transactions;
        let is_last = interval.end_s >= self.end_s - 1e-6;
        if is_last || self.sampled.elapsed() > self.cost * SHARE_OF_TIME {
            let transactions = self.transactions;
            self.last = self.sample().map(|sample| (sample, transactions)).or(self.last.take());
        }
    }

    fn sample(&mut self) -> Option<Sample> {
        let began = Instant::now();
        let sample = self.server.as_ref()?.sample();
        (self.sampled, self.cost) = (Instant::now(), began.elapsed());
        sample
    }

    /// Use since the start.
    pub fn usage(&self) -> Option<Usage> {
        let (last, transactions) = self.last.as_ref()?;
        Some(usage(self.server.as_ref()?.0.name(), *transactions, self.first.as_ref()?, last))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use fenxi_procfs::Root;

    use fs_err as fs;

    use super::*;

    /// A process of a saved /proc.
    fn process(proc: &Path, pid: u32, parent: u32, ticks: [u64; 4], threads: &[(u32, u64, u64)], kb: [u64; 2]) {
        let folder = proc.join(pid.to_string());
        fs::create_dir_all(folder.join("fd")).unwrap();
        let [user, system, child_user, child_system] = ticks;
        let stat = format!(
            "{pid} (a (b) c) S {parent} 1 1 0 -1 0 9 9 9 9 {user} {system} {child_user} {child_system} 20 0 1 0 7 0 0"
        );
        fs::write(folder.join("stat"), stat).unwrap();
        fs::write(folder.join("status"), format!("Name:\ta\nRssAnon:\t{} kB\nRssShmem:\t{} kB\n", kb[0], kb[1]))
            .unwrap();
        for (thread, waited, turns) in threads {
            let task = folder.join(format!("task/{thread}"));
            fs::create_dir_all(&task).unwrap();
            fs::write(task.join("schedstat"), format!("5 {waited} {turns}\n")).unwrap();
        }
    }

    #[test]
    fn children_count_ended_ones_too_and_what_they_share_counts_once() {
        let folder = tempfile::tempdir().unwrap();
        let proc = &folder.path().join("proc");
        fs::create_dir_all(proc.join("net")).unwrap();
        let line = "   0: 0100007F:1538 00000000:0000 0A 00000000:00000000 00:00000000 00000000   101        0 777 1 0 100 0 0 10 0";
        fs::write(proc.join("net/tcp"), format!("  sl  local_address\n{line}\n")).unwrap();
        process(proc, 10, 1, [100, 50, 0, 0], &[(10, 0, 1)], [100, 10]);
        process(proc, 11, 10, [7, 3, 0, 0], &[(11, 1000, 5)], [50, 400]);
        process(proc, 12, 11, [1, 0, 0, 0], &[(12, 0, 0)], [1, 0]);
        process(proc, 99, 1, [1_000_000, 0, 0, 0], &[(99, 0, 0)], [9_999, 0]);
        for pid in [10, 11] {
            std::os::unix::fs::symlink("socket:[777]", proc.join(format!("{pid}/fd/3"))).unwrap();
        }
        let server =
            Listener::find_in(&Root::saved(folder.path()), &Endpoint::Tcp("127.0.0.1:5432".parse().unwrap())).unwrap();
        let server = Server(server);
        assert_eq!((server.0.pid(), server.0.name()), (10, "a (b) c"));
        let first = server.sample().unwrap();
        assert_eq!((first.ticks, first.memory_bytes), (161, Some((151 + 400) * 1024)));
        // The child has ended, after 90 ticks more, and another one has come.
        fs::remove_dir_all(proc.join("11")).unwrap();
        fs::remove_dir_all(proc.join("12")).unwrap();
        process(proc, 10, 1, [100, 50, 71, 30], &[(10, 2_000_000_000, 4)], [100, 10]);
        process(proc, 13, 10, [20, 0, 0, 0], &[(13, 500_000_000, 6)], [50, 400]);
        let used = usage("x", 10, &first, &server.sample().unwrap());
        let ticks = USER_HZ as f64;
        assert_eq!((used.cpu_s, used.wait_s, used.switches), (110.0 / ticks, Some(2.5), Some(9)));
        assert_eq!((used.memory_bytes, used.grown_bytes), (Some(550 * 1024), Some(-1024)));
        assert!((used.per_transaction(used.cpu_s).unwrap() - 11.0 / ticks).abs() < 1e-9);
        // A kernel that does not count turns.
        fs::remove_file(proc.join("13/task/13/schedstat")).unwrap();
        assert_eq!(server.sample().unwrap().turns, None);
        fs::remove_dir_all(proc.join("10")).unwrap();
        assert_eq!(server.sample(), None);
    }
}
