//! fio's summary for people, of version 2 and later.
//!
//! `IOPS=16.8k, BW=1047MiB/s (1098MB/s)(2095MiB/2001msec)`: an amount in front of a bracket counts
//! in powers of two, one within it in powers of ten. Version 2 wrote `io=2048.0MB, bw=102400KB/s,
//! iops=25600, runtime= 20480msec`, all in powers of two.

use super::report::{Report, Side};
use crate::{Clock, Input, Out, ctime, load::names::Results, number, scaled};

/// Subject of the lines that follow.
#[derive(Clone, Copy, PartialEq)]
enum Section {
    Job,
    /// Percentiles of the latency; a value is so many milliseconds.
    Percentiles(f64),
    /// Sums over jobs, and disks: they follow from the jobs or are not of fio.
    Tail,
}

struct Reader {
    clock: Clock,
    report: Report,
    job: String,
    section: Section,
}

/// Reads the rest of the input.
pub fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        clock: Clock::new(out.hints()),
        report: Report::default(),
        job: String::new(),
        section: Section::Tail,
    };
    while input.line().is_some() {
        let (number, text) = (input.number(), input.text());
        // Progress is drawn over itself; what counts comes after the last return.
        let line = text.rsplit('\r').next().unwrap_or(text).trim();
        if !line.is_empty() && !reader.line(line, out) {
            out.unknown(number, line, "no line of fio");
        }
    }
    reader.report.write_rows(None, out);
    reader.report.write_results(out, &mut Results::default());
}

impl Reader {
    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if let Section::Percentiles(ms) = self.section {
            if let Some(values) = line.strip_prefix('|') {
                self.percentiles(values, ms);
                return true;
            }
            self.section = Section::Job;
        }
        if line.contains(": (groupid=") && line.contains("err=") {
            self.begin_job(line, out);
            return true;
        }
        if line.starts_with("Run status group") || line.starts_with("Disk stats") {
            self.section = Section::Tail;
            return true;
        }
        if let Some(version) = line.strip_prefix("fio-").filter(|v| v.starts_with(|c: char| c.is_ascii_digit())) {
            out.fact("load", "fio", version);
            return true;
        }
        if self.section == Section::Tail && line.contains("ios=") && line.contains("util=") {
            return self.disk(line, out);
        }
        if self.section == Section::Tail {
            return TAIL.iter().any(|known| line.contains(known));
        }
        self.of_job(line)
    }

    /// `seqread: (groupid=0, jobs=1): err= 0: pid=30055: Sat Nov 21 08:47:08 2026`
    fn begin_job(&mut self, line: &str, out: &mut Out<'_>) {
        let (job, rest) = line.split_once(": (groupid=").unwrap_or((line, ""));
        job.clone_into(&mut self.job);
        self.section = Section::Job;
        let error = rest.split_once("err=").and_then(|(_, rest)| rest.trim_start().split([':', ' ']).next());
        self.report.errors += f64::from(u8::from(error.is_some_and(|e| e != "0")));
        let when = rest.split_once("pid=").and_then(|(_, rest)| ctime(rest.split_once(": ")?.1));
        if let Some(when) = when {
            self.report.t = Some(self.clock.moment(when.when));
        } else if self.report.t.is_none() {
            out.assume("no time of the run, as the report has none");
        }
    }

    /// `vda: ios=3462/845, merge=2/625, ticks=2716/2144, in_queue=4860, util=38.68%`, perhaps with `sectors=`
    /// and what was added up over the parts of an array (`aggrios=`).
    fn disk(&self, line: &str, out: &mut Out<'_>) -> bool {
        let Some((name, rest)) = line.split_once(": ") else { return false };
        let cell = |key: &str| {
            let mut pairs = rest.split([',', ';']).filter_map(|pair| pair.trim().split_once('='));
            pairs.find(|(name, _)| *name == key).map(|(_, value)| value)
        };
        let (read, written) = (
            |text: &str| text.split('/').next().and_then(number),
            |text: &str| text.split_once('/').and_then(|(_, second)| number(second)),
        );
        let value = |key: &str| match key {
            "read_ios" => read(cell("ios")?),
            "write_ios" => written(cell("ios")?),
            "read_merges" => read(cell("merge")?),
            "write_merges" => written(cell("merge")?),
            "read_ticks" => read(cell("ticks")?),
            "write_ticks" => written(cell("ticks")?),
            "in_queue" => number(cell("in_queue")?),
            "util" => number(cell("util")?.trim_end_matches('%')),
            _ => None,
        };
        self.report.write_disk(Some(name.trim()), value, out)
    }

    fn of_job(&mut self, line: &str) -> bool {
        let Some((key, rest)) = line.split_once([':', '=']) else { return false };
        let key = key.trim();
        if let Some(direction) = DIRECTIONS.iter().find(|(word, _)| key == *word) {
            self.begin_side(direction.1, line);
            return true;
        }
        let Some(side) = self.report.sides.last_mut().filter(|s| s.job == self.job) else {
            return DETAILS.iter().any(|known| key.starts_with(known));
        };
        // `clat (usec): min=1463, max=8972.6k, avg=57523.87, stdev=414299.86`
        if let Some((kind, unit)) = key.split_once(" (") {
            let ms = unit_ms(unit.trim_end_matches(')').trim());
            match kind.trim() {
                // The whole latency replaces that of the completion, which comes first.
                "clat" | "lat" | "sync" if rest.contains("avg=") => side.latency = four(rest, ms),
                "clat percentiles" | "lat percentiles" | "sync percentiles" => {
                    side.percentiles.clear();
                    self.section = Section::Percentiles(ms);
                }
                _ => {}
            }
            return DETAILS.iter().any(|known| kind.starts_with(known));
        }
        if key.starts_with("issued") {
            self.issued(rest);
            return true;
        }
        DETAILS.iter().any(|known| key.starts_with(known))
    }

    fn begin_side(&mut self, direction: &str, line: &str) {
        let lower = line.to_ascii_lowercase();
        let after = |key: &str| lower.split_once(key).map(|(_, rest)| rest.trim_start());
        let word = |text: &str| text.split([',', ' ', '(', ';']).next().unwrap_or("").to_owned();
        let iops = after("iops=").and_then(|rest| amount(&word(rest), 1000.0));
        let bytes_per_s = after("bw=").and_then(|rest| amount(word(rest).trim_end_matches("/s"), 1024.0));
        // `(2095MiB/2001msec)`, or `io=2048.0MB` and `runtime= 20480msec`.
        let total =
            lower.rsplit_once('(').and_then(|(_, rest)| rest.split_once('/')).filter(|_| lower.contains("msec)"));
        let (bytes, ms) = match total {
            Some((bytes, ms)) => (amount(bytes, 1024.0), number(ms.trim_end_matches(|c: char| !c.is_ascii_digit()))),
            None => (
                after("io=").and_then(|rest| amount(&word(rest), 1024.0)),
                after("runtime=").and_then(|rest| number(word(rest).trim_end_matches("msec"))),
            ),
        };
        let ms = ms.or_else(|| number(total?.1.split("msec").next()?)).filter(|ms| *ms > 0.0);
        self.report.sides.push(Side {
            job: self.job.clone(),
            direction: direction.to_owned(),
            iops,
            bytes,
            bytes_per_s,
            runtime_s: ms.map(|ms| ms / 1e3),
            ..Side::default()
        });
    }

    /// ` total=33517,0,0,0 short=0,0,0,0`: reads, writes, trims; `total=r=97753/w=97561/d=0` of version 2.
    fn issued(&mut self, rest: &str) {
        let Some((_, counts)) = rest.split_once("total=") else { return };
        let counts =
            counts.split([' ', ',']).next().map_or(counts, |first| if first.contains('/') { first } else { counts });
        let values = counts.split([',', '/', ' ']).map(|n| number(n.trim_start_matches(['r', 'w', 'd', '='])));
        for ((_, direction), value) in DIRECTIONS.iter().zip(values) {
            let same = |s: &&mut Side| s.job == self.job && s.direction == *direction;
            if let Some(side) = self.report.sides.iter_mut().rev().find(same) {
                side.ios = value;
            }
        }
    }

    /// `1.00th=[    3],  5.00th=[    3], 10.00th=[    3],`
    fn percentiles(&mut self, text: &str, ms: f64) {
        let Some(side) = self.report.sides.last_mut() else { return };
        for part in text.split(']') {
            let Some((percent, value)) = part.split_once("th=[") else { continue };
            let percent = number(percent.trim_start_matches([',', ' ']));
            if let Some((percent, value)) = percent.zip(number(value.trim())) {
                side.percentiles.push((percent, value * ms));
            }
        }
    }
}

/// `min=1463, max=8972.6k, avg=57523.87, stdev=414299.86`: mean, deviation, minimum, maximum.
fn four(text: &str, ms: f64) -> [Option<f64>; 4] {
    ["avg=", "stdev=", "min=", "max="].map(|key| {
        let value = text.split_once(key)?.1.trim_start();
        amount(value.split(',').next()?.trim(), 1000.0).map(|v| v * ms)
    })
}

/// `16.8k`, `1047mib`, `2048.0mb`.
fn amount(text: &str, base: f64) -> Option<f64> {
    scaled(text, base)
}

/// Milliseconds of one `nsec`, `usec`, `msec` or `sec`.
fn unit_ms(unit: &str) -> f64 {
    match unit {
        "nsec" => 1e-6,
        "msec" => 1.0,
        "sec" => 1e3,
        _ => 1e-3,
    }
}

/// Keys of lines with which a direction begins, in the order of what was issued.
const DIRECTIONS: &[(&str, &str)] =
    &[("read", "read"), ("write", "write"), ("trim", "trim"), ("fsync/fdatasync/sync_file_range", "sync")];

/// Beginnings of keys of a job that repeat what other lines say more exactly, or are its resources.
const DETAILS: &[&str] = &[
    "IO depths",
    "Description",
    "bw",
    "clat",
    "complete",
    "cpu",
    "fsync",
    "iops",
    "issued",
    "lat",
    "latency",
    "slat",
    "steadystate",
    "submit",
    "sync",
    "usr",
    "mixed",
    "zone",
];

/// Parts of lines around the jobs.
const TAIL: &[&str] = &[
    "READ: ",
    "WRITE: ",
    "TRIM: ",
    "MIXED: ",
    "ios=",
    "rw=",
    "Starting ",
    "Laying out",
    "Jobs: ",
    "...",
    "fio: ",
    "terminating on signal",
    "ratio",
    "md",
    "note:",
    "Note",
];
