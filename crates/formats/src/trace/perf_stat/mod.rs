//! `perf stat`: text for people, CSV (`-x`) and JSON (`-j`), at the end or every interval (`-I`).
//!
//! Counters become metrics named `perf.<event>`, in base units. The text behind `#` follows from
//! the counters where it is a rate; the rest (instructions per cycle, shares) is kept. The elapsed
//! time is printed after the counters it belongs to, so a report is held until it is complete.

mod csv;
mod json;
#[cfg(test)]
mod tests;
mod text;

use fenxi_model::{Micros, catalog::metric};

use super::report::Reports;
use crate::{Clock, Family, Format, Head, Input, Out, Relative, Sure, ctime, number};

/// Importer for perf stat as text, -x and -j, also with -I, -r, -A, --per-core, --per-socket and --per-thread.
pub static FORMAT: Format = Format {
    name: "perf-stat",
    summary: "perf stat as text, -x and -j, also with -I, -r, -A, --per-core, --per-socket and --per-thread",
    family: Family::Trace,
    tables: &[&metric::TABLE],
    example: "\
 Performance counter stats for 'sleep 1':

              0.52 msec task-clock                #    0.001 CPUs utilized
                 1      context-switches          #    1.923 K/sec
         1,021,411      cycles                    #    1.964 GHz

       1.001032000 seconds time elapsed
",
    sniff,
    read,
};

/// Readings that are held until the report's elapsed time is known.
const MAX_HELD: usize = 1 << 16;

/// One counter as printed.
#[derive(Clone, Debug, Default, PartialEq)]
struct Reading {
    /// Seconds since the start, with `-I`.
    time: Option<f64>,
    /// Which CPU, core, socket or thread it is of, as a label.
    place: String,
    /// In the base unit; None when it was not counted.
    value: Option<f64>,
    unit: &'static str,
    event: String,
    /// Which kind of core it is of, on hybrid CPUs: `cpu_core`, `cpu_atom`.
    pmu: String,
    cgroup: String,
    /// The share of time in which it was counted, when others shared the hardware.
    running: Option<f64>,
    /// Standard deviation over the runs of `-r`, in percent of the mean.
    deviation: Option<f64>,
    /// Figure derived from it: a value and its meaning.
    derived: Option<(f64, String)>,
}

fn sniff(head: &Head<'_>) -> Sure {
    let lines = || head.lines().filter(|l| !l.starts_with('#') && !is_above(l)).take(6);
    if head.any(|l| text::title(l).is_some() || text::interval_header(l)) || lines().any(json::is_reading) {
        return Sure::Certain;
    }
    // `-I` whose head is cut off: each line has a time of nine decimals.
    let timed = |line: &str| text::reading(line).filter(|reading| reading.time.is_some());
    if lines().take(3).all(|line| timed(line).is_some_and(|reading| is_of_perf(&reading) || reading.derived.is_some()))
        && lines().filter_map(timed).any(|reading| is_of_perf(&reading))
    {
        return Sure::Likely;
    }
    let separator = lines().find_map(csv::separator);
    let readings = |s| lines().map(move |l| csv::reading(l, s)).collect::<Option<Vec<_>>>();
    // Any table of two columns could be values and events: one of them must be perf's own.
    let known = separator.and_then(readings).is_some_and(|readings| readings.iter().any(is_of_perf));
    Sure::Likely.when(known)
}

/// Whether scripts put such a line above the counters: the command, or the version.
fn is_above(line: &str) -> bool {
    line.starts_with("perf version ") || line.contains("perf stat ") && !line.contains("Performance counter stats")
}

/// Whether a reading has an event that every perf knows, or the running time of its counter.
fn is_of_perf(reading: &Reading) -> bool {
    let event = reading.event.split(':').next().unwrap_or("");
    let cached =
        ["L1-dcache-", "L1-icache-", "LLC-", "dTLB-", "iTLB-", "branch-", "node-", "topdown-", "stalled-cycles-"];
    let is_word = !reading.event.contains(' ') && reading.event.bytes().any(|b| b.is_ascii_alphabetic());
    let has_run = reading.running.is_some_and(|share| share <= 100.0) && is_word;
    has_run || EVENTS.contains(&event) || cached.iter().any(|family| event.starts_with(family))
}

/// Events that perf has names for on all machines.
const EVENTS: &[&str] = &[
    "alignment-faults",
    "branches",
    "bus-cycles",
    "cache-misses",
    "cache-references",
    "context-switches",
    "cpu-clock",
    "cpu-cycles",
    "cpu-migrations",
    "cs",
    "cycles",
    "duration_time",
    "emulation-faults",
    "faults",
    "instructions",
    "major-faults",
    "migrations",
    "minor-faults",
    "page-faults",
    "ref-cycles",
    "slots",
    "system_time",
    "task-clock",
    "user_time",
];

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        clock: Clock::new(out.hints()),
        started: None,
        relative: None,
        reports: Reports::default(),
        interval: None,
        separator: None,
        mode: Mode::Report,
        held: Vec::new(),
        times: Times::default(),
        results: Vec::new(),
        n_reports: 0,
        last_event: String::new(),
    };
    input.each_line(|number, line| reader.line(number, line, out));
    reader.end(out);
}

/// Kind of the lines that are expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Counters of a report.
    Report,
    /// The single runs of `-r --table`, which the means sum up.
    Table,
}

/// The times at the end of a report.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    elapsed: Option<f64>,
    user: Option<f64>,
    sys: Option<f64>,
}

struct Reader {
    clock: Clock,
    /// When the tool was started, as its first line says.
    started: Option<Micros>,
    relative: Option<Relative>,
    reports: Reports,
    /// The end and the length of the last interval.
    interval: Option<(f64, Option<f64>)>,
    separator: Option<char>,
    mode: Mode,
    held: Vec<Reading>,
    times: Times,
    results: Vec<(&'static str, f64)>,
    n_reports: u32,
    last_event: String,
}

impl Reader {
    fn line(&mut self, at: u64, line: &str, out: &mut Out<'_>) {
        let bare = line.trim();
        if bare.is_empty() {
            return;
        }
        if let Some(command) = text::title(bare) {
            self.end_of_report(out);
            if self.n_reports == 0 {
                out.fact("perf", "command", &command);
            }
            self.mode = Mode::Report;
            return;
        }
        if bare.starts_with('#') && self.comment(bare, out) {
            return;
        }
        if let Some((what, seconds)) = text::time(bare) {
            self.mode = Mode::Report;
            return self.time(what, seconds, out);
        }
        if self.mode == Mode::Table {
            return;
        }
        let reading = match self.separator {
            Some(separator) => csv::reading(line, separator),
            None if bare.starts_with('{') => json::reading(bare),
            None => text::reading(line).or_else(|| {
                let separator = csv::separator(line)?;
                self.separator = Some(separator);
                csv::reading(line, separator)
            }),
        };
        match reading {
            Some(reading) => self.take(reading, out),
            // `date` between reports: the next one begins then.
            None if let Some(stamp) = stamp_of(bare) => {
                self.end_of_report(out);
                self.started = Some(stamp.when.moment(&mut self.clock, out));
            }
            None if is_above(bare) => {}
            None => out.unknown(at, line, "no counter of perf stat"),
        }
    }

    /// A line that begins with `#`; false when it is the derived value of the line before.
    fn comment(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let rest = line.trim_start_matches('#').trim();
        if let Some(begin) = rest.strip_prefix("started on ").and_then(ctime) {
            self.end_of_report(out);
            self.started = Some(self.clock.moment(begin.when));
            (self.relative, self.interval) = (None, None);
        } else if rest.starts_with("Table of individual") {
            self.mode = Mode::Table;
        } else if rest.starts_with("Final result") {
            self.mode = Mode::Report;
        } else if !text::interval_header(line) {
            return false;
        }
        true
    }

    fn time(&mut self, what: text::What, seconds: f64, out: &mut Out<'_>) {
        let times = &mut self.times;
        match what {
            text::What::Elapsed => times.elapsed = Some(seconds),
            text::What::User => times.user = Some(seconds),
            text::What::System => {
                times.sys = Some(seconds);
                self.end_of_report(out);
            }
        }
    }

    fn take(&mut self, mut reading: Reading, out: &mut Out<'_>) {
        // A value derived from the counter of the line before has no name.
        if reading.event.is_empty() {
            reading.event.clone_from(&self.last_event);
        } else {
            self.last_event.clone_from(&reading.event);
        }
        if let Some((pmu, event)) = of_core(&reading.event) {
            (reading.pmu, reading.event) = (pmu, event);
        }
        let Some(time) = reading.time else { return self.hold(reading, out) };
        let dt = match self.interval {
            Some((last, dt)) if last == time => dt,
            Some((last, _)) => Some(time - last).filter(|dt| *dt > 0.0),
            None => Some(time),
        };
        self.interval = Some((time, dt));
        let t = match self.started {
            Some(started) => after(started, time),
            None => self.relative.get_or_insert_with(|| Relative::elapsed(out)).after(time),
        };
        write(out, Some(t), dt, &reading);
    }

    fn hold(&mut self, reading: Reading, out: &mut Out<'_>) {
        // The sums of all intervals (`--summary`) follow from them.
        if self.interval.is_some() {
            return;
        }
        let same = |a: &Reading, b: &Reading| {
            a.event == b.event && (&a.pmu, &a.place, &a.cgroup) == (&b.pmu, &b.place, &b.cgroup)
        };
        let again = reading.value.is_some() && self.held.first().is_some_and(|first| same(first, &reading));
        if again || self.times.elapsed.is_some() || self.held.len() > MAX_HELD {
            self.end_of_report(out);
        }
        self.held.push(reading);
    }

    fn end_of_report(&mut self, out: &mut Out<'_>) {
        let times = std::mem::take(&mut self.times);
        let known = [("elapsed", times.elapsed), ("cpu_user", times.user), ("cpu_sys", times.sys)];
        if self.held.is_empty() && known.iter().all(|(_, s)| s.is_none()) {
            return;
        }
        self.n_reports += 1;
        let t = match self.started {
            Some(started) if self.interval.is_none() => {
                self.started = None;
                self.reports.ended(after(started, times.elapsed.unwrap_or(0.0)))
            }
            Some(started) => Some(after(started, times.elapsed.unwrap_or(0.0))),
            None => self.reports.next(out, times.elapsed),
        };
        // Of both clocks each has the CPUs that it counted.
        if self.held.iter().any(|reading| reading.event.starts_with("task-clock")) {
            for reading in self.held.iter_mut().filter(|reading| reading.event.starts_with("cpu-clock")) {
                add_label(&mut reading.place, "event", &reading.event);
            }
        }
        for reading in self.held.drain(..) {
            write(out, t, times.elapsed, &reading);
        }
        for (name, seconds) in known {
            if let Some(seconds) = seconds {
                out.metric(t, times.elapsed, &format!("perf.{name}"), "", seconds, "s");
                if self.n_reports == 1 {
                    self.results.push((name, seconds));
                }
            }
        }
    }

    fn end(&mut self, out: &mut Out<'_>) {
        self.end_of_report(out);
        // Of several reports none is the run's result.
        if self.n_reports == 1 {
            for (name, seconds) in &self.results {
                out.result(name, *seconds, "s", "lower");
            }
        }
    }
}

fn after(t: Micros, seconds: f64) -> Micros {
    Micros(t.0.saturating_add((seconds * 1e6).round() as i64))
}

fn write(out: &mut Out<'_>, t: Option<Micros>, dt: Option<f64>, reading: &Reading) {
    let mut labels = reading.place.clone();
    if !reading.pmu.is_empty() {
        add_label(&mut labels, "pmu", &reading.pmu);
    }
    if !reading.cgroup.is_empty() {
        add_label(&mut labels, "cgroup", &reading.cgroup);
    }
    if reading.value.is_some() {
        out.metric(t, dt, &format!("perf.{}", reading.event), &labels, reading.value, reading.unit);
    }
    if let Some((value, what)) = &reading.derived
        && let Some((name, unit)) = derived(&reading.event, what)
    {
        out.metric(t, dt, &format!("perf.{name}"), &labels, *value, unit);
    }
    let more = [("running", reading.running.filter(|r| *r < 100.0)), ("deviation", reading.deviation)];
    for (name, value) in more {
        if value.is_some() && reading.value.is_some() {
            let mut labels = labels.clone();
            add_label(&mut labels, "event", &reading.event);
            out.metric(t, dt, &format!("perf.{name}"), &labels, value, "%");
        }
    }
}

fn add_label(labels: &mut String, key: &str, value: &str) {
    if !labels.is_empty() {
        labels.push(',');
    }
    labels.push_str(key);
    labels.push('=');
    labels.push_str(value);
}

/// The name and unit of a derived value that is more than a rate of its counter.
fn derived(event: &str, what: &str) -> Option<(String, &'static str)> {
    let (what, unit) = match what.trim().strip_prefix('%') {
        Some(rest) => (rest.trim(), "%"),
        None => (what.trim(), ""),
    };
    let rate = what.ends_with("/sec") || what.ends_with("_per_second") || what.ends_with("_frequency");
    if what.is_empty() || rate || matches!(what, "GHz" | "MHz" | "K/sec" | "M/sec") {
        return None;
    }
    if what.starts_with("of all ") {
        return Some((format!("{event}_share"), "%"));
    }
    // New versions print a unit and then the metric's name.
    if let Some((_, name)) = what.rsplit_once(' ')
        && name.contains('_')
    {
        return Some((name.to_owned(), unit));
    }
    Some((what.to_lowercase().replace(' ', "_"), unit))
}

/// Which thing a prefix names: `CPU3`, `S0-D0-C1`, `S0`, `N0`, or a thread `bash-5340`.
fn place(prefix: &str) -> String {
    let parts: Vec<&str> = prefix.split('-').collect();
    let is = |part: &str, head: &str| {
        part.strip_prefix(head).is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    match parts.as_slice() {
        [cpu] if is(cpu, "CPU") => format!("cpu={}", cpu.trim_start_matches("CPU")),
        [s] if is(s, "S") => format!("socket={prefix}"),
        [n] if is(n, "N") => format!("node={prefix}"),
        [s, d] if is(s, "S") && is(d, "D") => format!("die={prefix}"),
        [s, d, c] if is(s, "S") && is(d, "D") && is(c, "C") => format!("core={prefix}"),
        [s, c] if is(s, "S") && is(c, "C") => format!("core={prefix}"),
        [s, _, ..] if is(s, "S") => format!("cache={prefix}"),
        _ => format!("thread={prefix}"),
    }
}

/// Whether the number of CPUs that were added up follows this prefix.
fn aggregated(label: &str) -> bool {
    !label.starts_with("cpu=") && !label.starts_with("thread=")
}

/// The kind of core and the event in `cpu_core/cycles/u`, as hybrid CPUs have it: the same event of another kind of core
/// is the same metric with another label. Other PMUs (`power/energy-pkg/`) have other events.
fn of_core(event: &str) -> Option<(String, String)> {
    let (pmu, rest) = event.split_once('/')?;
    let (name, modifiers) = rest.rsplit_once('/')?;
    let core = pmu.starts_with("cpu_") || pmu.starts_with("armv8_") || pmu.starts_with("armv9_");
    if !core || name.is_empty() || name.contains('/') {
        return None;
    }
    let modifiers = modifiers.trim_start_matches(':');
    let colon = if modifiers.is_empty() { "" } else { ":" };
    Some((pmu.to_owned(), format!("{name}{colon}{modifiers}")))
}

/// The unit of a clock's figure for which none is printed. Perf before 4.20 printed milliseconds, always with decimals;
/// that of some versions since 6.17 prints whole nanoseconds.
fn clock_unit(event: &str, whole: bool) -> Option<(&'static str, f64)> {
    let name = event.strip_prefix("software/").unwrap_or(event);
    let name = name.split([':', '/']).next().unwrap_or("");
    match name {
        "task-clock" | "cpu-clock" if !whole => Some(("s", 1e-3)),
        "task-clock" | "cpu-clock" | "duration_time" | "user_time" | "system_time" => Some(("s", 1e-9)),
        _ => None,
    }
}

/// The base unit for a printed one, and the factor to it; None when it is no unit.
fn base_unit(unit: &str) -> Option<(&'static str, f64)> {
    Some(match unit.trim_matches(['(', ')']) {
        "" => ("", 1.0),
        "msec" => ("s", 1e-3),
        "ns" | "nsec" => ("s", 1e-9),
        "Joules" => ("J", 1.0),
        "Bytes" | "B" => ("B", 1.0),
        "KiB" => ("B", 1024.0),
        "MiB" => ("B", 1024.0 * 1024.0),
        "GiB" => ("B", 1024.0 * 1024.0 * 1024.0),
        "KB" => ("B", 1e3),
        "MB" => ("B", 1e6),
        "GB" => ("B", 1e9),
        "Watts" => ("W", 1.0),
        "C" => ("C", 1.0),
        "%" => ("%", 1.0),
        _ => return None,
    })
}

/// A time that is all of a line.
fn stamp_of(line: &str) -> Option<crate::Stamp<'_>> {
    crate::stamp(line).filter(|stamp| stamp.rest.is_empty() && !matches!(stamp.when, crate::When::Time(_)))
}

/// Seconds as `-I` prints them: nine decimals.
fn stamp(word: &str) -> Option<f64> {
    let (_, decimals) = word.trim().split_once(['.', ','])?;
    if decimals.len() == 9 { number(word.trim()) } else { None }
}

/// `( +-  1.15% )` without what is around the number.
fn percent(text: &str) -> Option<f64> {
    number(text.trim().strip_suffix('%')?.trim())
}
