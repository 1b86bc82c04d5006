//! `prstat` of Solaris and illumos: processes or threads (`-L`), by size or by microstates (`-m`), and
//! sums by user, project, task or zone.
//!
//! Traps: `CPU` is a decaying mean in percent of *all* CPUs, whose number is not printed, so the CPU time
//! of the `process` table comes from the growth of `TIME`, and `CPU` goes to `metric`. With `-m` a
//! process' shares are means over its threads, while switches and calls are counts over the interval;
//! the first block covers each process' whole life. The nice value is left out, as the priority shows
//! more.

mod columns;
mod groups;

use fenxi_model::{
    Micros,
    catalog::{metric, process, sched, thread},
};
use rustc_hash::FxHashMap;

use self::columns::{Columns, Kind};
use super::times::{Times, Tool};
use crate::{Family, Fields, Format, Head, Input, Out, Splitter, Sure, number, scaled};

/// Importer for prstat of Solaris and illumos.
pub static FORMAT: Format = Format {
    name: "prstat",
    summary: "prstat of Solaris and illumos: default, -a, -c, -L, -m, -n, -t, -J, -T, -Z, -d",
    family: Family::Unix,
    tables: &[&process::TABLE, &thread::TABLE, &sched::TABLE],
    example: "\
   PID USERNAME  SIZE   RSS STATE  PRI NICE      TIME  CPU PROCESS/NLWP
  7141 mysql     278M  208M cpu0    39    0   0:38:13  40% mysqld/45
Total: 1 processes, 45 lwps, load averages: 0.63, 0.33, 0.18
",
    sniff,
    read,
};

/// CPU times that are kept from one block to the next, at most.
const MAX_TIMES: usize = 1 << 20;

fn sniff(head: &Head<'_>) -> Sure {
    let total = |line: &str| line.starts_with("Total: ") && line.contains(" lwps, load averages:");
    let header = ["PRI NICE TIME CPU PROCESS/", "PRI NICE TIME CPU LGRP PROCESS/", "PRI NICE TIME CPU LWPID PROCESS/"];
    let usage = ["LAT VCX ICX SCL SIG PROCESS/", "LAT VCX ICX SCL SIG LWPID PROCESS/", "RSS MEMORY TIME CPU"];
    let known = header.iter().chain(&usage).any(|words| head.has_words(words));
    if known || head.any(|line| total(line.trim_start_matches(|c: char| !c.is_ascii_uppercase()))) {
        return Sure::Certain;
    }
    Sure::Likely.when(head.any(is_process))
}

/// Whether a line ends as those of processes do: state, priority, nice, time, share, name and threads.
fn is_process(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace().rev();
    let name = words.next().and_then(|word| word.rsplit_once('/'));
    let threads = name.is_some_and(|(_, n)| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    let share = words.next().and_then(|word| word.strip_suffix('%')).and_then(number);
    let time = words.next().filter(|word| word.matches(':').count() == 2).and_then(columns::clock);
    let (_nice, priority, state) = (words.next(), words.next().and_then(number), words.next());
    let states = ["sleep", "run", "stop", "zombie", "wait", "idle"];
    threads
        && share.is_some()
        && time.is_some()
        && priority.is_some()
        && state.is_some_and(|s| s.starts_with("cpu") || states.contains(&s))
}

struct Reader {
    times: Times,
    columns: Option<Columns>,
    block: Option<(Micros, Option<f64>)>,
    /// Seconds of CPU time by process and thread: of this block, and of the one before.
    now: FxHashMap<(i64, i64), f64>,
    before: FxHashMap<(i64, i64), f64>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let usage = Head { text: &input.head() }.has_words("USR SYS TRP TFL");
    let tool = Tool {
        name: "prstat",
        takes: "CdhjknpPsSuUz",
        every: None,
        counters: false,
        default_s: 5.0,
        first_since_boot: usage,
    };
    let mut reader = Reader {
        times: Times::new(input, out, tool),
        columns: None,
        block: None,
        now: FxHashMap::default(),
        before: FxHashMap::default(),
    };
    let mut splitter = Splitter::default();
    input.each_line(|number, line| reader.line(number, line, &mut splitter, out));
    out.since_boot(false);
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        let stripped = self.times.strip(line, out).trim();
        if stripped.is_empty() {
            if !line.trim().is_empty() {
                self.end();
            }
            return;
        }
        let fields = splitter.blanks(stripped);
        if let Some(columns) = Columns::read(&fields) {
            // The sums by user and the like are the second part of a block.
            let second = matches!(columns.kind, Kind::Group(_))
                && self.columns.as_ref().is_some_and(|c| !matches!(c.kind, Kind::Group(_)));
            if !second {
                self.end();
            }
            self.columns = Some(columns);
        } else if let Some(total) = stripped.strip_prefix("Total:") {
            self.total(number, total, out);
        } else if stripped.as_bytes()[0].is_ascii_digit() {
            self.row(number, &fields, out);
        } else if !stripped.starts_with("Please wait") && !self.times.knows(stripped) {
            out.unknown(number, stripped, "neither header nor process");
        }
    }

    /// The block is complete.
    fn end(&mut self) {
        if self.block.take().is_some() {
            std::mem::swap(&mut self.now, &mut self.before);
            self.now.clear();
        }
    }

    fn begin(&mut self, out: &mut Out<'_>) -> (Micros, Option<f64>) {
        *self.block.get_or_insert_with(|| self.times.begin(out))
    }

    /// `45 processes, 176 lwps, load averages: 0.63, 0.33, 0.18`
    fn total(&mut self, line: u64, text: &str, out: &mut Out<'_>) {
        let (t, dt) = self.begin(out);
        let mut words = text.split_ascii_whitespace().map(|word| word.trim_end_matches(','));
        let (processes, _, lwps, _) = (words.next(), words.next(), words.next(), words.next());
        let loads: Vec<Option<f64>> = words.skip(2).map(number).collect();
        let (Some(processes), Some(lwps), [load1, load5, load15]) =
            (processes.and_then(number), lwps.and_then(number), loads.as_slice())
        else {
            out.unknown(line, text, "no totals");
            self.end();
            return;
        };
        let mut row = out.row(&sched::TABLE, t, dt);
        row.f64(sched::tasks, lwps).f64(sched::load1, *load1).f64(sched::load5, *load5).f64(sched::load15, *load15);
        out.metric(t, dt, "prstat.processes", "", processes, "");
        self.end();
    }

    fn row(&mut self, line: u64, fields: &Fields<'_>, out: &mut Out<'_>) {
        // A filter may have taken the header away.
        let columns = self.columns.take().or_else(|| Columns::guess(fields));
        let Some(columns) = columns else {
            out.unknown(line, fields.rest(0), "values before any header");
            return;
        };
        if let Kind::Group(kind) = columns.kind {
            let (t, dt) = self.begin(out);
            groups::write(kind, &columns, line, (t, dt), fields, out);
        } else {
            self.task(line, &columns, fields, out);
        }
        self.columns = Some(columns);
    }

    fn task(&mut self, line: u64, columns: &Columns, fields: &Fields<'_>, out: &mut Out<'_>) {
        let Some(task) = Task::read(columns, fields) else {
            out.unknown(line, fields.rest(0), "no process under this header");
            return;
        };
        let of_thread = if columns.is_lwp() { task.count } else { 0 };
        let key = (task.pid, of_thread);
        if self.now.contains_key(&key) {
            // The same once more: the lines between the blocks were taken away.
            self.end();
        }
        let block = self.begin(out);
        let time = columns.cell(fields, "TIME").and_then(columns::clock);
        if self.now.len() < MAX_TIMES {
            self.now.insert(key, time.unwrap_or(f64::NAN));
        }
        let grown = time.zip(self.before.get(&key)).map(|(now, before)| now - before).filter(|s| *s >= 0.0);
        let cpu = grown.zip(block.1.filter(|dt| *dt > 0.0)).map(|(s, dt)| s / dt * 100.0);
        if columns.is_lwp() {
            task.write_thread(columns, fields, block, cpu, out);
        } else {
            task.write_process(columns, fields, block, cpu, out);
        }
    }
}

/// One line about a process or a thread.
struct Task<'a> {
    pid: i64,
    user: &'a str,
    comm: &'a str,
    /// How many threads, or which one.
    count: i64,
}

impl<'a> Task<'a> {
    fn read(columns: &Columns, fields: &Fields<'a>) -> Option<Task<'a>> {
        if fields.len() < columns.len() {
            return None;
        }
        let (comm, count) = fields.rest(columns.len() - 1).rsplit_once('/')?;
        // A thread may have a name, its number then precedes it.
        let count = columns.cell(fields, "LWPID").unwrap_or(count).parse().ok()?;
        Some(Task { pid: fields.get(0).parse().ok()?, user: fields.get(1), comm, count })
    }

    fn write_process(
        &self,
        columns: &Columns,
        fields: &Fields<'_>,
        block: (Micros, Option<f64>),
        cpu: Option<f64>,
        out: &mut Out<'_>,
    ) {
        let (t, dt) = block;
        let mut row = out.row(&process::TABLE, t, dt);
        row.i64(process::pid, self.pid).str(process::comm, self.comm).str(process::user, self.user);
        row.f64(process::threads, self.count as f64);
        let per_s = |name| columns.count(fields, name).zip(dt).map(|(n, dt)| n / dt);
        if columns.kind == Kind::Usage {
            // Shares are means over the threads.
            let share = |name| columns.number(fields, name).map(|share| share * self.count as f64);
            row.f64(process::usr, share("USR")).f64(process::sys, share("SYS"));
            row.f64(process::cpu, columns.busy(fields).map(|share| share * self.count as f64));
            row.f64(process::run_queue_wait, share("LAT"));
            row.f64(process::voluntary_switches_per_s, per_s("VCX"));
            row.f64(process::involuntary_switches_per_s, per_s("ICX"));
        } else {
            let size = |name| columns.cell(fields, name).and_then(|cell| scaled(cell, 1024.0));
            row.f64(process::vsz_bytes, size("SIZE")).f64(process::rss_bytes, size("RSS")).f64(process::cpu, cpu);
            row.f64(process::priority, columns.number(fields, "PRI"));
            let (state, on) = columns::state(columns.cell(fields, "STATE").unwrap_or(""));
            row.str(process::state, state).i64(process::last_cpu, on);
        }
        let labels = format!("pid={},comm={}", self.pid, self.comm);
        if columns.kind == Kind::Usage {
            for name in ["TRP", "TFL", "DFL", "LCK", "SLP"] {
                metric_of(name, &labels, block, columns.number(fields, name), "%", out);
            }
            for name in ["SCL", "SIG"] {
                metric_of(name, &labels, block, per_s(name), "/s", out);
            }
        } else {
            metric_of("CPU", &labels, block, columns.percent(fields, "CPU"), "% of all CPUs", out);
        }
    }

    fn write_thread(
        &self,
        columns: &Columns,
        fields: &Fields<'_>,
        block: (Micros, Option<f64>),
        cpu: Option<f64>,
        out: &mut Out<'_>,
    ) {
        let (t, dt) = block;
        let mut row = out.row(&thread::TABLE, t, dt);
        row.i64(thread::pid, self.pid).i64(thread::tid, self.count);
        row.str(thread::comm, self.comm).str(thread::user, self.user);
        let per_s = |name| columns.count(fields, name).zip(dt).map(|(n, dt)| n / dt);
        if columns.kind == Kind::UsageLwp {
            for (name, place) in columns::SHARES {
                row.f64(*place, columns.number(fields, name));
            }
            row.f64(thread::cpu, columns.busy(fields));
            row.f64(thread::voluntary_switches_per_s, per_s("VCX"));
            row.f64(thread::involuntary_switches_per_s, per_s("ICX"));
            row.f64(thread::syscalls_per_s, per_s("SCL"));
        } else {
            row.f64(thread::cpu, cpu);
            let (state, on) = columns::state(columns.cell(fields, "STATE").unwrap_or(""));
            row.str(thread::state, state).i64(thread::last_cpu, on);
        }
        let labels = format!("pid={},tid={}", self.pid, self.count);
        if columns.kind == Kind::UsageLwp {
            metric_of("TRP", &labels, block, columns.number(fields, "TRP"), "%", out);
            metric_of("SIG", &labels, block, per_s("SIG"), "/s", out);
        } else {
            metric_of("CPU", &labels, block, columns.percent(fields, "CPU"), "% of all CPUs", out);
        }
    }
}

fn metric_of(
    name: &str,
    labels: &str,
    (t, dt): (Micros, Option<f64>),
    value: Option<f64>,
    unit: &str,
    out: &mut Out<'_>,
) {
    if let Some(value) = value {
        let mut row = out.row(&metric::TABLE, t, dt);
        row.str(metric::name, format!("prstat.{name}").as_str()).str(metric::labels, labels);
        row.f64(metric::value, value).str(metric::unit, unit);
    }
}
