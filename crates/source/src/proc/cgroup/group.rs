//! One control group.

use fenxi_model::{
    Row, Rows,
    catalog::cgroup::{self, TABLE},
};

use super::files::{File, Shared};
use crate::{
    Counter, Step, Tick, Width,
    proc::scan::{lines, number, words},
};

/// Counters of a group, by place in [`Group::counters`].
#[derive(Clone, Copy)]
enum C {
    Usage,
    User,
    System,
    Periods,
    Throttled,
    ThrottledTime,
    MajorFaults,
    LimitHits,
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

/// What counters grew by in the interval; None where unknown.
type Growth = [Option<f64>; N_COUNTERS];

/// A group and what is kept of it between samples.
pub struct Group {
    /// Path below the root of the hierarchy; `/` is the root.
    pub path: Box<str>,
    cpu: File,
    io: File,
    files: Files,
    counters: [Counter; N_COUNTERS],
    growth: Growth,
    reset: bool,
    /// Seconds since everything was read.
    since_s: f64,
    /// Whether the counters that are read only of busy groups were read once.
    begun: bool,
}

/// The files that are read only when the group did something.
struct Files {
    cpu_max: File,
    memory: File,
    memory_max: File,
    memory_stat: File,
    memory_events: File,
    swap: File,
    tasks: File,
    pressure: [File; 3],
}

/// The first counter of each pressure file, `some`; `full` follows it.
const PRESSURE: [(&str, C, C); 3] = [
    ("cpu.pressure", C::CpuSome, C::CpuFull),
    ("memory.pressure", C::MemorySome, C::MemoryFull),
    ("io.pressure", C::IoSome, C::IoFull),
];

impl Group {
    /// Opens the files of the group in `folder`.
    pub fn new(path: &str, folder: &str, shared: &mut Shared) -> Group {
        let mut file = |name: &str| File::new(folder, name, shared);
        Group {
            path: path.into(),
            cpu: file("cpu.stat"),
            io: file("io.stat"),
            files: Files {
                cpu_max: file("cpu.max"),
                memory: file("memory.current"),
                memory_max: file("memory.max"),
                memory_stat: file("memory.stat"),
                memory_events: file("memory.events"),
                swap: file("memory.swap.current"),
                tasks: file("pids.current"),
                pressure: PRESSURE.map(|(name, ..)| file(name)),
            },
            counters: Default::default(),
            growth: [None; N_COUNTERS],
            reset: false,
            since_s: 0.0,
            begun: false,
        }
    }

    /// Closes its files.
    pub fn close(self, shared: &mut Shared) {
        let Files { cpu_max, memory, memory_max, memory_stat, memory_events, swap, tasks, pressure } = self.files;
        let files = [self.cpu, self.io, cpu_max, memory, memory_max, memory_stat, memory_events, swap, tasks];
        files.into_iter().chain(pressure).for_each(|f| f.close(shared));
    }

    /// Reads the group and adds its row if it did something; false when it is gone.
    pub fn sample(&mut self, shared: &mut Shared, tick: Tick, rows: &mut Rows) -> bool {
        self.growth = [None; N_COUNTERS];
        self.reset = false;
        self.since_s += tick.dt.unwrap_or(0.0);
        if !self.read_cpu(shared) {
            return false;
        }
        self.read_io(shared);
        let did = |growth: &Growth, c: C| growth[c as usize].is_none_or(|n| n > 0.0);
        let busy = [C::Usage, C::ReadBytes, C::WriteBytes].iter().any(|c| did(&self.growth, *c) && self.counts(*c));
        if self.begun && !busy {
            return true;
        }
        let gauges = self.read_rest(shared);
        let since_s = std::mem::take(&mut self.since_s);
        let begun = std::mem::replace(&mut self.begun, true);
        if self.reset {
            rows.event(tick.t, "counter reset", &self.path, "a counter of the control group went back");
        }
        if let (true, Some(dt)) = (begun, tick.dt.filter(|dt| *dt > 0.0)) {
            let mut row = rows.row(&TABLE, tick.t, dt);
            row.str(cgroup::cgroup, &*self.path);
            fill_rates(&mut row, &self.growth, dt);
            fill_means(&mut row, &self.growth, since_s);
            gauges.fill(&mut row);
        }
        true
    }

    /// Whether the group has the file that the counter comes from.
    fn counts(&self, c: C) -> bool {
        match c {
            C::ReadBytes | C::WriteBytes => !matches!(self.io, File::Missing),
            _ => true,
        }
    }

    fn step(&mut self, c: C, now: u64) {
        match self.counters[c as usize].step(now, Width::Bits64) {
            Step::First => {}
            Step::By(n) => self.growth[c as usize] = Some(n as f64),
            Step::Reset => self.reset = true,
        }
    }

    fn read_cpu(&mut self, shared: &mut Shared) -> bool {
        let Some(n) = self.cpu.read(shared).map(<[u8]>::len) else {
            // Without the file from the beginning it is a kernel that has none for the root.
            return matches!(self.cpu, File::Missing);
        };
        let bytes = shared.take_buffer();
        for (key, value) in pairs(&bytes[..n]) {
            let counter = match key {
                b"usage_usec" => C::Usage,
                b"user_usec" => C::User,
                b"system_usec" => C::System,
                b"nr_periods" => C::Periods,
                b"nr_throttled" => C::Throttled,
                b"throttled_usec" => C::ThrottledTime,
                _ => continue,
            };
            self.step(counter, value);
        }
        shared.return_buffer(bytes);
        true
    }

    /// Adds up I/O over devices, without those whose I/O is counted again at the devices below.
    fn read_io(&mut self, shared: &mut Shared) {
        let Some(n) = self.io.read(shared).map(<[u8]>::len) else { return };
        let bytes = shared.take_buffer();
        let mut sums = [0_u64; 4];
        for line in lines(&bytes[..n]) {
            let mut words = words(line);
            let Some(device) = words.next() else { continue };
            if shared.is_stacked(device) {
                continue;
            }
            for word in words {
                let Some(equals) = memchr::memchr(b'=', word) else { continue };
                let place = match &word[..equals] {
                    b"rbytes" => 0,
                    b"wbytes" => 1,
                    b"rios" => 2,
                    b"wios" => 3,
                    _ => continue,
                };
                sums[place] += number(&word[equals + 1..]).unwrap_or(0);
            }
        }
        shared.return_buffer(bytes);
        for (c, sum) in [C::ReadBytes, C::WriteBytes, C::Reads, C::Writes].into_iter().zip(sums) {
            self.step(c, sum);
        }
    }

    fn read_rest(&mut self, shared: &mut Shared) -> Gauges {
        let files = &self.files;
        let one = |file: &File, shared: &mut Shared| number(file.read(shared)?.trim_ascii()).map(|n| n as f64);
        let mut gauges = Gauges {
            memory: one(&files.memory, shared),
            memory_limit: one(&files.memory_max, shared),
            swap: one(&files.swap, shared),
            tasks: one(&files.tasks, shared),
            cpu_limit: files.cpu_max.read(shared).and_then(cpu_limit),
            ..Gauges::default()
        };
        let mut steps: [Option<(C, u64)>; 9] = [None; 9];
        if let Some(text) = files.memory_stat.read(shared) {
            for (key, value) in pairs(text) {
                match key {
                    b"anon" => gauges.anon = Some(value as f64),
                    b"file" => gauges.file = Some(value as f64),
                    b"kernel" => gauges.kernel = Some(value as f64),
                    b"pgmajfault" => steps[0] = Some((C::MajorFaults, value)),
                    _ => {}
                }
            }
        }
        if let Some(text) = files.memory_events.read(shared) {
            for (key, value) in pairs(text) {
                match key {
                    b"max" => steps[1] = Some((C::LimitHits, value)),
                    b"oom_kill" => steps[2] = Some((C::OomKills, value)),
                    _ => {}
                }
            }
        }
        for (i, (file, (_, some, full))) in files.pressure.iter().zip(PRESSURE).enumerate() {
            let Some(text) = file.read(shared) else { continue };
            steps[3 + 2 * i] = total(text, b"some").map(|us| (some, us));
            steps[4 + 2 * i] = total(text, b"full").map(|us| (full, us));
        }
        for (c, value) in steps.into_iter().flatten() {
            self.step(c, value);
        }
        gauges
    }
}

/// The lines `key value` of a file.
fn pairs(text: &[u8]) -> impl Iterator<Item = (&[u8], u64)> {
    lines(text).filter_map(|line| {
        let blank = memchr::memchr(b' ', line)?;
        Some((&line[..blank], number(&line[blank + 1..])?))
    })
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=N`: N microseconds.
fn total(text: &[u8], kind: &[u8]) -> Option<u64> {
    let line = lines(text).find(|l| l.starts_with(kind))?;
    number(words(line).find_map(|w| w.strip_prefix(b"total="))?)
}

/// `200000 100000`, microseconds of CPU time in each period, as percent of one CPU; `max` is no limit.
fn cpu_limit(text: &[u8]) -> Option<f64> {
    let mut words = words(text.trim_ascii());
    let (quota, period) = (number(words.next()?)?, number(words.next()?)?);
    (period > 0).then(|| quota as f64 / period as f64 * 100.0)
}

/// What is true at the end of the interval; None where there is no such limit or controller.
#[derive(Default)]
struct Gauges {
    cpu_limit: Option<f64>,
    memory: Option<f64>,
    memory_limit: Option<f64>,
    anon: Option<f64>,
    file: Option<f64>,
    kernel: Option<f64>,
    swap: Option<f64>,
    tasks: Option<f64>,
}

impl Gauges {
    fn fill(&self, row: &mut Row<'_, cgroup::Schema>) {
        row.f64(cgroup::cpu_limit, self.cpu_limit)
            .f64(cgroup::memory_bytes, self.memory)
            .f64(cgroup::memory_limit_bytes, self.memory_limit)
            .f64(cgroup::anon_bytes, self.anon)
            .f64(cgroup::file_bytes, self.file)
            .f64(cgroup::kernel_bytes, self.kernel)
            .f64(cgroup::swap_bytes, self.swap)
            .f64(cgroup::tasks, self.tasks);
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
        .f64(cgroup::oom_kills, count(C::OomKills))
        .f64(cgroup::read_bytes_per_s, rate(C::ReadBytes))
        .f64(cgroup::write_bytes_per_s, rate(C::WriteBytes))
        .f64(cgroup::reads_per_s, rate(C::Reads))
        .f64(cgroup::writes_per_s, rate(C::Writes));
}

/// What is read only of a busy group: means over all the `seconds` since it was read before.
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
