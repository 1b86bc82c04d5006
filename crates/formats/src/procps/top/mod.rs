//! `top -b` of procps (2 to 4) and busybox, one frame or many.
//!
//! A frame begins with its time of day and shows what happened since the frame before. The first one
//! of a run has none before it: up to procps 3.2 it shows averages since boot, and the processes'
//! since their start, which are kept apart; later versions look back a fraction of a second that they
//! do not show, so its rows have no `dt`.
//!
//! `%CPU` is in percent of one CPU, as top prints it without `I`; busybox means all
//! CPUs, so its figures go to `metric`.

mod summary;

use fenxi_model::{
    Micros, Place,
    catalog::{cpu, mem, process, sched, thread},
    place::F64,
};

use super::{
    load::{self, Load},
    moments::{Moments, is_prompt},
    tasks::Header,
};
use crate::{CpuMean, Family, Format, Head, Input, Out, Splitter, Sure, Ticker, number};

/// Importer for top -b of procps and busybox.
pub static FORMAT: Format = Format {
    name: "top",
    summary: "top -b of procps and busybox: CPUs, memory, processes or threads (-H), any columns",
    family: Family::Linux,
    tables: &[&cpu::TABLE, &sched::TABLE, &mem::TABLE, &process::TABLE, &thread::TABLE],
    example: "\
top - 11:24:50 up 2 min,  2 users,  load average: 0.23, 0.22, 0.09
Tasks: 112 total,   1 running, 111 sleeping,   0 stopped,   0 zombie
%Cpu(s):  5.9 us,  5.9 sy,  0.0 ni, 88.2 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st
KiB Mem :  3861332 total,  3446476 free,   216940 used,   197916 buff/cache
KiB Swap:  2097148 total,  2097148 free,        0 used.  3419356 avail Mem

   PID USER      PR  NI    VIRT    RES    SHR S %CPU %MEM     TIME+ COMMAND
  1935 root      20   0  161888   2108   1520 R  6.2  0.1   0:00.01 top
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let procps = |line: &str| line.starts_with("top - ") && load::load(line).is_some();
    let busybox = |line: &str| summary::busybox_memory(line).is_some();
    let old = |line: &str| line.starts_with("CPU states:") && summary::cpus(line).is_some();
    if head.any(procps) || head.any(busybox) && head.any(|l| l.starts_with("CPU:")) {
        Sure::Certain
    } else if head.any(old) && head.any(|l| load::load(l).is_some()) && head.has_words("SIZE RSS SHARE") {
        Sure::Likely
    } else if head.has_words("VIRT RES SHR S %CPU %MEM TIME+ COMMAND") {
        // The list alone, as people cut it out.
        Sure::Likely
    } else {
        Sure::No
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Procps,
    /// Prints averages since boot in its first frame.
    Early,
    Busybox,
}

struct Reader {
    kind: Kind,
    moments: Moments,
    ticker: Ticker,
    /// Seconds between frames that come several in a second.
    short_s: Option<f64>,
    last: Option<Micros>,
    /// Frames since the run began.
    frames: u64,
    /// The last processes' times: a first frame of a run begins anew.
    when: (Micros, Option<f64>),
    load: Option<Load>,
    counts: Vec<(String, f64)>,
    threads: Option<f64>,
    memory: Vec<(Place<mem::Schema, F64>, f64)>,
    /// Whether memory is in GiB or more.
    coarse: bool,
    cpu_mean: CpuMean,
    cpu_all: bool,
    header: Option<Header>,
    /// Whether each line of the list is a thread.
    in_threads: bool,
    open: bool,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let text = input.head();
    let head = Head { text: &text };
    let kind = if head.any(|l| summary::busybox_memory(l).is_some()) {
        Kind::Busybox
    } else if head.any(|l| l.starts_with("Cpu") && l.contains("%us") || l.starts_with("CPU states:")) {
        Kind::Early
    } else {
        Kind::Procps
    };
    let mut reader = Reader {
        kind,
        moments: Moments::new(out),
        ticker: Ticker::new(out.hints(), &text, seconds),
        short_s: short_interval(&text),
        last: None,
        frames: 0,
        when: (Micros(0), None),
        load: None,
        counts: Vec::new(),
        threads: None,
        memory: Vec::new(),
        coarse: false,
        cpu_mean: CpuMean::default(),
        cpu_all: false,
        header: None,
        in_threads: false,
        open: false,
    };
    drop(text);
    let mut splitter = Splitter::default();
    input.each_line(|number, line| reader.line(number, line, &mut splitter, out));
    reader.close(out);
}

fn seconds(line: &str) -> Option<f64> {
    if !line.contains("load average") {
        return None;
    }
    let time = load::load(line)?.time?;
    Some(time.duration_since(jiff::civil::Time::midnight()).as_secs() as f64)
}

/// The interval when frames come faster than the seconds that they carry.
fn short_interval(head: &str) -> Option<f64> {
    let times: Vec<_> = head.lines().filter_map(seconds).collect();
    let (first, last) = (times.first()?, times.last()?);
    let interval = (last - first) / (times.len().checked_sub(1)? as f64);
    (times.len() > 2 && interval > 0.0 && interval < 0.9).then_some(interval)
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        let text = line.trim();
        if text.is_empty() {
            return;
        }
        if let Some(header) = &self.header
            && text.as_bytes()[0].is_ascii_digit()
            && self.task(line, header, splitter, out)
        {
            return;
        }
        if self.summary(text, out) {
            return;
        }
        match Header::read("top", text) {
            Some(header) => self.header = Some(header),
            None if self.moments.take(text, out).is_some() => {
                // A stamp above a frame: it has the date, and begins another run.
                self.close(out);
                self.frames = 0;
                self.ticker.restart();
            }
            None if is_prompt(text, "top") => {
                self.close(out);
                self.frames = 0;
                self.ticker.restart();
            }
            // The list may begin with another field than the process's number.
            None => {
                let header = self.header.take();
                let known = header.as_ref().is_some_and(|h| self.task(line, h, splitter, out));
                self.header = header;
                if !known {
                    out.unknown(number, line, "no line of top");
                }
            }
        }
    }

    /// Takes a line above the list; false when it is none.
    fn summary(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if let Some(values) = summary::busybox_memory(line) {
            self.begin(None, out);
            self.memory = values;
        } else if let Some(load) = busybox_load(line) {
            self.load = Some(load);
        } else if let Some(load) = line.contains("load average").then(|| load::load(line)).flatten() {
            self.begin(Some(load), out);
        } else if let Some(cpus) = summary::cpus(line) {
            let when = self.when;
            out.since_boot(self.since_boot());
            for one in cpus {
                let mut row = out.row(&cpu::TABLE, when.0, when.1);
                row.str(cpu::cpu, one.cpu);
                for (place, share) in &one.shares {
                    row.f64(*place, *share);
                }
                if let Some(name) = one.cpu {
                    self.cpu_mean.cpu(name);
                    one.shares.iter().for_each(|(place, share)| self.cpu_mean.add(*place, *share));
                } else {
                    self.cpu_all = true;
                }
            }
            out.since_boot(false);
        } else if let Some((threads, counts)) = summary::tasks(line) {
            self.in_threads = threads;
            let kind = if threads { "threads" } else { "processes" };
            self.threads = counts.first().filter(|_| threads).map(|(_, n)| *n);
            self.counts.extend(counts.iter().map(|(name, n)| (format!("top.{kind}_{name}"), *n)));
        } else if let Some((mem, swap)) = summary::abreast(line) {
            self.coarse = summary::is_coarse(mem);
            self.memory.extend(summary::memory(mem).into_iter().chain(summary::memory(swap)).flatten());
        } else if let Some(values) = summary::memory(line) {
            self.coarse = summary::is_coarse(line);
            self.memory.extend(values);
        } else {
            return false;
        }
        true
    }

    fn since_boot(&self) -> bool {
        self.kind == Kind::Early && self.frames <= 1
    }

    /// A frame begins.
    fn begin(&mut self, load: Option<Load>, out: &mut Out<'_>) {
        self.close(out);
        self.open = true;
        self.frames += 1;
        self.header = None;
        self.in_threads = false;
        let (t, dt) = match load.as_ref().and_then(|l| l.time) {
            Some(time) => {
                let t = self.moments.clock.at(time, out);
                // Several frames in a second: the first of them has the second's time.
                let behind = self.last.filter(|last| t <= *last && last.seconds_since(t) < 1.0);
                let t = match (behind, self.short_s) {
                    (Some(last), Some(s)) => Micros(last.0.saturating_add((s * 1e6) as i64)),
                    (Some(last), None) => Micros(last.0.saturating_add(1000)),
                    _ => t,
                };
                let ticked = self.ticker.tick(t);
                // The time between two frames of one second is unknown.
                (t, self.short_s.or(ticked.filter(|_| behind.is_none())))
            }
            None => self.moments.next(out),
        };
        self.last = Some(t);
        self.when = (t, dt.filter(|_| self.frames > 1));
        self.load = load;
    }

    /// Writes what was gathered of a frame.
    fn close(&mut self, out: &mut Out<'_>) {
        if !std::mem::take(&mut self.open) {
            return;
        }
        let (t, dt) = self.when;
        out.since_boot(self.since_boot());
        if std::mem::take(&mut self.cpu_all) {
            // The sum is there already.
            self.cpu_mean = CpuMean::default();
        }
        self.cpu_mean.write_whole(out, t, dt);
        out.since_boot(false);
        if self.load.is_some() || self.threads.is_some() {
            let averages = self.load.take().map_or([None; 3], |l| l.averages);
            let mut row = out.row(&sched::TABLE, t, dt);
            row.f64(sched::load1, averages[0]).f64(sched::load5, averages[1]).f64(sched::load15, averages[2]);
            row.f64(sched::tasks, self.threads.take());
        }
        for (name, value) in std::mem::take(&mut self.counts) {
            out.metric(t, dt, &name, "", value, "");
        }
        let memory = std::mem::take(&mut self.memory);
        if memory.is_empty() {
            return;
        }
        let of = |place| memory.iter().find(|(p, _)| *p == place).map(|(_, v)| *v);
        let used = of(mem::total_bytes).zip(of(mem::available_bytes)).map(|(all, free)| (all - free).max(0.0));
        // A difference of figures in tenths of GiB would be wrong by more than it is worth.
        let used = used.filter(|_| !self.coarse);
        let mut row = out.row(&mem::TABLE, t, dt);
        for (place, value) in &memory {
            row.f64(*place, *value);
        }
        row.f64(mem::used_bytes, used);
    }

    /// Takes a line of the list; false when it does not fit the header.
    fn task(&self, line: &str, header: &Header, splitter: &mut Splitter, out: &mut Out<'_>) -> bool {
        let fields = splitter.blanks(line);
        let mut metrics: Vec<(String, f64, &'static str)> = Vec::new();
        let mut keep = |name: &str, value: f64, unit: &'static str| metrics.push((name.to_owned(), value, unit));
        let Some(mut task) = header.task(&fields, &mut keep).filter(|t| t.pid.is_some() || t.tid.is_some()) else {
            return false;
        };
        let busybox = self.kind == Kind::Busybox;
        if self.in_threads {
            // The number of a thread is under PID; only TGID is the process's.
            task.tid = task.tid.or(task.pid.take());
        }
        let cpu = task.cpu.filter(|_| !busybox);
        out.since_boot(self.since_boot());
        task.write(out, self.when, self.in_threads || header.threads, cpu);
        if busybox && let Some(share) = task.cpu {
            metrics.push(("top.cpu_share_of_all".to_owned(), share, "%"));
        }
        if !metrics.is_empty() {
            let id = task.pid.or(task.tid).unwrap_or(0);
            let labels = format!("pid={id},comm={}", task.comm().unwrap_or("").replace(',', "_"));
            for (name, value, unit) in metrics {
                out.metric(self.when.0, self.when.1, &name, &labels, value, unit);
            }
        }
        out.since_boot(false);
        true
    }
}

/// `Load average: 7.53 6.88 5.63 9/186 7098`
fn busybox_load(line: &str) -> Option<Load> {
    let mut words = line.strip_prefix("Load average:")?.split_ascii_whitespace();
    let averages = std::array::from_fn(|_| words.next().and_then(number));
    Some(Load { time: None, up_s: None, users: None, averages })
}
