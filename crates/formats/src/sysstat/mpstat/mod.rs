//! `mpstat` of sysstat, as text: processors, interrupts and soft interrupts.
//!
//! A block begins with a header line that carries the time of the interval's begin; its lines carry
//! the end. A block whose header and lines carry the same time is the average since boot. The header
//! is not repeated where a report is a single line.
//!
//! Traps: the row of all CPUs has no topology (`-T`), and is missing with `-P 0,1`; a CPU that is
//! offline is left out, up to version 11 printed as a row of nothing but zeros.

mod columns;
#[cfg(test)]
mod tests;

use fenxi_model::{
    AnySchema, Micros, Place, Row, Table,
    catalog::{cpu, irq, softirq},
    place::{F64, Label},
};

pub(super) use self::columns::{CPU as COLUMNS, JOINED};
use super::{
    headers::Headers,
    times::{Prefix, is_average, onward, time_at},
};
use crate::{
    Clock, CpuMean, Family, Fields, Format, Head, Input, Join, Layout, Out, Splitter, Sure, Ticker, banner, number,
};

/// Importer for mpstat of sysstat.
pub static FORMAT: Format = Format {
    name: "mpstat",
    summary: "mpstat of sysstat: -P ALL, -A, -I, -u, -N, -T",
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

fn sniff(head: &Head<'_>) -> Sure {
    let header = |line: &str, test: fn(&[&str]) -> bool| {
        let Some((_, rest)) = time_at(line) else { return false };
        let words: Vec<&str> = rest.split_ascii_whitespace().take(64).collect();
        matches!(words.first(), Some(&("CPU" | "NODE"))) && test(&words)
    };
    // sar has the same columns in another order, and no interrupts in its table of CPUs.
    let shares: fn(&[&str]) -> bool = |words| {
        let at = |name: &str| words.iter().position(|w| *w == name);
        let idle = at("%idle");
        idle.is_some() && (at("intr/s") > idle || at("%irq").is_some_and(|irq| at("%steal").is_none_or(|s| irq < s)))
    };
    if head.any(|line| header(line, shares)) {
        return Sure::Certain;
    }
    let interrupts: fn(&[&str]) -> bool =
        |words| words == ["CPU", "intr/s"] || words.len() > 2 && words.iter().skip(1).all(|w| w.ends_with("/s"));
    Sure::Likely.when(head.any(|line| header(line, interrupts)))
}

/// The layout under a header line.
enum Section {
    /// Shares and rates of each CPU; `all` is for the row of all of them, which has no topology.
    Cpu { each: Layout, all: Layout },
    /// Interrupts per second of each CPU, all interrupts together.
    Total,
    /// Interrupts per second by name, for each CPU.
    Hard(Vec<String>),
    /// Soft interrupts per second by name, for each CPU.
    Soft(Vec<String>),
    /// Shares by NUMA node; `all` is for the row of all of them, where the CPUs have none.
    Node { each: Layout, all: Option<Layout> },
}

struct Reader {
    clock: Clock,
    ticker: Ticker,
    prefix: Prefix,
    headers: Headers<Section>,
    /// Whether there are rows of CPUs, so that the one of all nodes adds nothing.
    by_cpu: bool,
    /// When the current block began, from its header.
    begin: Option<Micros>,
    /// Time of the current line.
    t: Micros,
    /// The block of the last row.
    last: Option<Micros>,
    dt: Option<f64>,
    boot: bool,
    /// Set where the text may have the CPUs' columns in two sections.
    join: Option<Join<cpu::Schema>>,
    /// Set where the text has no row of all CPUs.
    mean: Option<CpuMean>,
    cpus: Option<u32>,
    /// CPUs of this block that are offline.
    offline: Vec<String>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head();
    let seconds = |line: &str| time_at(line).map(|(stamp, _)| stamp.seconds());
    let about = Overview::new(&head);
    let mut reader = Reader {
        clock: Clock::new(out.hints()),
        ticker: Ticker::new(out.hints(), &head, onward(seconds)),
        prefix: Prefix::default(),
        headers: Headers::new(),
        by_cpu: about.by_cpu,
        begin: None,
        t: Micros(0),
        last: None,
        dt: None,
        boot: false,
        join: (about.total || !about.whole_block).then(new_join),
        mean: (!about.all).then(CpuMean::default),
        cpus: None,
        offline: Vec::new(),
    };
    drop(head);
    let mut splitter = Splitter::default();
    input.each_line(|number, line| reader.line(number, line, &mut splitter, out));
    reader.end_block(out);
}

fn new_join() -> Join<cpu::Schema> {
    Join::new(&cpu::TABLE, Some(cpu::cpu), JOINED)
}

/// The sections to come, by the begin of the input.
#[derive(Default)]
struct Overview {
    /// There is a section of all interrupts together.
    total: bool,
    /// There are shares by CPU.
    by_cpu: bool,
    /// There are rows of all CPUs.
    all: bool,
    /// At least one block is there from begin to end.
    whole_block: bool,
}

impl Overview {
    fn new(head: &str) -> Overview {
        let mut about = Overview::default();
        let mut first = None;
        for (time, rest) in head.lines().filter_map(time_at) {
            let mut words = rest.split_ascii_whitespace();
            let name = words.next();
            if matches!(name, Some("CPU" | "NODE")) {
                about.total |= name == Some("CPU") && words.clone().eq(["intr/s"]);
                about.by_cpu |= name == Some("CPU") && words.any(|w| w == "%idle");
            } else {
                about.all |= name == Some("all");
                about.whole_block |= *first.get_or_insert_with(|| time.clone()) != time;
            }
        }
        about
    }
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        let rest = match self.prefix.same(line) {
            Some(rest) => rest,
            None => match self.prefix.read(line) {
                Some((stamp, rest)) => {
                    self.t = stamp.moment(&mut self.clock, out);
                    rest
                }
                None => return self.other(number, line, out),
            },
        };
        let fields = splitter.blanks(rest);
        if matches!(fields.get(0), "CPU" | "NODE") {
            self.header(rest, &fields);
        } else {
            self.values(number, &fields, out);
        }
    }

    /// A line without a time at its beginning.
    fn other(&mut self, number: u64, line: &str, out: &mut Out<'_>) {
        if line.trim().is_empty() {
            return;
        }
        if let Some(banner) = banner(line) {
            self.end_block(out);
            // The switches may be others than in the run before.
            if self.last.is_some() {
                self.join.get_or_insert_with(new_join);
            }
            out.set_host(banner.host);
            self.clock.set_date(banner.date);
            self.ticker.restart();
            (self.prefix, self.begin, self.last, self.cpus) = (Prefix::default(), None, None, banner.cpus);
            self.headers.leave();
        } else if let Some(change) = line.trim().strip_prefix("<<").and_then(|line| line.strip_suffix(">>")) {
            // Not sysstat's own, but `fenxi watch mpstat` prints it in between.
            out.event(self.t, "fact changed", "mpstat", change);
        } else if !is_average(line) {
            out.unknown(number, line, "no time at the beginning of the line");
        }
    }

    fn header(&mut self, line: &str, fields: &Fields<'_>) {
        if self.begin.is_none_or(|begin| self.t > begin) {
            self.ticker.tick(self.t);
        }
        self.begin = Some(self.t);
        let by_cpu = self.by_cpu;
        self.headers.enter(line, || section(fields, by_cpu));
    }

    /// The first row of a block.
    fn begin_block(&mut self, out: &mut Out<'_>) {
        self.end_block(out);
        self.last = Some(self.t);
        self.boot = self.begin == Some(self.t);
        self.dt = if self.boot { None } else { self.ticker.tick(self.t) };
        out.since_boot(self.boot);
    }

    fn end_block(&mut self, out: &mut Out<'_>) {
        if let Some(join) = &mut self.join {
            join.flush(out);
        }
        self.offline.clear();
        if let Some(mean) = self.mean.as_mut().filter(|mean| mean.cpus() > 0) {
            // A mean over some of the CPUs is not that of all.
            let complete = Some(mean.cpus()) == self.cpus;
            let mut mean = std::mem::take(mean);
            if let Some(t) = self.last.filter(|_| complete) {
                mean.write(out, t, self.dt);
            }
        }
        out.since_boot(false);
    }

    fn values(&mut self, line: u64, fields: &Fields<'_>, out: &mut Out<'_>) {
        if self.last != Some(self.t) {
            self.begin_block(out);
        }
        let at = (self.t, self.dt);
        let name = fields.get(0);
        let cpu_key = Some(name).filter(|c| *c != "all");
        let values = fields.from(1);
        match self.headers.current() {
            Some(Section::Cpu { each, all }) => {
                let layout = if cpu_key.is_none() && values.len() == all.len() { all } else { each };
                if offline(&values) {
                    self.offline.push(name.to_owned());
                } else if let Some(join) = &mut self.join {
                    layout.join(out, line, at, &values, cpu_key.unwrap_or(""), join);
                    add(&mut self.mean, layout, &values);
                } else {
                    let keys = |_: &_, row: &mut Row<'_>| {
                        if let Some(mut row) = row.typed(&cpu::TABLE) {
                            row.str(cpu::cpu, cpu_key);
                        }
                    };
                    layout.write(out, line, at, &values, keys, || format!("cpu={name}"));
                    add(&mut self.mean, layout, &values);
                }
            }
            Some(Section::Total) => {
                if !self.offline.iter().any(|cpu| cpu == name) {
                    self.total(line, cpu_key, &values, out);
                }
            }
            Some(Section::Hard(names)) => {
                let places = (irq::irq, irq::cpu, irq::intr_per_s);
                interrupts(out, (line, at), &irq::TABLE, places, names, cpu_key, &values);
            }
            Some(Section::Soft(names)) => {
                let places = (softirq::softirq, softirq::cpu, softirq::softirqs_per_s);
                interrupts(out, (line, at), &softirq::TABLE, places, names, cpu_key, &values);
            }
            Some(Section::Node { each, all }) => {
                if let Some(layout) = if cpu_key.is_none() { all.as_ref() } else { Some(each) } {
                    layout.write(out, line, at, &values, |_, _| {}, || format!("node={name}"));
                }
            }
            None => out.unknown(line, fields.rest(0), "no header line above"),
        }
    }

    /// The interrupts per second of a CPU.
    fn total(&mut self, line: u64, cpu_key: Option<&str>, values: &Fields<'_>, out: &mut Out<'_>) {
        let Some(value) = number(values.get(0)).filter(|_| values.len() == 1) else {
            out.unknown(line, values.rest(0), "no number of interrupts per second");
            return;
        };
        let (t, dt) = (self.t, self.dt);
        if let Some(mean) = &mut self.mean {
            if !self.by_cpu {
                mean.next_cpu();
            }
            mean.add(cpu::intr_per_s, value);
        }
        match &mut self.join {
            Some(join) => join.set(out, t, dt, cpu_key.unwrap_or(""), cpu::intr_per_s, Some(value)),
            None => {
                out.row(&cpu::TABLE, t, dt).str(cpu::cpu, cpu_key).f64(cpu::intr_per_s, value);
            }
        }
    }
}

/// Whether the CPU was offline: nothing but zeros, where one without a tick is idle.
fn offline(values: &Fields<'_>) -> bool {
    let zero = |cell: &str| number(cell) == Some(0.0);
    // The last columns are enough for most: idle, or interrupts behind it.
    zero(values.get(values.len().saturating_sub(1))) && values.iter().all(zero)
}

/// Adds a CPU to the mean over all, if one is made.
fn add(mean: &mut Option<CpuMean>, layout: &Layout, values: &Fields<'_>) {
    if let Some(mean) = mean {
        mean.next_cpu();
        layout.each(&cpu::TABLE, values, |place, value| mean.add_to(place, value));
    }
}

/// Writes each interrupt of a CPU: the columns are those of its name, its CPU and its rate.
fn interrupts<S: AnySchema>(
    out: &mut Out<'_>,
    (line, (t, dt)): (u64, (Micros, Option<f64>)),
    table: &'static Table<S>,
    (kind, cpu, rate): (Place<S, Label>, Place<S, Label>, Place<S, F64>),
    names: &[String],
    cpu_key: Option<&str>,
    values: &Fields<'_>,
) {
    if values.len() != names.len() {
        out.wrong_count(line, values.rest(0), values.len(), names.len());
        return;
    }
    for (name, cell) in names.iter().zip(values.iter()) {
        let Some(value) = number(cell) else {
            out.unknown(line, cell, "no number of interrupts per second");
            continue;
        };
        let mut row = out.row(table, t, dt);
        row.str(kind, name.as_str()).str(cpu, cpu_key).f64(rate, value);
    }
}

/// The layout under a header line.
fn section(fields: &Fields<'_>, by_cpu: bool) -> Section {
    let columns = || fields.from(1).iter();
    let shares = || columns().filter(|name| !matches!(*name, "CORE" | "SOCK" | "NODE"));
    let names = || columns().map(interrupt).collect();
    if fields.get(0) == "NODE" {
        let each = Layout::new(FORMAT.name, shares(), &[]);
        Section::Node { each, all: (!by_cpu).then(|| Layout::new(FORMAT.name, shares(), COLUMNS)) }
    } else if columns().any(|name| name == "%idle") {
        let each = Layout::new(FORMAT.name, columns(), COLUMNS);
        Section::Cpu { each, all: Layout::new(FORMAT.name, shares(), COLUMNS) }
    } else if columns().eq(["intr/s"]) {
        Section::Total
    } else if columns().any(|name| name == "NET_RX/s") {
        Section::Soft(names())
    } else {
        Section::Hard(names())
    }
}

/// The interrupt that a column is headed for: `24/s`, `LOC/s`, in version 7 `i024/s`.
fn interrupt(header: &str) -> String {
    let name = header.strip_suffix("/s").unwrap_or(header);
    let old = name.strip_prefix('i').filter(|n| n.len() >= 3 && n.bytes().all(|b| b.is_ascii_digit()));
    match old {
        Some(digits) if digits.bytes().all(|b| b == b'0') => "0".to_owned(),
        Some(digits) => digits.trim_start_matches('0').to_owned(),
        None => name.to_owned(),
    }
}
