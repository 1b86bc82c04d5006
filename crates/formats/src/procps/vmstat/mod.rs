//! `vmstat` of Linux (procps), with any of its switches, of every version since 2.0.
//!
//! The first line of a run is an average since the system's boot. The text does not show that `-y`
//! left it out, so it is kept apart unless the command itself is above (`$ vmstat -y 5`). Headers
//! are repeated after every screenful; one that comes too early begins another run.
//!
//! The unit of `-S` is not printed either: KiB is assumed. `bi` and `bo` are KiB whatever the unit.

mod columns;
mod command;
mod slabs;
mod sums;

use fenxi_model::{
    Micros,
    catalog::{cpu, disk, mem, sched, vm},
};

use self::{
    columns::Columns,
    command::Command,
    sums::{Kind, Sums},
};
use crate::{Clock, Family, Format, Head, Input, Out, Relative, Sure, Ticker, When, stamp, zone_named};

/// Importer for vmstat of Linux.
pub static FORMAT: Format = Format {
    name: "vmstat",
    summary: "vmstat of Linux: -a, -t, -w, -n, -d, -D, -p, -s, -m, also with a time stamp before each line",
    family: Family::Linux,
    tables: &[&cpu::TABLE, &sched::TABLE, &mem::TABLE, &vm::TABLE, &disk::TABLE],
    example: "\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC
 1  0      0 22392704  14976 2096792    0    0   806  1586  222  317 28  3 69  0  0 2026-11-21 08:19:03
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    if head.text.contains("swpd") && head.any(columns::is_header) {
        return Sure::Certain;
    }
    if head.any(sums::is_header) || head.lines().filter(|l| sums::is_linux(l)).count() >= 2 {
        return Sure::Certain;
    }
    let lines: Vec<_> = head.lines().take(40).collect();
    let translated = lines.windows(3).any(|w| columns::is_translated(w[0], w[1], w[2]));
    if translated || head.any(slabs::is_header) { Sure::Likely } else { Sure::No }
}

/// A screen of fewer lines than this is too short: a header that comes sooner begins another run.
const MIN_PAGE: u64 = 10;

/// Kind of the lines under the last header.
enum Section {
    /// Nothing yet, or what is not understood.
    Other,
    /// The line of groups was seen: the next line names the columns.
    Groups,
    /// The names of the columns; they are laid out when the first line of figures shows how many.
    Named(String),
    /// One line, one interval.
    Figures(Columns),
    /// Kernel memory caches.
    Slabs,
    /// Disks or a partition since boot.
    Sums(Kind),
}

struct Reader {
    section: Section,
    /// The switches of the command, where it is above its output.
    command: Command,
    clock: Clock,
    /// Lengths of intervals, where lines have times.
    ticker: Ticker,
    /// Seconds between lines that have no times.
    interval_s: Option<f64>,
    /// Lines of figures since the last header, and in each full page.
    in_page: u64,
    page: Option<u64>,
    /// Lines of figures since the run began.
    in_run: u64,
    /// The moment of the last time stamp on a separate line, until the next line of figures.
    begun: Option<Micros>,
    last: Option<Micros>,
    /// The first cache of a list: when it comes again, so does the list.
    first_slab: String,
    sums: Sums,
    /// The last time at the end of a line, to the minute.
    minute: (String, Micros),
    judged: bool,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head();
    let ticker = Ticker::new(out.hints(), &head, seconds);
    drop(head);
    let mut reader = Reader {
        section: Section::Other,
        command: Command::default(),
        clock: Clock::new(out.hints()),
        ticker,
        interval_s: None,
        in_page: 0,
        page: None,
        in_run: 0,
        begun: None,
        last: None,
        first_slab: String::new(),
        sums: Sums::default(),
        minute: (String::new(), Micros(0)),
        judged: false,
    };
    input.each_line(|number, line| reader.line(number, line, out));
    reader.flush(out);
    reader.sums.finish(out);
}

/// The time of a line of figures in seconds, where it has one.
fn seconds(line: &str) -> Option<f64> {
    let mut values = [0.0; columns::MOST];
    // The usual line first: looking for a time where there is none costs more than the figures.
    let (n, rest) = columns::figures(line, &mut values);
    if n >= columns::MIN_COLUMNS
        && let Some(behind) = stamp(rest)
    {
        return Some(behind.when.seconds());
    }
    let before = stamp(line);
    let (n, rest) = columns::figures(before.as_ref().map_or(line, |s| s.rest), &mut values);
    if n < columns::MIN_COLUMNS {
        return None;
    }
    before.or_else(|| stamp(rest)).map(|s| s.when.seconds())
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, out: &mut Out<'_>) {
        let mut values = [0.0; columns::MOST];
        // The usual line first: nothing but figures, and perhaps a time behind them.
        let (n, rest) = columns::figures(line, &mut values);
        if n >= columns::MIN_COLUMNS && self.figures(number, line, None, &mut values[..n], rest, out) {
            return;
        }
        let line = line.trim().trim_start_matches("^C").trim_start();
        if line.is_empty() || self.header(line, out) || self.sum(line, out) {
            return;
        }
        if let Some(stamp) = stamp(line) {
            if stamp.rest.is_empty() || stamp.rest.starts_with(['*', '#', '=', '-']) {
                self.flush(out);
                let t = stamp.when.moment(&mut self.clock, out);
                self.begin_at(t);
                return;
            }
            let (n, rest) = columns::figures(stamp.rest, &mut values);
            if n >= columns::MIN_COLUMNS && self.figures(number, line, Some(&stamp.when), &mut values[..n], rest, out) {
                return;
            }
        }
        if let (Section::Slabs, Some(slab)) = (&self.section, slabs::slab(line)) {
            let t = self.slab_time(slab.name, out);
            slab.write(t, out);
            return;
        }
        match Command::read(line) {
            Some(command) => {
                self.command = command;
                self.section = Section::Other;
                self.new_run();
            }
            None if command::is_prompt(line) => {}
            None => out.unknown(number, line, "no line of vmstat"),
        }
    }

    /// Takes a line of a header; false when it is none.
    fn header(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let line = stamp(line).map_or(line, |s| s.rest);
        if slabs::is_header(line) {
            if !matches!(self.section, Section::Slabs) {
                self.new_run();
            }
            self.section = Section::Slabs;
            return true;
        }
        if let Some(kind) = sums::header(line) {
            self.section = Section::Sums(kind);
            return true;
        }
        if columns::is_groups(line) {
            self.turn_page();
            self.section = Section::Groups;
            return true;
        }
        let named = columns::is_header(line) || matches!(self.section, Section::Groups);
        if !named || line.as_bytes().first().is_some_and(u8::is_ascii_digit) {
            return false;
        }
        if !matches!(self.section, Section::Groups) {
            // The line of groups was filtered out.
            self.turn_page();
        }
        if let Some(zone) = columns::zone_of(line) {
            let zone = zone_named(zone, out);
            self.clock.set_zone(zone);
            self.minute.0.clear();
        }
        self.section = Section::Named(line.to_owned());
        true
    }

    /// Takes a line of totals since boot; false when it is none.
    fn sum(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let kind = match &self.section {
            Section::Sums(kind) => kind,
            _ => &Kind::Labelled,
        };
        let Some(sum) = sums::sum(line, kind) else { return false };
        if self.sums.has(&sum) {
            self.flush(out);
        }
        if let Some(stamp) = stamp(sum.rest).filter(|_| self.sums.is_empty()) {
            self.begun = Some(stamp.when.moment(&mut self.clock, out));
        }
        self.sums.add(&sum);
        true
    }

    /// Totals of one moment are complete.
    fn flush(&mut self, out: &mut Out<'_>) {
        if self.sums.is_empty() {
            return;
        }
        let stamped = self.begun.is_some();
        let t = match (self.begun.take(), self.last) {
            (Some(t), _) => t,
            (None, None) => Relative::elapsed(out).after(0.0),
            (None, Some(last)) => Micros(last.0.saturating_add((self.interval(out) * 1e6).round() as i64)),
        };
        self.last = Some(t);
        self.sums.sample(t, stamped, out);
    }

    /// A header came: it is the next page's, or begins another run.
    fn turn_page(&mut self) {
        let lines = std::mem::take(&mut self.in_page);
        let early = self.page.is_some_and(|page| lines != page) || lines < MIN_PAGE;
        if early {
            self.new_run();
        } else {
            self.page = Some(lines);
        }
    }

    fn new_run(&mut self) {
        self.in_run = 0;
        self.in_page = 0;
        self.page = None;
        self.ticker.restart();
    }

    /// A time stamp on a separate line, as loops and OSWatcher print before they begin a run.
    fn begin_at(&mut self, t: Micros) {
        self.begun = Some(t);
        self.section = Section::Other;
        self.new_run();
    }

    /// Takes a line of figures; false when it does not fit the header.
    fn figures(
        &mut self,
        number: u64,
        line: &str,
        before: Option<&When<'_>>,
        values: &mut [f64],
        rest: &str,
        out: &mut Out<'_>,
    ) -> bool {
        if let Section::Named(names) = &self.section {
            let Some(columns) = Columns::new(names, values.len(), self.command.unit.unwrap_or(1024.0)) else {
                return false;
            };
            self.section = Section::Figures(columns);
        }
        let Section::Figures(columns) = &self.section else { return false };
        if values.len() != columns.len() {
            if before.is_none() && stamp(line).is_some() {
                // Seconds since 1970 look like one more figure.
                return false;
            }
            let why = format!("not the {} figures under the header", columns.len());
            out.unknown(number, line, &why);
            // Its interval has passed all the same.
            self.time(None, false, out);
            return true;
        }
        let stamped = match before {
            Some(when) => Some(when.moment(&mut self.clock, out)),
            None if rest.is_empty() => None,
            None => match self.time_behind(rest, out) {
                Some(t) => Some(t),
                None => {
                    out.unknown(number, line, "no date and time behind the figures");
                    return true;
                }
            },
        };
        self.write(stamped, values, out);
        true
    }

    /// `2026-11-21 08:19:03`, in RHEL 6 with a zone behind it.
    fn time_behind(&mut self, rest: &str, out: &mut Out<'_>) -> Option<Micros> {
        let second = |r: &str| r.get(17..19).and_then(|s| s.parse::<i64>().ok());
        let (minute, at) = (rest.get(..16)?, &self.minute);
        if rest.len() == 19 && *minute == at.0 {
            return second(rest).map(|s| Micros(at.1.0 + s * 1_000_000));
        }
        let stamp = stamp(rest).filter(|s| s.rest.is_empty())?;
        let t = stamp.when.moment(&mut self.clock, out);
        if let (19, Some(s)) = (rest.len(), second(rest)) {
            self.minute = (minute.to_owned(), Micros(t.0 - s * 1_000_000));
        }
        Some(t)
    }

    /// When an interval ended, and how long it was; None for the length of the first of a run.
    fn time(&mut self, stamped: Option<Micros>, boot: bool, out: &mut Out<'_>) -> (Micros, Option<f64>) {
        if let Some(t) = stamped {
            let dt = self.ticker.tick(t);
            return (t, dt.filter(|_| !boot));
        }
        // A stamp above the run is its begin.
        let base = self.begun.take().or(self.last);
        let base = base.unwrap_or_else(|| Relative::elapsed(out).after(0.0));
        let dt = if boot { None } else { Some(self.interval(out)) };
        let t = Micros(base.0.saturating_add((dt.unwrap_or(0.0) * 1e6).round() as i64));
        self.last = Some(t);
        (t, dt)
    }

    fn interval(&mut self, out: &mut Out<'_>) -> f64 {
        let known = self.interval_s.or(out.hints().interval_s).or(self.command.interval_s);
        let interval_s = known.unwrap_or_else(|| {
            out.assume("one second between lines, as the input does not say (give --interval)");
            1.0
        });
        self.interval_s = Some(interval_s);
        interval_s
    }

    fn write(&mut self, stamped: Option<Micros>, values: &mut [f64], out: &mut Out<'_>) {
        let boot = self.in_run == 0 && !self.command.no_first;
        self.in_run += 1;
        self.in_page += 1;
        let (t, dt) = self.time(stamped, boot, out);
        let Section::Figures(columns) = &self.section else { return };
        if !std::mem::replace(&mut self.judged, true) && self.command.unit.is_none() && columns.small(values) {
            out.assume("memory and swap are in KiB; they are so small that `vmstat -S m` or `-S M` may have been used");
        }
        if columns.mend_guest(values) {
            out.assume("`gu` above 100 is the guest time since boot, a fault of procps 4; `us` and `gu` of such lines are left out");
        }
        out.since_boot(boot);
        columns.layout.fill(out, (t, dt), values);
        out.since_boot(false);
    }

    /// When a list of caches was printed: it has no times.
    fn slab_time(&mut self, name: &str, out: &mut Out<'_>) -> Micros {
        if let Some(t) = self.begun.take() {
            self.first_slab = name.to_owned();
            self.last = Some(t);
            return t;
        }
        let t = match self.last {
            None => Relative::elapsed(out).after(0.0),
            Some(t) if *self.first_slab != *name => return t,
            Some(t) => Micros(t.0.saturating_add((self.interval(out) * 1e6).round() as i64)),
        };
        self.first_slab = name.to_owned();
        self.last = Some(t);
        t
    }
}

#[cfg(test)]
mod tests;
