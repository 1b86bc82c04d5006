//! `iostat` of AIX: terminals and CPU, disks, and with `-D` each disk's service times.
//!
//! `Kb_read` and `Kb_wrtn` are amounts over the interval, or since boot in a report without an
//! interval. Since AIX 5.3 (which prints the system's configuration on top) the first report of
//! several is an interval as the others. With `-D` bytes come with letters for thousands, and times
//! with `S` for seconds instead of milliseconds.

use fenxi_model::{
    Micros, Place,
    catalog::{cpu, disk},
    place::F64,
};

use super::times::{Times, Tool, tells_configuration};
use crate::{Family, Fields, Format, Head, Input, Out, Splitter, Sure, civil_time, number, scaled};

/// Importer for iostat of AIX.
pub static FORMAT: Format = Format {
    name: "aix-iostat",
    summary: "iostat of AIX: the default, -d, -t, -s, -T, -D",
    family: Family::Unix,
    tables: &[&disk::TABLE, &cpu::TABLE],
    example: "\
tty:      tin         tout    avg-cpu: % user % sys % idle % iowait
          0.0         53.6                0.5   0.8   98.6      0.1

Disks:        % tm_act     Kbps      tps    Kb_read   Kb_wrtn
hdisk0           0.2       4.5       0.5         32       292
",
    sniff,
    read,
};

const TOOL: Tool =
    Tool { name: "iostat", takes: "S@", every: None, counters: false, default_s: 1.0, first_since_boot: true };

fn sniff(head: &Head<'_>) -> Sure {
    let own = [
        "% tm_act Kbps tps Kb_read Kb_wrtn",
        "xfer: %tm_act bps tps bread bwrtn",
        "avg-cpu: % user % sys % idle % iowait",
    ];
    Sure::Certain.when(own.iter().any(|words| head.has_words(words)))
}

/// Content of the next line of numbers.
#[derive(Clone, Copy, PartialEq)]
enum Section {
    Cpu,
    Disks,
    /// One of the four lines about a disk with `-D`.
    Part(&'static str),
    /// The whole system or an adapter: sums over its disks.
    Sum,
    Nothing,
}

/// Unit of a value of `-D`.
#[derive(Clone, Copy)]
enum Unit {
    Plain,
    Bytes,
    Millis,
}

/// Columns with `-D` by part and word; the others go to `metric`.
const PARTS: &[(&str, &str, Place<disk::Schema, F64>, Unit)] = &[
    ("xfer:", "%tm_act", disk::util, Unit::Plain),
    ("xfer:", "bps", disk::transfer_bytes_per_s, Unit::Bytes),
    ("xfer:", "tps", disk::transfers_per_s, Unit::Plain),
    ("xfer:", "bread", disk::read_bytes_per_s, Unit::Bytes),
    ("xfer:", "bwrtn", disk::write_bytes_per_s, Unit::Bytes),
    ("read:", "rps", disk::reads_per_s, Unit::Plain),
    ("read:", "avgserv", disk::read_await_ms, Unit::Millis),
    ("write:", "wps", disk::writes_per_s, Unit::Plain),
    ("write:", "avgserv", disk::write_await_ms, Unit::Millis),
    ("queue:", "avgtime", disk::wait_ms, Unit::Millis),
    ("queue:", "avgwqsz", disk::wait_queue, Unit::Plain),
    ("queue:", "avgsqsz", disk::queue_depth, Unit::Plain),
];
const PART_WORDS: [&str; 4] = ["xfer:", "read:", "write:", "queue:"];

struct Reader {
    times: Times,
    section: Section,
    names: Vec<String>,
    block: Option<(Micros, Option<f64>)>,
    /// Which sections the block has had.
    had: (bool, bool),
    first: Option<String>,
    /// The disk of `-D` whose lines are being read, and its values so far.
    device: String,
    values: Vec<(Place<disk::Schema, F64>, f64)>,
    others: Vec<(String, f64)>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head();
    let count = |word: &str| head.lines().filter(|line| line.trim_start().starts_with(word)).take(2).count();
    let first = head.lines().find(|line| line.contains(" xfer: ")).and_then(|line| line.split(' ').next());
    let reports = count("tty:").max(count("Disks:")).max(first.map_or(0, count));
    drop(head);
    let tool = Tool { first_since_boot: !tells_configuration(input) || reports < 2, ..TOOL };
    let mut reader = Reader {
        times: Times::new(input, out, tool),
        section: Section::Nothing,
        names: Vec::new(),
        block: None,
        had: (false, false),
        first: None,
        device: String::new(),
        values: Vec::new(),
        others: Vec::new(),
    };
    let mut splitter = Splitter::default();
    input.each_line(|number, line| reader.line(number, line, &mut splitter, out));
    reader.write_device(out);
    out.since_boot(false);
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        let line = self.times.strip(line, out).trim();
        if line.is_empty() || line.bytes().all(|b| matches!(b, b'-' | b' ')) {
            return;
        }
        let fields = splitter.blanks(line);
        let known = self.times.configuration(line, out)
            || self.header(&fields, out)
            || self.row(number, line, &fields, out)
            || self.times.knows(line);
        if !known {
            out.unknown(number, line, "neither header nor values");
        }
    }

    /// Reads a header line; false if it is none.
    fn header(&mut self, fields: &Fields<'_>, out: &mut Out<'_>) -> bool {
        let part = (0..2).find_map(|i| PART_WORDS.iter().find(|w| **w == fields.get(i)).map(|w| (i, *w)));
        let (section, from) = match (fields.get(0), part) {
            (_, Some((i, word))) => (Section::Part(word), i + 1),
            ("tty:", _) => (Section::Cpu, 1),
            ("Disks:", _) => (Section::Disks, 1),
            ("System:" | "Adapter:" | "Vadapter:" | "Kbps", _) => (Section::Sum, 1),
            _ => return false,
        };
        if section != Section::Part("read:") && section != Section::Part("write:") && section != Section::Part("queue:")
        {
            self.write_device(out);
        }
        let again = match section {
            Section::Cpu => self.had.0 || self.had.1,
            Section::Disks => self.had.1,
            Section::Part("xfer:") => self.first.as_deref() == Some(fields.get(0)),
            _ => false,
        };
        if again || self.block.is_none() && matches!(section, Section::Cpu | Section::Disks | Section::Part(_)) {
            self.block = None;
            self.had = (false, false);
            self.first = None;
        }
        self.had.0 |= section == Section::Cpu;
        self.had.1 |= section == Section::Disks;
        if section == Section::Part("xfer:") {
            self.device = fields.get(0).to_owned();
            self.first.get_or_insert_with(|| fields.get(0).to_owned());
        }
        // `% user` is one head.
        self.names.clear();
        let mut percent = false;
        for word in fields.from(from).iter().filter(|word| *word != "avg-cpu:") {
            if word == "%" {
                percent = true;
                continue;
            }
            self.names.push(if percent { format!("%{word}") } else { word.to_owned() });
            percent = false;
        }
        self.section = section;
        true
    }

    /// Reads a line of values; false if it is none.
    fn row(&mut self, line: u64, text: &str, fields: &Fields<'_>, out: &mut Out<'_>) -> bool {
        let named = self.section == Section::Disks;
        let values = fields.from(usize::from(named));
        if self.section == Section::Nothing || !values.get(0).starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            return false;
        }
        if self.section == Section::Sum {
            return true;
        }
        if values.len() != self.names.len() {
            out.wrong_count(line, text, values.len(), self.names.len());
            return true;
        }
        let timed = self.names.iter().position(|n| n == "time").and_then(|at| civil_time(values.get(at), None));
        if let Some(time) = timed.filter(|_| self.block.is_none()) {
            self.times.at(time, out);
        }
        let block = *self.block.get_or_insert_with(|| self.times.begin(out));
        match self.section {
            Section::Cpu => self.cpu(&values, block, out),
            Section::Disks => self.disk(fields.get(0), &values, block, out),
            Section::Part(part) => self.part(part, &values),
            Section::Sum | Section::Nothing => {}
        }
        true
    }

    fn cpu(&self, values: &Fields<'_>, (t, dt): (Micros, Option<f64>), out: &mut Out<'_>) {
        let place = |name: &str| match name {
            "%user" => Some(cpu::usr),
            "%sys" => Some(cpu::sys),
            "%idle" => Some(cpu::idle),
            "%iowait" => Some(cpu::iowait),
            _ => None,
        };
        if self.names.iter().any(|name| place(name).is_some()) {
            let mut row = out.row(&cpu::TABLE, t, dt);
            for (column, name) in self.names.iter().enumerate() {
                if let Some(place) = place(name) {
                    row.f64(place, number(values.get(column)));
                }
            }
        }
        let others = self.names.iter().enumerate().filter(|(_, name)| place(name).is_none() && *name != "time");
        for (column, name) in others {
            out.metric(t, dt, &format!("aix-iostat.{name}"), "", number(values.get(column)), "");
        }
    }

    fn disk(&self, name: &str, values: &Fields<'_>, (t, dt): (Micros, Option<f64>), out: &mut Out<'_>) {
        let mut row = out.row(&disk::TABLE, t, dt);
        row.str(disk::device, name).str(disk::class, class(name));
        for (column, word) in self.names.iter().enumerate() {
            let value = number(values.get(column)).or_else(|| scaled(values.get(column), 1000.0));
            let over = |value: Option<f64>| value.zip(dt.filter(|dt| *dt > 0.0)).map(|(v, dt)| v * 1024.0 / dt);
            match word.as_str() {
                "%tm_act" => row.f64(disk::util, value),
                "Kbps" => row.f64(disk::transfer_bytes_per_s, value.map(|v| v * 1024.0)),
                "tps" => row.f64(disk::transfers_per_s, value),
                "Kb_read" => row.f64(disk::read_bytes_per_s, over(value)),
                "Kb_wrtn" => row.f64(disk::write_bytes_per_s, over(value)),
                _ => &mut row,
            };
        }
    }

    fn part(&mut self, part: &str, values: &Fields<'_>) {
        for (column, word) in self.names.iter().enumerate() {
            let known = PARTS.iter().find(|(p, w, ..)| *p == part && w == word);
            let unit = known.map_or(Unit::Plain, |(.., unit)| *unit);
            let unit = if word.ends_with("serv") || word.ends_with("time") { Unit::Millis } else { unit };
            let Some(value) = value(values.get(column), unit) else { continue };
            match known {
                Some((.., place, _)) => self.values.push((*place, value)),
                None => self.others.push((format!("{}.{word}", part.trim_end_matches(':')), value)),
            }
        }
        if self.values.len() > 4 * PARTS.len() {
            self.values.clear();
        }
    }

    /// Writes the disk whose parts are gathered.
    fn write_device(&mut self, out: &mut Out<'_>) {
        let Some((t, dt)) = self.block.filter(|_| !self.values.is_empty()) else { return };
        let idle = |place| self.values.iter().any(|(p, value)| *p == place && *value == 0.0);
        let mut row = out.row(&disk::TABLE, t, dt);
        row.str(disk::device, self.device.as_str()).str(disk::class, class(&self.device));
        for (place, value) in &self.values {
            // The mean of nothing is not 0.
            let nothing = match *place {
                disk::read_await_ms => idle(disk::reads_per_s),
                disk::write_await_ms => idle(disk::writes_per_s),
                _ => false,
            };
            row.f64(*place, Some(*value).filter(|_| !nothing));
        }
        let labels = format!("device={}", self.device);
        for (name, value) in self.others.drain(..) {
            out.metric(t, dt, &format!("aix-iostat.{name}"), &labels, value, "");
        }
        self.values.clear();
    }
}

/// `16.4K`, `1.1S`
fn value(cell: &str, unit: Unit) -> Option<f64> {
    number(cell).or_else(|| match unit {
        Unit::Millis => match cell.strip_suffix('S') {
            Some(seconds) => number(seconds).map(|s| s * 1000.0),
            None => cell.strip_suffix('H').and_then(number).map(|h| h * 3_600_000.0),
        },
        Unit::Plain | Unit::Bytes => scaled(cell, 1000.0),
    })
}

fn class(name: &str) -> Option<&'static str> {
    match name.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "hdisk" | "hdiskpower" => Some("disk"),
        "cd" => Some("rom"),
        _ => None,
    }
}
