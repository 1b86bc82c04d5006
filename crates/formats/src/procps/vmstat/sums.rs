//! `vmstat -s`, `-d`, `-p`, `-D`, `-f`: totals since boot, once or again and again.
//!
//! These are figures of /proc in other words, so they are put back into its words and read by the
//! recorder's collectors: two of them give rates, one gives what it can.

use std::fmt::Write;

use fenxi_model::{Micros, Place, catalog::disk, place::F64};

use super::super::proc::{
    engine::Engine,
    saved::Saved,
    totals::{DISK, OLD_DISK},
};
use crate::{Out, next_word};

/// Figures of a disk that vmstat does not print, or only in whole seconds.
const WITHOUT: &[Place<disk::Schema, F64>] = &[disk::in_flight, disk::queue_depth, disk::util, disk::svctm_ms];

/// Lines of `-s` that are one number of a file: the label, the file and the name there.
const LABELS: &[(&str, Saved, &str)] = &[
    ("total memory", Saved::Meminfo, "MemTotal"),
    ("active memory", Saved::Meminfo, "Active"),
    ("inactive memory", Saved::Meminfo, "Inactive"),
    ("free memory", Saved::Meminfo, "MemFree"),
    ("buffer memory", Saved::Meminfo, "Buffers"),
    // The page cache, whatever its name.
    ("swap cache", Saved::Meminfo, "Cached"),
    ("total swap", Saved::Meminfo, "SwapTotal"),
    ("free swap", Saved::Meminfo, "SwapFree"),
    ("paged in", Saved::Vmstat, "pgpgin"),
    ("pages paged in", Saved::Vmstat, "pgpgin"),
    ("paged out", Saved::Vmstat, "pgpgout"),
    ("pages paged out", Saved::Vmstat, "pgpgout"),
    ("pages swapped in", Saved::Vmstat, "pswpin"),
    ("pages swapped out", Saved::Vmstat, "pswpout"),
    ("interrupts", Saved::Stat, "intr"),
    ("CPU context switches", Saved::Stat, "ctxt"),
    ("boot time", Saved::Stat, "btime"),
    ("forks", Saved::Stat, "processes"),
];

/// Ticks of all CPUs in the order of /proc/stat.
const TICKS: &[&str] = &[
    "non-nice user cpu ticks",
    "nice user cpu ticks",
    "system cpu ticks",
    "idle cpu ticks",
    "IO-wait cpu ticks",
    "IRQ cpu ticks",
    "softirq cpu ticks",
    "stolen cpu ticks",
    "non-nice guest cpu ticks",
    "nice guest cpu ticks",
];

/// Lines that follow from others.
const FOLLOWS: &[&str] = &["used memory", "used swap"];

/// Lines of `-D`.
const DISKS: &[&str] = &[
    "disks",
    "partitions",
    "total reads",
    "merged reads",
    "read sectors",
    "milli reading",
    "writes",
    "merged writes",
    "written sectors",
    "milli writing",
    "inprogress IO",
    "milli spent IO",
    "milli weighted IO",
];

/// Kind of totals below a header.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A number and what it is, as `-s`, `-D` and `-f` print without a header.
    Labelled,
    /// A disk and its ten figures.
    Disks,
    /// A partition's four figures; its name is in the header.
    Partition(String),
}

/// One line.
#[derive(Debug)]
pub struct Sum<'a> {
    /// The label, or the disk.
    name: &'a str,
    kind: Kind,
    values: Vec<u64>,
    /// Bytes in the unit of memory.
    unit: f64,
    /// A time behind the figures.
    pub rest: &'a str,
}

/// Reads a header of `-d` or `-p`.
pub fn header(line: &str) -> Option<Kind> {
    let words: Vec<_> = line.split_ascii_whitespace().collect();
    if words.first() == Some(&"disk-") || words.starts_with(&["total", "merged", "sectors", "ms", "total"]) {
        return Some(Kind::Disks);
    }
    match &words[..] {
        [name, "reads", "read", "sectors", "writes", "requested", "writes"] => {
            Some(Kind::Partition((*name).to_owned()))
        }
        _ => None,
    }
}

/// Returns true if `line` is such a header.
pub fn is_header(line: &str) -> bool {
    header(line).is_some()
}

/// Returns true if `line` is one of `-s` or `-D` that no other system's vmstat has.
pub fn is_linux(line: &str) -> bool {
    sum(line, &Kind::Labelled).is_some_and(|s| TICKS.contains(&s.name) || s.name.starts_with("milli "))
}

/// Reads a line of totals.
pub fn sum<'a>(line: &'a str, kind: &Kind) -> Option<Sum<'a>> {
    let line = line.trim();
    let mut sum = Sum { name: "", kind: kind.clone(), values: Vec::new(), unit: 1024.0, rest: "" };
    let mut rest = line;
    match kind {
        Kind::Labelled => {
            let (value, label) = line.split_once(' ')?;
            sum.values.push(value.parse().ok()?);
            sum.name = label.trim();
            if let Some((unit, of)) = sum.name.split_once(' ')
                && let Some(bytes) = unit_bytes(unit)
            {
                (sum.unit, sum.name) = (bytes, of.trim());
            }
            let known = LABELS.iter().any(|(l, ..)| *l == sum.name) || TICKS.contains(&sum.name);
            return Some(sum).filter(|s| known || FOLLOWS.contains(&s.name) || DISKS.contains(&s.name));
        }
        Kind::Disks => (sum.name, rest) = line.split_once(' ')?,
        Kind::Partition(_) => {}
    }
    let wanted = if *kind == Kind::Disks { 10 } else { 4 };
    for _ in 0..wanted {
        sum.values.push(next_word(&mut rest)?.parse().ok()?);
    }
    sum.rest = rest.trim();
    Some(sum)
}

fn unit_bytes(unit: &str) -> Option<f64> {
    match unit {
        "bytes" | "B" => Some(1.0),
        "k" => Some(1000.0),
        "K" => Some(1024.0),
        "m" => Some(1e6),
        "M" => Some(1_048_576.0),
        _ => None,
    }
}

/// Totals of one moment, and what is known from those before.
pub struct Sums {
    engine: Engine,
    names: Vec<String>,
    meminfo: String,
    vmstat: String,
    stat: String,
    diskstats: String,
    ticks: Vec<u64>,
    boot: Option<u64>,
    /// Figures that no file of /proc has.
    metrics: Vec<(String, f64)>,
    moments: u64,
    /// Totals of the only moment, which no rates come from.
    once: Vec<(String, String, f64)>,
    t: Micros,
}

impl Default for Sums {
    fn default() -> Sums {
        Sums {
            engine: Engine::new(),
            names: Vec::new(),
            meminfo: String::new(),
            vmstat: String::new(),
            stat: String::new(),
            diskstats: String::new(),
            ticks: Vec::new(),
            boot: None,
            metrics: Vec::new(),
            moments: 0,
            once: Vec::new(),
            t: Micros(0),
        }
    }
}

impl Sums {
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns true if the moment at hand has this already.
    pub fn has(&self, sum: &Sum<'_>) -> bool {
        self.names.iter().any(|n| *n == sum.name)
    }

    /// Adds a line. Writing to a String cannot fail.
    pub fn add(&mut self, sum: &Sum<'_>) {
        self.names.push(sum.name.to_owned());
        let v = &sum.values;
        match (&sum.kind, &v[..]) {
            (Kind::Labelled, [value]) => self.label(sum.name, *value, sum.unit),
            (Kind::Disks, [r, rm, rs, rt, w, wm, ws, wt, _, busy_s]) => {
                let busy_ms = busy_s.saturating_mul(1000);
                let name = sum.name;
                let _ = writeln!(self.diskstats, "0 0 {name} {r} {rm} {rs} {rt} {w} {wm} {ws} {wt} 0 {busy_ms} 0");
                // The fields after these eight are not of diskstats.
                for (field, value) in DISK.iter().take(8).zip(v) {
                    self.keep(&format!("vmstat.disk_{field}"), &format!("device={name}"), *value);
                }
                self.keep("vmstat.disk_busy_s", &format!("device={name}"), *busy_s);
            }
            (Kind::Partition(name), [r, rs, w, ws]) => {
                let _ = writeln!(self.diskstats, "0 0 {name} {r} {rs} {w} {ws}");
                for (field, value) in OLD_DISK.iter().zip(v) {
                    self.keep(&format!("vmstat.disk_{field}"), &format!("device={name}"), *value);
                }
            }
            _ => {}
        }
    }

    fn keep(&mut self, name: &str, labels: &str, value: u64) {
        if self.moments == 0 {
            self.once.push((name.to_owned(), labels.to_owned(), value as f64));
        }
    }

    fn label(&mut self, label: &str, value: u64, unit: f64) {
        if let Some(place) = TICKS.iter().position(|l| *l == label) {
            self.ticks.resize(self.ticks.len().max(place + 1), 0);
            self.ticks[place] = value;
            return;
        }
        if let Some((_, file, name)) = LABELS.iter().find(|(l, ..)| *l == label) {
            let metric = format!("vmstat.{}", label.replace([' ', '-'], "_"));
            match file {
                Saved::Meminfo => {
                    let _ = writeln!(self.meminfo, "{name}: {} kB", (value as f64 * unit / 1024.0) as u64);
                }
                Saved::Vmstat => {
                    let _ = writeln!(self.vmstat, "{name} {value}");
                    self.keep(&metric, "", value);
                }
                _ => {
                    let _ = writeln!(self.stat, "{name} {value}");
                    if *name == "btime" {
                        self.boot = Some(value);
                    } else {
                        self.keep(&metric, "", value);
                    }
                }
            }
            return;
        }
        if DISKS.contains(&label) {
            self.metrics.push((format!("vmstat.disks_{}", label.replace(' ', "_")), value as f64));
        }
    }

    /// The moment `t` is complete.
    pub fn sample(&mut self, t: Micros, stamped: bool, out: &mut Out<'_>) {
        self.names.clear();
        let mut stat = std::mem::take(&mut self.stat);
        if !self.ticks.is_empty() {
            let ticks: Vec<_> = self.ticks.drain(..).map(|n| n.to_string()).collect();
            stat = format!("cpu  {}\n{stat}", ticks.join(" "));
        }
        let texts = [
            (Saved::Stat, stat),
            (Saved::Meminfo, std::mem::take(&mut self.meminfo)),
            (Saved::Vmstat, std::mem::take(&mut self.vmstat)),
            (Saved::Diskstats, std::mem::take(&mut self.diskstats)),
        ];
        let files: Vec<_> = texts.iter().filter(|(_, c)| !c.is_empty()).map(|(f, c)| (*f, c.as_bytes())).collect();
        self.engine.sample(&files, t, WITHOUT, out);
        let boot = self.boot.take().filter(|_| stamped);
        let uptime_s = boot.map(|boot| t.0 as f64 / 1e6 - boot as f64).filter(|s| *s > 0.0);
        if self.moments == 0 {
            if let Some(uptime_s) = uptime_s {
                Engine::since_boot(&files, t, uptime_s, WITHOUT, out);
                self.once.clear();
            } else if let Some(stat) = files.first().filter(|(_, c)| c.starts_with(b"cpu")) {
                Engine::shares_since_boot(stat.1, t, out);
            }
        } else {
            self.once.clear();
        }
        for (name, value) in self.metrics.drain(..) {
            out.metric(t, None, &name, "", value, "");
        }
        self.moments += 1;
        self.t = t;
    }

    /// Counters that were printed once only.
    pub fn finish(&mut self, out: &mut Out<'_>) {
        for (name, labels, value) in self.once.drain(..) {
            out.metric(self.t, None, &name, &labels, value, "");
        }
    }
}
