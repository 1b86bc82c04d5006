//! Files of a group of version 2: all in one folder.

use super::{
    files::{File, Shared},
    group::{C, Gauges, pairs, task_limit_hits},
};
use crate::proc::scan::{lines, number, words};

/// Open files of a cgroup (version 2).
pub struct Files {
    cpu: File,
    io: File,
    cpu_max: File,
    memory: File,
    memory_max: File,
    memory_high: File,
    memory_stat: File,
    memory_events: File,
    swap: File,
    tasks: File,
    task_limit: File,
    task_events: File,
    pressure: [File; 3],
}

/// The first counter of each pressure file, `some`; `full` follows it.
const PRESSURE: [(&str, C, C); 3] = [
    ("cpu.pressure", C::CpuSome, C::CpuFull),
    ("memory.pressure", C::MemorySome, C::MemoryFull),
    ("io.pressure", C::IoSome, C::IoFull),
];

impl Files {
    /// Opens the files of the group in `folder`.
    pub fn new(folder: &str, shared: &mut Shared) -> Files {
        let mut file = |name: &str| File::new(folder, name, shared);
        Files {
            cpu: file("cpu.stat"),
            io: file("io.stat"),
            cpu_max: file("cpu.max"),
            memory: file("memory.current"),
            memory_max: file("memory.max"),
            memory_high: file("memory.high"),
            memory_stat: file("memory.stat"),
            memory_events: file("memory.events"),
            swap: file("memory.swap.current"),
            tasks: file("pids.current"),
            task_limit: file("pids.max"),
            task_events: file("pids.events"),
            pressure: PRESSURE.map(|(name, ..)| file(name)),
        }
    }

    /// Closes them.
    pub fn close(self, shared: &mut Shared) {
        let Files { cpu, io, cpu_max, memory, memory_max, memory_high, memory_stat, memory_events, .. } = self;
        let Files { swap, tasks, task_limit, task_events, pressure, .. } = self;
        let files = [cpu, io, cpu_max, memory, memory_max, memory_high, memory_stat, memory_events];
        files
            .into_iter()
            .chain([swap, tasks, task_limit, task_events])
            .chain(pressure)
            .for_each(|file| file.close(shared));
    }

    /// Returns true if it is known what the group reads and writes.
    pub fn counts_io(&self) -> bool {
        !matches!(self.io, File::Missing)
    }

    /// Counters of CPU time; false when the group is gone.
    pub fn read_cpu(&self, shared: &mut Shared, mut step: impl FnMut(C, u64)) -> bool {
        let Some(text) = self.cpu.read(shared) else {
            // Without the file from the beginning it is a kernel that has none for the root.
            return matches!(self.cpu, File::Missing);
        };
        for (key, value) in pairs(text) {
            let counter = match key {
                b"usage_usec" => C::Usage,
                b"user_usec" => C::User,
                b"system_usec" => C::System,
                b"nr_periods" => C::Periods,
                b"nr_throttled" => C::Throttled,
                b"throttled_usec" => C::ThrottledTime,
                _ => continue,
            };
            step(counter, value);
        }
        true
    }

    /// Adds up I/O over devices, without those whose I/O is counted again at the devices below.
    pub fn read_io(&self, shared: &mut Shared, mut step: impl FnMut(C, u64)) {
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
            step(c, sum);
        }
    }

    /// Reads the files that only a busy cgroup needs.
    pub fn read_rest(&self, shared: &mut Shared, mut step: impl FnMut(C, u64)) -> Gauges {
        let one = |file: &File, shared: &mut Shared| number(file.read(shared)?.trim_ascii()).map(|n| n as f64);
        let mut gauges = Gauges {
            memory: one(&self.memory, shared),
            memory_limit: one(&self.memory_max, shared),
            memory_high: one(&self.memory_high, shared),
            swap: one(&self.swap, shared),
            tasks: one(&self.tasks, shared),
            task_limit: one(&self.task_limit, shared),
            cpu_limit: self.cpu_max.read(shared).and_then(cpu_limit),
            ..Gauges::default()
        };
        if let Some(text) = self.memory_stat.read(shared) {
            for (key, value) in pairs(text) {
                match key {
                    b"anon" => gauges.anon = Some(value as f64),
                    b"file" => gauges.file = Some(value as f64),
                    b"kernel" => gauges.kernel = Some(value as f64),
                    b"pgmajfault" => step(C::MajorFaults, value),
                    _ => {}
                }
            }
        }
        if let Some(text) = self.memory_events.read(shared) {
            for (key, value) in pairs(text) {
                match key {
                    b"max" => step(C::LimitHits, value),
                    b"high" => step(C::HighHits, value),
                    b"oom_kill" => step(C::OomKills, value),
                    _ => {}
                }
            }
        }
        if let Some(hits) = task_limit_hits(&self.task_events, shared) {
            step(C::TaskLimitHits, hits);
        }
        for (file, (_, some, full)) in self.pressure.iter().zip(PRESSURE) {
            let Some(text) = file.read(shared) else { continue };
            for (kind, counter) in [(b"some", some), (b"full", full)] {
                if let Some(us) = total(text, kind) {
                    step(counter, us);
                }
            }
        }
        gauges
    }
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
