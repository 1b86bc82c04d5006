//! One control group.

use std::sync::Arc;

use fenxi_model::{
    Row, Rows,
    catalog::cgroup::{self, TABLE},
};
use fenxi_procfs::containers::Container;

use super::{
    files::{File, Shared},
    version1, version2,
};
use crate::{
    Counter, Step, Tick, Width,
    proc::scan::{lines, number},
};

/// Counters of a group, by place in [`Group::counters`].
#[derive(Clone, Copy, Debug)]
pub enum C {
    Usage,
    User,
    System,
    Periods,
    Throttled,
    ThrottledTime,
    MajorFaults,
    LimitHits,
    HighHits,
    TaskLimitHits,
    OomKills,
    ReadBytes,
    WriteBytes,
    Reads,
    Writes,
    CpuSome,
    CpuFull,
    MemorySome,
    MemoryFull,
    IoSome,
    IoFull,
}

const N_COUNTERS: usize = C::IoFull as usize + 1;

/// Growth of counters in the interval; None where unknown.
type Growth = [Option<f64>; N_COUNTERS];

/// A group and what is kept of it between samples.
pub struct Group {
    /// Path below the root of the hierarchy; `/` is the root.
    pub path: Box<str>,
    /// Container that it belongs to.
    pub container: Option<Arc<Container>>,
    files: Files,
    counts: Counts,
    /// Seconds since everything was read.
    since_s: f64,
    /// Whether the counters that are read only of busy groups were read once.
    begun: bool,
}

/// Its files, by the version of control groups.
pub enum Files {
    /// Of version 1.
    One(Box<version1::Files>),
    /// Of version 2.
    Two(Box<version2::Files>),
}

/// Its counters, and what they grew by since the last sample.
#[derive(Default)]
struct Counts {
    counters: [Counter; N_COUNTERS],
    growth: Growth,
    reset: bool,
}

impl Counts {
    fn step(&mut self, c: C, now: u64) {
        match self.counters[c as usize].step(now, Width::Bits64) {
            Step::First => {}
            Step::By(n) => self.growth[c as usize] = Some(n as f64),
            Step::Reset => self.reset = true,
        }
    }
}

/// The same function of the files of either version.
macro_rules! files {
    ($files:expr, $name:ident $(, $argument:expr)*) => {
        match $files {
            Files::One(files) => files.$name($($argument),*),
            Files::Two(files) => files.$name($($argument),*),
        }
    };
}

impl Group {
    /// A group with its files.
    pub fn new(path: &str, container: Option<Arc<Container>>, files: Files) -> Group {
        Group { path: path.into(), container, files, counts: Counts::default(), since_s: 0.0, begun: false }
    }

    /// Closes its files.
    pub fn close(self, shared: &mut Shared) {
        files!(self.files, close, shared);
    }

    /// Reads the group and adds its row if it did something; false when it is gone.
    pub fn sample(&mut self, shared: &mut Shared, tick: Tick, rows: &mut Rows) -> bool {
        let Group { files, counts, .. } = self;
        (counts.growth, counts.reset) = ([None; N_COUNTERS], false);
        self.since_s += tick.dt.unwrap_or(0.0);
        if !files!(files, read_cpu, shared, |c, now| counts.step(c, now)) {
            return false;
        }
        files!(files, read_io, shared, |c, now| counts.step(c, now));
        let counts_io = files!(files, counts_io);
        let did = |c: C| counts.growth[c as usize].is_none_or(|n| n > 0.0);
        let busy = did(C::Usage) || counts_io && (did(C::ReadBytes) || did(C::WriteBytes));
        if self.begun && !busy {
            return true;
        }
        let gauges = files!(files, read_rest, shared, |c, now| counts.step(c, now));
        let since_s = std::mem::take(&mut self.since_s);
        let begun = std::mem::replace(&mut self.begun, true);
        if counts.reset {
            rows.event(tick.t, "counter reset", &self.path, "a counter of the control group went back");
        }
        if let (true, Some(dt)) = (begun, tick.dt.filter(|dt| *dt > 0.0)) {
            let mut row = rows.row(&TABLE, tick.t, dt);
            row.str(cgroup::cgroup, &*self.path);
            if let Some(Container { name, pod, namespace, image }) = self.container.as_deref() {
                row.str(cgroup::container, name.as_deref())
                    .str(cgroup::pod, pod.as_deref())
                    .str(cgroup::namespace, namespace.as_deref())
                    .str(cgroup::image, image.as_deref());
            }
            fill_rates(&mut row, &counts.growth, dt);
            fill_means(&mut row, &counts.growth, since_s);
            gauges.fill(&mut row);
        }
        true
    }
}

/// The lines `key value` of a file.
pub fn pairs(text: &[u8]) -> impl Iterator<Item = (&[u8], u64)> {
    lines(text).filter_map(|line| {
        let blank = memchr::memchr(b' ', line)?;
        Some((&line[..blank], number(&line[blank + 1..])?))
    })
}

/// Number of times that the limit on tasks was hit, of `pids.events`.
pub fn task_limit_hits(file: &File, shared: &mut Shared) -> Option<u64> {
    pairs(file.read(shared)?).find(|(key, _)| *key == b"max").map(|(_, hits)| hits)
}

/// Gauges at the end of the interval; None where there is no such limit or controller.
#[derive(Default)]
pub struct Gauges {
    /// Percent of one CPU.
    pub cpu_limit: Option<f64>,
    /// Bytes, as all that follow but the last two.
    pub memory: Option<f64>,
    /// Its limit.
    pub memory_limit: Option<f64>,
    /// From where on its tasks are slowed down.
    pub memory_high: Option<f64>,
    /// Anonymous memory.
    pub anon: Option<f64>,
    /// Page cache.
    pub file: Option<f64>,
    /// The kernel's memory.
    pub kernel: Option<f64>,
    /// Swap.
    pub swap: Option<f64>,
    /// Number of tasks.
    pub tasks: Option<f64>,
    /// How many it may have.
    pub task_limit: Option<f64>,
}

impl Gauges {
    fn fill(&self, row: &mut Row<'_, cgroup::Schema>) {
        row.f64(cgroup::cpu_limit, self.cpu_limit)
            .f64(cgroup::memory_bytes, self.memory)
            .f64(cgroup::memory_limit_bytes, self.memory_limit)
            .f64(cgroup::memory_high_bytes, self.memory_high)
            .f64(cgroup::anon_bytes, self.anon)
            .f64(cgroup::file_bytes, self.file)
            .f64(cgroup::kernel_bytes, self.kernel)
            .f64(cgroup::swap_bytes, self.swap)
            .f64(cgroup::tasks, self.tasks)
            .f64(cgroup::task_limit, self.task_limit);
    }
}

fn fill_rates(row: &mut Row<'_, cgroup::Schema>, growth: &Growth, dt: f64) {
    let count = |c: C| growth[c as usize];
    let rate = |c: C| count(c).map(|n| n / dt);
    let pct = |c: C| rate(c).map(|us| us / 1e4);
    let periods = count(C::Periods).filter(|n| *n > 0.0);
    row.f64(cgroup::cpu, pct(C::Usage))
        .f64(cgroup::usr, pct(C::User))
        .f64(cgroup::sys, pct(C::System))
        .f64(cgroup::throttled, periods.and_then(|n| Some(count(C::Throttled)? / n * 100.0)))
        .f64(cgroup::throttled_time, pct(C::ThrottledTime))
        .f64(cgroup::memory_limit_hits, count(C::LimitHits))
        .f64(cgroup::memory_high_hits, count(C::HighHits))
        .f64(cgroup::task_limit_hits, count(C::TaskLimitHits))
        .f64(cgroup::oom_kills, count(C::OomKills))
        .f64(cgroup::read_bytes_per_s, rate(C::ReadBytes))
        .f64(cgroup::write_bytes_per_s, rate(C::WriteBytes))
        .f64(cgroup::reads_per_s, rate(C::Reads))
        .f64(cgroup::writes_per_s, rate(C::Writes));
}

/// Sets columns read only of a busy group: means over all the `seconds` since it was read before.
fn fill_means(row: &mut Row<'_, cgroup::Schema>, growth: &Growth, seconds: f64) {
    let rate = |c: C| growth[c as usize].map(|n| n / seconds);
    let share = |c: C| rate(c).map(|us| (us / 1e4).min(100.0));
    row.f64(cgroup::major_faults_per_s, rate(C::MajorFaults))
        .f64(cgroup::cpu_some, share(C::CpuSome))
        .f64(cgroup::cpu_full, share(C::CpuFull))
        .f64(cgroup::memory_some, share(C::MemorySome))
        .f64(cgroup::memory_full, share(C::MemoryFull))
        .f64(cgroup::io_some, share(C::IoSome))
        .f64(cgroup::io_full, share(C::IoFull));
}
