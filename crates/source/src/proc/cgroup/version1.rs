//! Files of a group of version 1: each controller has its own hierarchy, and times are nanoseconds.

use super::{
    files::{File, Shared},
    group::{C, Gauges, pairs, task_limit_hits},
};
use crate::proc::scan::{lines, number, words};

/// The controllers that are read, in the order of [`Tops`].
pub const CONTROLLERS: [&str; 5] = ["cpu", "cpuacct", "memory", "blkio", "pids"];

/// Where each of [`CONTROLLERS`] is mounted, without a slash at the end; None where it is not.
pub type Tops = [Option<String>; CONTROLLERS.len()];

/// Limits of memory from here on are none: the kernel shows the largest number of whole pages.
const NO_LIMIT: u64 = 1 << 60;

/// Open files of a cgroup (version 1).
pub struct Files {
    cpu: File,
    quota: File,
    period: File,
    usage: File,
    user: File,
    system: File,
    memory: File,
    memory_limit: File,
    memory_stat: File,
    kernel: File,
    limit_hits: File,
    oom: File,
    bytes: File,
    requests: File,
    tasks: File,
    task_limit: File,
    task_events: File,
}

impl Files {
    /// Opens the files of the group `path`, wherever it is.
    pub fn new(tops: &Tops, path: &str, shared: &mut Shared) -> Files {
        let mut file = |controller: usize, name: &str| match &tops[controller] {
            Some(top) => File::new(&format!("{top}{}", path.trim_end_matches('/')), name, shared),
            None => File::Missing,
        };
        Files {
            cpu: file(0, "cpu.stat"),
            quota: file(0, "cpu.cfs_quota_us"),
            period: file(0, "cpu.cfs_period_us"),
            usage: file(1, "cpuacct.usage"),
            user: file(1, "cpuacct.usage_user"),
            system: file(1, "cpuacct.usage_sys"),
            memory: file(2, "memory.usage_in_bytes"),
            memory_limit: file(2, "memory.limit_in_bytes"),
            memory_stat: file(2, "memory.stat"),
            kernel: file(2, "memory.kmem.usage_in_bytes"),
            limit_hits: file(2, "memory.failcnt"),
            oom: file(2, "memory.oom_control"),
            bytes: file(3, "blkio.throttle.io_service_bytes_recursive"),
            requests: file(3, "blkio.throttle.io_serviced_recursive"),
            tasks: file(4, "pids.current"),
            task_limit: file(4, "pids.max"),
            task_events: file(4, "pids.events"),
        }
    }

    /// Closes them.
    pub fn close(self, shared: &mut Shared) {
        let Files { cpu, quota, period, usage, user, system, memory, memory_limit, .. } = self;
        let Files { memory_stat, kernel, limit_hits, oom, bytes, requests, tasks, task_limit, task_events, .. } = self;
        let all = [cpu, quota, period, usage, user, system, memory, memory_limit];
        let rest = [memory_stat, kernel, limit_hits, oom, bytes, requests, tasks, task_limit, task_events];
        all.into_iter().chain(rest).for_each(|file| file.close(shared));
    }

    /// Returns true if it is known what the group reads and writes.
    pub fn counts_io(&self) -> bool {
        !matches!(self.bytes, File::Missing)
    }

    /// Counters of CPU time; false when the group is gone.
    pub fn read_cpu(&self, shared: &mut Shared, mut step: impl FnMut(C, u64)) -> bool {
        let mut is_there = true;
        let mut one = |file: &File, shared: &mut Shared| {
            let value = file.read(shared).map(|text| number(text.trim_ascii()));
            is_there &= value.is_some() || matches!(file, File::Missing);
            value.flatten()
        };
        for (file, counter) in [(&self.usage, C::Usage), (&self.user, C::User), (&self.system, C::System)] {
            if let Some(ns) = one(file, shared) {
                step(counter, ns / 1000);
            }
        }
        match self.cpu.read(shared) {
            Some(text) => {
                for (key, value) in pairs(text) {
                    match key {
                        b"nr_periods" => step(C::Periods, value),
                        b"nr_throttled" => step(C::Throttled, value),
                        b"throttled_time" => step(C::ThrottledTime, value / 1000),
                        _ => {}
                    }
                }
            }
            None => is_there &= matches!(self.cpu, File::Missing),
        }
        is_there
    }

    /// Adds up I/O over devices, as in version 2: `8:0 Read 4096`.
    pub fn read_io(&self, shared: &mut Shared, mut step: impl FnMut(C, u64)) {
        for (file, read, write) in [(&self.bytes, C::ReadBytes, C::WriteBytes), (&self.requests, C::Reads, C::Writes)] {
            let Some(n) = file.read(shared).map(<[u8]>::len) else { continue };
            let text = shared.take_buffer();
            let mut sums = [0_u64; 2];
            for line in lines(&text[..n]) {
                let mut words = words(line);
                let (Some(device), Some(kind), Some(value)) = (words.next(), words.next(), words.next()) else {
                    continue;
                };
                let place = match kind {
                    b"Read" => 0,
                    b"Write" => 1,
                    _ => continue,
                };
                if !shared.is_stacked(device) {
                    sums[place] += number(value).unwrap_or(0);
                }
            }
            shared.return_buffer(text);
            step(read, sums[0]);
            step(write, sums[1]);
        }
    }

    /// Reads the files that only a busy cgroup needs.
    pub fn read_rest(&self, shared: &mut Shared, mut step: impl FnMut(C, u64)) -> Gauges {
        let one = |file: &File, shared: &mut Shared| number(file.read(shared)?.trim_ascii());
        let period = one(&self.period, shared).filter(|period| *period > 0);
        // No quota is -1, which is no number here.
        let quota = one(&self.quota, shared);
        let mut gauges = Gauges {
            cpu_limit: quota.zip(period).map(|(quota, period)| quota as f64 / period as f64 * 100.0),
            memory: one(&self.memory, shared).map(|n| n as f64),
            memory_limit: one(&self.memory_limit, shared).filter(|n| *n < NO_LIMIT).map(|n| n as f64),
            kernel: one(&self.kernel, shared).map(|n| n as f64),
            tasks: one(&self.tasks, shared).map(|n| n as f64),
            task_limit: one(&self.task_limit, shared).map(|n| n as f64),
            ..Gauges::default()
        };
        if let Some(hits) = one(&self.limit_hits, shared) {
            step(C::LimitHits, hits);
        }
        if let Some(text) = self.memory_stat.read(shared) {
            for (key, value) in pairs(text) {
                match key {
                    b"total_rss" => gauges.anon = Some(value as f64),
                    b"total_cache" => gauges.file = Some(value as f64),
                    b"total_swap" => gauges.swap = Some(value as f64),
                    b"total_pgmajfault" => step(C::MajorFaults, value),
                    _ => {}
                }
            }
        }
        if let Some(hits) = task_limit_hits(&self.task_events, shared) {
            step(C::TaskLimitHits, hits);
        }
        if let Some((_, kills)) =
            self.oom.read(shared).and_then(|text| pairs(text).find(|(key, _)| *key == b"oom_kill"))
        {
            step(C::OomKills, kills);
        }
        gauges
    }
}
