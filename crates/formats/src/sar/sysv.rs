//! The `sar` of System V as Solaris, AIX and HP-UX have it: what the three have in common.
//!
//! A header line has a time, the lines under it too. Sections follow each other over the whole day, or
//! (live, with several options) headers are stacked, and so are the lines of each moment: only the
//! first of a stack has a time. Devices and CPUs of a moment are separate lines without a time.

use fenxi_model::{
    Micros, Table,
    catalog::{cpu, disk, mem, sched, vm},
};
use jiff::civil::Date;
use rustc_hash::FxHashMap;

use super::{
    moment::Events,
    plan::Plan,
    sar::{Line, Pace, is_header},
    section::SYSV,
    stamp::Stamp,
    write::{When, Writer},
};
use crate::{Clock, Fields, Head, Input, Out, Splitter, Sure, Ticker, civil_date, number};

/// Tables that these formats fill.
pub(super) static TABLES: &[&Table] = &[&cpu::TABLE, &sched::TABLE, &mem::TABLE, &vm::TABLE, &disk::TABLE];

/// Columns of pages, whose size the header does not have.
const PAGES: [&str; 3] = ["freemem", "ppgin/s", "ppgout/s"];

/// The line that names the system: `SunOS db1 5.11 11.3 sun4v    05/26/2017`.
struct Banner<'a> {
    host: &'a str,
    machine: &'a str,
    date: Date,
}

fn banner<'a>(line: &'a str, system: &str) -> Option<Banner<'a>> {
    let mut words = line.split_ascii_whitespace();
    if words.next() != Some(system) {
        return None;
    }
    let host = words.next()?;
    let mut machine = "";
    let mut last = words.next()?;
    for word in words {
        machine = last;
        last = word;
    }
    Some(Banner { host, machine, date: civil_date(last)? })
}

/// Whether it is the report of `system`.
pub(super) fn sniff(head: &Head<'_>, system: &str) -> Sure {
    let known = head.any(|line| {
        let Some(stamp) = Stamp::find(line) else { return false };
        let names: Vec<&str> = stamp.rest.split_ascii_whitespace().collect();
        !names.is_empty() && is_header(names[0], names.get(1).unwrap_or(&"")) && plan(&names, None).is_known()
    });
    Sure::Certain.when(known && head.any(|line| banner(line, system).is_some()))
}

/// Plans for a header line. Names that come twice are told apart by what they stand behind.
fn plan(names: &[&str], page_bytes: Option<f64>) -> Plan {
    let mut headers: Vec<String> = Vec::with_capacity(names.len());
    let mut group = "";
    for name in names {
        match *name {
            "ov" => headers.push(format!("{group}-ov")),
            "alloc" | "fail" => headers.push(format!("{}_{name}", group.split('_').next().unwrap_or(""))),
            other => {
                group = other;
                headers.push(other.to_owned());
            }
        }
    }
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    let mut plan = Plan::among(&SYSV, &headers);
    for (column, _) in names.iter().enumerate().filter(|(_, name)| PAGES.contains(name)) {
        plan.scale(column, page_bytes);
    }
    plan
}

struct Reader {
    system: &'static str,
    base: Clock,
    ticker: Ticker,
    page_bytes: Option<f64>,
    paces: FxHashMap<Box<str>, Pace>,
    /// The header line that began the current stack, and the plans of the stack with their names.
    stack: Vec<(Plan, Vec<String>)>,
    /// Where the names of each end in their lines.
    ends: Vec<Vec<usize>>,
    kind: Box<str>,
    /// Whether the stack's headers have ended.
    filled: bool,
    /// The plan of the last line, and its time.
    place: usize,
    when: Option<When>,
    sampled: bool,
    events: Events,
    writer: Writer,
}

/// Reads the report of `system`.
pub(super) fn read(input: &mut Input<'_>, out: &mut Out<'_>, system: &'static str) {
    let head = input.head();
    let ticker = Ticker::new(out.hints(), &head, |line| Stamp::find(line)?.seconds());
    drop(head);
    let mut reader = Reader {
        system,
        base: Clock::new(out.hints()),
        ticker,
        page_bytes: None,
        paces: FxHashMap::default(),
        stack: Vec::new(),
        ends: Vec::new(),
        kind: "".into(),
        filled: false,
        place: 0,
        when: None,
        sampled: false,
        events: Events::default(),
        writer: Writer::among(&SYSV),
    };
    let mut splitter = Splitter::default();
    input.each_line(|number, line| reader.line(number, line, &mut splitter, out));
    reader.writer.flush(out);
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        if line.trim().is_empty() {
            return;
        }
        let stamp = Stamp::find(line);
        let fields = splitter.blanks(stamp.map_or(line, |s| s.rest));
        let first = fields.get(0);
        let header = is_header(first, fields.get(1)) && first != "N/A";
        match stamp {
            Some(stamp) if header && stamp.rest.contains("restart") => self.restart(stamp, out),
            Some(stamp) if header => self.header(number, line, stamp, &fields, out),
            Some(stamp) => {
                self.place = 0;
                self.filled = true;
                let pace = self.paces.get_mut(&self.kind);
                self.when = pace.and_then(|pace| pace.when(stamp, self.sampled, out));
                self.sampled |= self.when.is_some_and(|when| !when.boot);
                self.values(number, line, &fields, out);
            }
            None if line.starts_with([' ', '\t']) => self.continued(number, line, header, &fields, out),
            None => self.untimed(number, line, out),
        }
    }

    /// A line without a time that begins in the first column.
    fn untimed(&mut self, number: u64, line: &str, out: &mut Out<'_>) {
        // An average follows from the samples; so do the lines that belong to it.
        self.when = None;
        self.filled = true;
        if line.starts_with("Average") {
        } else if let Some(banner) = banner(line, self.system) {
            self.writer.flush(out);
            out.set_host(banner.host);
            self.base.set_date(banner.date);
            self.paces.clear();
            self.page_bytes = match (self.system, banner.machine) {
                ("SunOS", "sun4u" | "sun4v" | "sun4us") => Some(8192.0),
                ("SunOS", "i86pc") | ("AIX" | "HP-UX", _) => Some(4096.0),
                _ => None,
            };
            self.sampled = false;
        } else if let Some(facts) = line.strip_prefix("System configuration:") {
            out.fact("sar", "System configuration", facts.trim());
        } else {
            out.unknown(number, line, "neither a time nor an average");
        }
    }

    fn restart(&mut self, stamp: Stamp<'_>, out: &mut Out<'_>) {
        let Some(time) = stamp.time() else { return };
        let pace = self.paces.get(&self.kind);
        let mut clock = pace.map_or(&self.base, |pace| &pace.clock).clone();
        let t = clock.at(time, out);
        self.writer.flush(out);
        self.base = clock;
        self.paces.clear();
        self.sampled = true;
        self.events.add(t, "restart", stamp.rest, out);
    }

    fn header(&mut self, number: u64, line: &str, stamp: Stamp<'_>, fields: &Fields<'_>, out: &mut Out<'_>) {
        let Some(time) = stamp.time() else {
            out.unknown(number, stamp.text, "no time of day");
            return;
        };
        self.kind = stamp.rest.into();
        if !self.paces.contains_key(&self.kind) {
            self.paces.insert(self.kind.clone(), Pace::new(self.base.clone(), self.ticker));
        }
        if let Some(pace) = self.paces.get_mut(&self.kind) {
            pace.begin(time, out);
        }
        self.stack.clear();
        self.ends.clear();
        self.push(line, fields, out);
        self.filled = false;
        self.when = None;
    }

    fn push(&mut self, line: &str, fields: &Fields<'_>, out: &mut Out<'_>) {
        self.ends.push(ends(line, fields.get(0)));
        let names: Vec<&str> = fields.iter().collect();
        if let Some(bytes) = self.page_bytes.filter(|_| names.iter().any(|n| PAGES.contains(n))) {
            out.assume(&format!("pages of {bytes} bytes, as the machine has them"));
        }
        let plan = plan(&names, self.page_bytes);
        self.stack.push((plan, names.iter().map(|n| (*n).to_owned()).collect()));
    }

    /// A line without a time: another header of the stack, or another line of the same moment.
    fn continued(&mut self, number: u64, line: &str, header: bool, fields: &Fields<'_>, out: &mut Out<'_>) {
        if header && !self.filled {
            self.push(line, fields, out);
        } else if header && plan(&fields.iter().collect::<Vec<_>>(), None).is_known() {
            // Headers repeated under a new time.
            self.when = None;
        } else if self.when.is_some() {
            let more = self.stack.get(self.place).is_some_and(|(plan, _)| {
                let same = !plan.keys.is_empty() && fields.len() == plan.columns;
                same || self.stack.len() == 1
            });
            self.place += usize::from(!more);
            self.values(number, line, fields, out);
        }
    }

    fn values(&mut self, number: u64, line: &str, fields: &Fields<'_>, out: &mut Out<'_>) {
        let (Some(when), Some((plan, names))) = (self.when, self.stack.get(self.place)) else {
            out.unknown(number, line, "figures without a header above them");
            return;
        };
        if fields.len() != plan.columns {
            let queue = names.first().is_some_and(|name| name == "runq-sz");
            let ends = self.ends.get(self.place).filter(|_| queue && fields.len() < plan.columns);
            let Some(whole) = ends.and_then(|ends| with_blanks(line, fields, ends)) else {
                out.wrong_count(number, line, fields.len(), plan.columns);
                return;
            };
            let mut splitter = Splitter::default();
            let fields = splitter.blanks(&whole);
            return self.writer.row(out, number, when, plan, &Line { fields, tail: usize::MAX });
        }
        if names.iter().any(|name| name == "proc-sz") {
            sizes(out, when, names, fields);
        } else if fields.get(0) != "U" {
            // AIX: `U` is the part of a partition's capacity that was not used.
            self.writer.row(out, number, when, plan, &Line { fields: *fields, tail: usize::MAX });
        }
    }
}

/// Where the names in a header line end, from the first of them on.
fn ends(line: &str, first: &str) -> Vec<usize> {
    let Some(begin) = line.find(first).filter(|_| line.is_ascii()) else { return Vec::new() };
    let bytes = line.as_bytes();
    let last = |at: &usize| bytes[*at] > b' ' && bytes.get(at + 1).is_none_or(|next| *next <= b' ');
    (begin..bytes.len()).filter(last).map(|at| at + 1).collect()
}

/// The cells of a line of which some are blank, as `sar -q` prints a queue that was empty, with `-` for these; by the ends of
/// the names above them. None when a cell is not clearly under one name.
fn with_blanks(line: &str, fields: &Fields<'_>, names: &[usize]) -> Option<String> {
    // Cells may be a little wider than their names, or be put to the left of them.
    const OFF: usize = 2;
    let cells = if fields.is_empty() { Vec::new() } else { ends(line, fields.rest(0)) };
    if names.is_empty() || cells.len() != fields.len() {
        return None;
    }
    let mut whole = vec!["-"; names.len()];
    for (end, cell) in cells.iter().zip(fields.iter()) {
        let mut under = names.iter().enumerate().filter(|(_, name)| name.abs_diff(*end) <= OFF);
        let (Some((place, _)), None) = (under.next(), under.next()) else { return None };
        let slot = whole.get_mut(place).filter(|slot| **slot == "-")?;
        *slot = cell;
    }
    Some(whole.join(" "))
}

/// Sizes of the system's tables, used and possible: `84/30000`; and how often one was full.
fn sizes(out: &mut Out<'_>, when: When, names: &[String], fields: &Fields<'_>) {
    let (t, dt): (Micros, _) = (when.t, when.dt);
    let mut group = "";
    for (name, cell) in names.iter().zip(fields.iter()) {
        if name == "ov" {
            if let Some(value) = number(cell) {
                out.metric(t, dt, &format!("sar.{group}-ov"), "", value, "");
            }
            continue;
        }
        group = name;
        let (used, limit) = cell.split_once('/').unwrap_or((cell, ""));
        if let Some(value) = number(used) {
            out.metric(t, dt, &format!("sar.{name}"), "", value, "");
        }
        if let Some(value) = number(limit) {
            out.metric(t, dt, &format!("sar.{name}-limit"), "", value, "");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{fixtures::read, format};

    #[test]
    fn a_queue_that_was_empty_is_no_queue_and_no_note() {
        let text = "\nAIX db1 1 7 00F6C2A04C00    11/21/16\n\nSystem configuration: lcpu=8  mode=Capped \n\n\
10:00:00 runq-sz %runocc swpq-sz %swpocc
10:00:05     1.0      20                
10:00:10                     2.0      40
10:00:15     3.0     100     1.0      20
10:00:20                                
";
        let read = read(format("sar-aix").unwrap(), text.as_bytes());
        assert_eq!(read.tally.notes, 0, "{}", read.text);
        let runnable = |t: &str, value: &str| {
            read.text.lines().any(|l| {
                l.starts_with(&format!("2016-11-21T10:00:{t}")) && l.contains(&format!("sar.runq-sz\t{value}"))
            })
        };
        assert!(runnable("05", "1") && !runnable("10", "2") && runnable("15", "3"), "{}", read.text);
        let swapped = |t: &str, value: &str| {
            read.text.lines().any(|l| {
                l.starts_with(&format!("2016-11-21T10:00:{t}")) && l.contains(&format!("sar.%swpocc\t{value}"))
            })
        };
        assert!(swapped("10", "40") && swapped("15", "20") && !swapped("05", "20"), "{}", read.text);
    }
}
