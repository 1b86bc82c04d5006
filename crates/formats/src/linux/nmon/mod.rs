//! `nmon` of Linux and AIX, the file of `-f`: sections with a line of titles each, then one line a
//! snapshot. `ZZZZ` lines give the snapshots' times.
//!
//! A sorted file, as spreadsheets want it, has its times at the end: then they are counted from the
//! beginning and the interval. What a system does not count is printed as a negative number.

mod process;
mod sections;

use fenxi_model::{
    Micros,
    catalog::{cpu, disk, fs, mem, net, process as process_table, sched, vm},
};
use jiff::civil::{Date, Time};
use rustc_hash::FxHashMap;

use super::joins::Joins;
use crate::{
    Clock, Family, Fields, Format, Head, Hints, Input, Out, Splitter, Sure, Ticker, civil_time, ctime, number,
};
use process::Processes;
use sections::{Section, Target};

/// Importer for nmon files of Linux and AIX (-f).
pub static FORMAT: Format = Format {
    name: "nmon",
    summary: "nmon files of Linux and AIX (-f)",
    family: Family::Linux,
    tables: &[
        &cpu::TABLE,
        &sched::TABLE,
        &mem::TABLE,
        &vm::TABLE,
        &disk::TABLE,
        &fs::TABLE,
        &net::TABLE,
        &process_table::TABLE,
    ],
    example: "\
AAA,progname,nmon
AAA,host,db1
CPU_ALL,CPU Total db1,User%,Sys%,Wait%,Idle%,Steal%,Busy,CPUs
ZZZZ,T0001,08:42:28,21-NOV-2026
CPU_ALL,T0001,74.5,24.8,0.0,0.0,0.6,,2
",
    sniff,
    read,
};

/// The longest configuration text of one item that is kept.
const MAX_TEXT: usize = 64 << 10;

fn sniff(head: &Head<'_>) -> Sure {
    let snapshot =
        |line: &str| line.strip_prefix("ZZZZ,T").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    Sure::Certain.when(head.any(|line| line.starts_with("AAA,progname,") || snapshot(line)))
}

struct Reader {
    clock: Clock,
    ticker: Ticker,
    /// The snapshot that the lines belong to, and its time and length.
    now: Option<(u64, Micros, Option<f64>)>,
    /// From the head of the file, for snapshots whose time is not known yet.
    date: Option<Date>,
    time: Option<Time>,
    interval: Option<f64>,
    /// The moment of both, when it was needed.
    begun: Option<Micros>,
    sections: FxHashMap<String, Section>,
    processes: Processes,
    joins: Joins,
    /// The configuration text being gathered: its item and lines.
    text: (String, String),
    /// Pages of the machine have 4096 bytes.
    small_pages: bool,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head();
    if let Some(host) = head.lines().find_map(|line| line.strip_prefix("AAA,host,")) {
        out.set_host(host.trim());
    }
    drop(head);
    let mut reader = Reader {
        clock: Clock::new(out.hints()),
        ticker: Ticker::new(out.hints(), "", |_| None),
        now: None,
        date: None,
        time: None,
        interval: out.hints().interval_s,
        begun: None,
        sections: FxHashMap::default(),
        processes: Processes::default(),
        joins: Joins::default(),
        text: Default::default(),
        small_pages: false,
    };
    let mut splitter = Splitter::default();
    input.each_line(|number, line| reader.line(number, line, &mut splitter, out));
    reader.end_text(out);
    reader.joins.flush(out);
}

/// The number of a snapshot, from `T0001`.
fn snapshot(cell: &str) -> Option<u64> {
    let digits = cell.strip_prefix('T')?;
    if digits.len() < 3 { None } else { digits.parse().ok() }
}

impl Reader {
    fn line(&mut self, line: u64, text: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        if text.trim().is_empty() {
            return;
        }
        let name = text.split(',').next().unwrap_or("");
        if name.len() == 4 && name.starts_with("BBB") {
            self.configuration(text, out);
            return;
        }
        self.end_text(out);
        let fields = splitter.at(text, b',');
        match name {
            "AAA" => self.about(&fields, out),
            "ZZZZ" => self.snapshot(line, text, &fields, out),
            "TOP" => self.top(line, text, &fields, out),
            "UARG" => {
                if snapshot(fields.get(1)).is_some() {
                    let name = format!("{} {}", fields.get(2).trim_start_matches('0'), fields.get(3));
                    out.fact("command line", &name, fields.rest(4));
                }
            }
            "ERROR" | "TRACE" => {
                if let Some((t, _)) = self.time_of(fields.get(1), out) {
                    out.event(t, "log", "nmon", fields.rest(2));
                }
            }
            _ => match self.time_of(fields.get(1), out) {
                Some(time) => self.values(line, text, time, &fields, out),
                None if fields.len() > 2 => {
                    let section = Section::new(&fields, self.small_pages);
                    self.sections.insert(name.to_owned(), section);
                }
                // Titles of a section without columns: there is nothing of its kind.
                None if fields.len() == 2
                    && name.bytes().all(|b| b.is_ascii_uppercase() || b"_0123456789".contains(&b)) => {}
                None => out.unknown(line, text, "neither titles nor a snapshot of nmon"),
            },
        }
    }

    /// A line about the tool and the system.
    fn about(&mut self, fields: &Fields<'_>, out: &mut Out<'_>) {
        let (name, value) = (fields.get(1), fields.get(2));
        match name {
            "host" => out.set_host(value),
            "date" => self.date = date(value),
            "time" => self.time = civil_time(&value.replace('.', ":"), None),
            "interval" => {
                self.interval = out.hints().interval_s.or_else(|| number(value)).filter(|s| *s > 0.0);
                let hints = Hints { interval_s: self.interval, ..out.hints().clone() };
                self.ticker = Ticker::new(&hints, "", |_| None);
            }
            "OS" => {
                let machine = fields.get(fields.len().saturating_sub(1));
                self.small_pages = ["x86_64", "i686", "i386", "s390x"].contains(&machine);
            }
            // Advice for users of spreadsheets.
            note if note.starts_with("note") => return,
            _ => {}
        }
        if fields.len() > 2 {
            out.fact("nmon", name, fields.rest(2));
        }
    }

    /// One line of the configuration: `BBBP,001,/etc/release,"text"`.
    fn configuration(&mut self, text: &str, out: &mut Out<'_>) {
        let mut parts = text.splitn(4, ',');
        let (name, _, item, rest) = (parts.next(), parts.next(), parts.next().unwrap_or(""), parts.next());
        let (item, rest) = match rest {
            Some(rest) => (item, rest),
            None if name == Some("BBBP") => (item, ""),
            None => ("", item),
        };
        let item = if item.is_empty() { name.unwrap_or("") } else { item };
        if self.text.0 != item {
            self.end_text(out);
            item.clone_into(&mut self.text.0);
        }
        let rest = rest.trim_matches('"');
        if self.text.1.len().saturating_add(rest.len()) < MAX_TEXT && !rest.is_empty() {
            self.text.1.push_str(rest);
            self.text.1.push('\n');
        }
    }

    fn end_text(&mut self, out: &mut Out<'_>) {
        let (item, text) = &mut self.text;
        if !text.is_empty() {
            out.fact("nmon configuration", item, text.trim_end());
        }
        item.clear();
        text.clear();
    }

    /// A line with the time of a snapshot: `ZZZZ,T0001,08:42:28,21-NOV-2026`.
    fn snapshot(&mut self, line: u64, text: &str, fields: &Fields<'_>, out: &mut Out<'_>) {
        let (Some(number), Some(time)) = (snapshot(fields.get(1)), civil_time(fields.get(2), None)) else {
            out.unknown(line, text, "no number and time of a snapshot");
            return;
        };
        if self.now.is_some_and(|(last, ..)| number <= last) {
            // Of a sorted file, whose snapshots are written already, or of another run.
            if number != 1 {
                return;
            }
            self.ticker.restart();
        }
        self.joins.flush(out);
        let t = match date(fields.get(3)).or(self.date.filter(|_| self.now.is_none())) {
            Some(date) => self.clock.moment(date.to_datetime(time)),
            None => self.clock.at(time, out),
        };
        self.now = Some((number, t, self.ticker.tick(t)));
    }

    /// The time and length of the snapshot called `cell`; None when it is no snapshot's name.
    fn time_of(&mut self, cell: &str, out: &mut Out<'_>) -> Option<(Micros, Option<f64>)> {
        let number = snapshot(cell)?;
        if let Some((last, t, dt)) = self.now
            && last == number
        {
            return Some((t, dt));
        }
        // Its time comes later, as the file is sorted: count from the beginning.
        let interval = self.interval.unwrap_or(1.0);
        let begin = self.begin(out)?;
        let t = Micros(begin.0.saturating_add((interval * 1e6 * number as f64) as i64));
        Some((t, Some(interval)))
    }

    /// When the tool was begun, from the head of the file.
    fn begin(&mut self, out: &mut Out<'_>) -> Option<Micros> {
        if self.begun.is_none() {
            self.begun = Some(self.clock.moment(self.date?.to_datetime(self.time?)));
            out.assume("times counted from the beginning, as the file is sorted and has its times at the end");
        }
        self.begun
    }

    fn top(&mut self, line: u64, text: &str, fields: &Fields<'_>, out: &mut Out<'_>) {
        if let Some(time) = self.time_of(fields.get(2), out) {
            self.processes.write(line, text, time, fields, out);
        } else if fields.get(1) == "+PID" {
            self.processes.titles(fields);
        } else if !fields.get(1).starts_with('%') {
            out.unknown(line, text, "neither titles nor a process");
        }
    }

    /// The figures of one section at one snapshot.
    fn values(&mut self, line: u64, text: &str, time: (Micros, Option<f64>), fields: &Fields<'_>, out: &mut Out<'_>) {
        let Some(section) = self.sections.get(fields.get(0)) else {
            out.unknown(line, text, "no titles of this section before");
            return;
        };
        let values = fields.from(2);
        let more = values.iter().skip(section.columns.len()).any(|v| !v.is_empty());
        if more {
            out.wrong_count(line, text, values.len(), section.columns.len());
            return;
        }
        let (t, dt) = time;
        for (column, cell) in section.columns.iter().zip(values.iter()) {
            let value = match number(cell) {
                Some(value) => Some(value).filter(|v| !v.is_sign_negative()),
                None if matches!(cell, "" | "-" | "nan" | "-nan" | "NaN" | "inf" | "INF" | "N/A") => None,
                None => {
                    out.unknown(line, cell, "no number");
                    continue;
                }
            };
            let value = if column.over_interval { value.zip(dt).map(|(v, dt)| v / dt) } else { value };
            match &column.target {
                Target::Join { table, key, place, scale } => {
                    self.joins.set(out, time, (table, *place), key, value.map(|v| v * scale));
                }
                Target::Metric { name, labels } => {
                    if value.is_some() {
                        out.metric(t, dt, name, labels, value, "");
                    }
                }
                Target::Skip => {}
            }
        }
    }
}

/// The date in `21-NOV-2026`.
fn date(text: &str) -> Option<Date> {
    ctime(&format!("{} 00:00:00", text.replace('-', " "))).map(|c| c.when.date())
}
