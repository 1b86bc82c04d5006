//! `mpstat` of sysstat, as text: processors, interrupts and soft interrupts.
//!
//! A block begins with a header line that carries the time of the interval's begin; its lines carry
//! the end. A block whose header and lines carry the same time is the average since boot.

use fenxi_model::{
    Micros,
    catalog::{cpu, irq, softirq},
};

use crate::import::{
    Clock, Family, Field, Fields, Format, Head, Input, Join, Layout, Out, Splitter, Sure, Ticker, banner, civil_time,
    col, number,
};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "mpstat",
    summary: "mpstat of sysstat: -P ALL, -A, -I, -u, -N",
    family: Family::Linux,
    tables: &[&cpu::TABLE, &irq::TABLE, &softirq::TABLE],
    example: "\
Linux 6.1.0 (db1) \t11/21/26 \t_x86_64_\t(8 CPU)

14:35:52     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
14:35:53     all   12.03    0.00    3.10    0.25    0.00    0.38    0.00    0.00    0.00   84.24
",
    sniff,
    read,
};

pub(super) const COLUMNS: &[Field] = &[
    col("%usr", &cpu::TABLE, cpu::usr),
    col("%user", &cpu::TABLE, cpu::usr),
    col("%nice", &cpu::TABLE, cpu::nice),
    col("%sys", &cpu::TABLE, cpu::sys),
    col("%system", &cpu::TABLE, cpu::sys),
    col("%iowait", &cpu::TABLE, cpu::iowait),
    col("%irq", &cpu::TABLE, cpu::irq),
    col("%soft", &cpu::TABLE, cpu::softirq),
    col("%steal", &cpu::TABLE, cpu::steal),
    col("%guest", &cpu::TABLE, cpu::guest),
    col("%gnice", &cpu::TABLE, cpu::guest_nice),
    col("%idle", &cpu::TABLE, cpu::idle),
    col("intr/s", &cpu::TABLE, cpu::intr_per_s),
    Field::skip("CORE"),
    Field::skip("SOCK"),
    Field::skip("NODE"),
];

fn sniff(head: &Head<'_>) -> Sure {
    if head.has_words("%irq %soft") && !head.has_words("%steal %irq") {
        return Sure::Certain;
    }
    let interrupts = |line: &str| stamp(line).is_some_and(|s| s.rest.split_ascii_whitespace().eq(["CPU", "intr/s"]));
    Sure::Likely.when(head.any(interrupts))
}

/// The time at the beginning of a line.
struct Stamp<'a> {
    time: jiff::civil::Time,
    rest: &'a str,
}

/// Reads `14:35:53` or `02:35:53 PM` at the beginning of `line`.
fn stamp(line: &str) -> Option<Stamp<'_>> {
    let (first, rest) = line.split_once([' ', '\t'])?;
    if !first.as_bytes().first()?.is_ascii_digit() {
        return None;
    }
    let rest = rest.trim_start();
    let half = rest.get(..2).filter(|h| matches!(*h, "AM" | "PM"));
    let rest = if half.is_some() { rest[2..].trim_start() } else { rest };
    Some(Stamp { time: civil_time(first, half)?, rest })
}

/// What the lines under the last header are.
enum Section {
    /// Shares and rates of each CPU.
    Cpu(Layout),
    /// Interrupts per second of each CPU, all interrupts together.
    Total,
    /// Interrupts per second by name, for each CPU.
    Hard(Vec<String>),
    /// Soft interrupts per second by name, for each CPU.
    Soft(Vec<String>),
    /// Something else: averages by NUMA node, which follow from the CPUs.
    Other,
}

struct Reader {
    clock: Clock,
    ticker: Ticker,
    section: Section,
    /// When the current block began, from its header.
    begin: Option<Micros>,
    /// Set where the text has the CPUs' columns in two sections.
    join: Option<Join>,
    last: Option<Micros>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head();
    let two_sections = Head { text: &head }.any(|l| l.ends_with("CPU    intr/s"));
    let seconds = |line: &str| stamp(line).map(|s| f64::from(s.time.duration_since(jiff::civil::Time::midnight()).as_secs() as i32));
    let mut reader = Reader {
        clock: Clock::new(out.hints()),
        ticker: Ticker::new(out.hints(), &head, seconds),
        section: Section::Other,
        begin: None,
        join: two_sections.then(|| Join::new(&cpu::TABLE, Some(cpu::cpu), JOINED)),
        last: None,
    };
    drop(head);
    let mut splitter = Splitter::default();
    while input.line().is_some() {
        reader.line(input.number(), input.text(), &mut splitter, out);
    }
    if let Some(join) = &mut reader.join {
        join.flush(out);
    }
}

/// Columns that may come from two sections of a block.
pub(super) const JOINED: &[usize] = &[
    cpu::usr, cpu::nice, cpu::sys, cpu::iowait, cpu::irq, cpu::softirq, cpu::steal, cpu::guest, cpu::guest_nice,
    cpu::idle, cpu::intr_per_s,
];

impl Reader {
    fn line(&mut self, number: u64, line: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        if line.trim().is_empty() || line.starts_with("Average:") {
            return;
        }
        let Some(stamp) = stamp(line) else {
            match banner(line) {
                Some(banner) => {
                    out.set_host(banner.host);
                    self.clock.set_date(banner.date);
                    self.ticker.restart();
                }
                None => out.unknown(number, line, "no time at the beginning of the line"),
            }
            return;
        };
        let t = self.clock.at(stamp.time, out);
        let fields = splitter.blanks(stamp.rest);
        if matches!(fields.get(0), "CPU" | "NODE") {
            self.header(t, &fields);
        } else {
            self.values(number, t, &fields, out);
        }
    }

    fn header(&mut self, t: Micros, fields: &Fields<'_>) {
        if self.begin.is_none_or(|begin| t > begin) {
            self.ticker.tick(t);
        }
        self.begin = Some(t);
        let names = || fields.from(1).iter().map(|name| name.strip_suffix("/s").unwrap_or(name).to_owned()).collect();
        self.section = if fields.get(0) == "NODE" {
            Section::Other
        } else if fields.iter().any(|f| f == "%idle") {
            Section::Cpu(Layout::new("mpstat", fields.from(1).iter(), COLUMNS))
        } else if fields.len() == 2 && fields.get(1) == "intr/s" {
            Section::Total
        } else if fields.iter().any(|f| f == "NET_RX/s") {
            Section::Soft(names())
        } else {
            Section::Hard(names())
        };
    }

    fn values(&mut self, line: u64, t: Micros, fields: &Fields<'_>, out: &mut Out<'_>) {
        if self.last != Some(t) {
            if let Some(join) = &mut self.join {
                join.flush(out);
            }
            self.last = Some(t);
        }
        let boot = self.begin == Some(t);
        out.since_boot(boot);
        let dt = if boot { None } else { self.ticker.tick(t) };
        let name = fields.get(0);
        let cpu_key = Some(name).filter(|c| *c != "all");
        let values = fields.from(1);
        match &self.section {
            Section::Cpu(layout) if self.join.is_none() => {
                layout.write(out, line, (t, dt), &values, |_, row| { row.str(cpu::cpu, cpu_key); }, || name.to_owned());
            }
            Section::Cpu(layout) => {
                if let Some(join) = &mut self.join {
                    layout.join(out, line, (t, dt), &values, cpu_key.unwrap_or(""), join);
                }
            }
            Section::Total => {
                let value = number(values.get(0));
                match &mut self.join {
                    Some(join) => join.set(out, t, dt, cpu_key.unwrap_or(""), cpu::intr_per_s, value),
                    None => {
                        out.row(&cpu::TABLE, t, dt).str(cpu::cpu, cpu_key).f64(cpu::intr_per_s, value);
                    }
                }
            }
            Section::Hard(names) => {
                for (interrupt, value) in names.iter().zip(values.iter()) {
                    let mut row = out.row(&irq::TABLE, t, dt);
                    row.str(irq::irq, interrupt.as_str()).str(irq::cpu, cpu_key).f64(irq::intr_per_s, number(value));
                }
            }
            Section::Soft(names) => {
                for (kind, value) in names.iter().zip(values.iter()) {
                    let mut row = out.row(&softirq::TABLE, t, dt);
                    row.str(softirq::softirq, kind.as_str()).str(softirq::cpu, cpu_key);
                    row.f64(softirq::softirqs_per_s, number(value));
                }
            }
            Section::Other => {}
        }
        out.since_boot(false);
    }
}
