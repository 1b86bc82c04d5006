//! `mpstat` of AIX: a row for each logical processor, one for unused capacity (`U`) and one for all.
//!
//! Faults, interrupts, switches and calls are counts over the interval, not rates; without an
//! interval they are totals since boot. `pc` is the number of physical processors consumed.

use fenxi_model::{Kind, Micros, Place, catalog::cpu, place::F64};

use super::times::{Times, Tool};
use crate::{CpuMean, Family, Fields, Format, Head, Input, Out, Splitter, Sure, number};

/// Importer for mpstat of AIX, also -a and -w.
pub static FORMAT: Format = Format {
    name: "aix-mpstat",
    summary: "mpstat of AIX, also -a and -w",
    family: Family::Unix,
    tables: &[&cpu::TABLE],
    example: "\
System configuration: lcpu=8 ent=1.0 mode=Uncapped

cpu  min  maj  mpc  int   cs  ics   rq  mig lpa sysc us sy wa id   pc  %ec  lcs
  0    8    0    0  182  336  102    0    0 100 1434 38 51  0 12 0.02  1.8  185
ALL    8    0    0  251  346  112    0    0 100 1434  1  1  0 98 0.02  1.8  185
",
    sniff,
    read,
};

const TOOL: Tool =
    Tool { name: "mpstat", takes: "O@", every: None, counters: false, default_s: 1.0, first_since_boot: true };

/// Columns that are known; the others go to `metric`.
const COLUMNS: &[(&str, Place<cpu::Schema, F64>)] = &[
    ("min", cpu::minor_faults_per_s),
    ("maj", cpu::major_faults_per_s),
    ("mpc", cpu::cross_calls_per_s),
    ("mpcs", cpu::cross_calls_per_s),
    ("int", cpu::intr_per_s),
    ("cs", cpu::context_switches_per_s),
    ("ics", cpu::involuntary_switches_per_s),
    ("mig", cpu::migrations_per_s),
    ("sysc", cpu::syscalls_per_s),
    ("us", cpu::usr),
    ("sy", cpu::sys),
    ("wa", cpu::iowait),
    ("wt", cpu::iowait),
    ("id", cpu::idle),
];
/// Metrics that are no counts over the interval.
const GAUGES: &[&str] = &["rq", "lpa", "pc", "%ec", "%utcyc", "S0rd", "S1rd", "S2rd", "S3rd", "S4rd", "S5rd", "bound"];

fn sniff(head: &Head<'_>) -> Sure {
    let own = ["cpu min maj mpc int cs ics", "cpu min maj mpcs mpcr dev soft"];
    Sure::Certain.when(own.iter().any(|words| head.has_words(words)))
}

struct Reader {
    times: Times,
    names: Vec<String>,
    block: Option<(Micros, Option<f64>)>,
    first: Option<String>,
    /// Gathers the row of all CPUs, where the tool prints none (with one CPU).
    mean: CpuMean,
    all: bool,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head();
    let blocks = head.lines().filter(|line| line.split_ascii_whitespace().next() == Some("0")).take(2).count();
    drop(head);
    let tool = Tool { first_since_boot: blocks < 2, ..TOOL };
    let mut reader = Reader {
        times: Times::new(input, out, tool),
        names: Vec::new(),
        block: None,
        first: None,
        mean: CpuMean::default(),
        all: false,
    };
    let mut splitter = Splitter::default();
    input.each_line(|number, line| reader.line(number, line, &mut splitter, out));
    reader.end(out);
    out.since_boot(false);
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        let line = self.times.strip(line, out).trim();
        if line.is_empty() || line.bytes().all(|b| matches!(b, b'-' | b' ')) {
            return;
        }
        let fields = splitter.blanks(line);
        if fields.get(0) == "cpu" && fields.get(1) == "min" {
            self.end(out);
            self.names = fields.from(1).iter().map(str::to_owned).collect();
        } else if matches!(fields.get(0), "ALL" | "U") || line.as_bytes()[0].is_ascii_digit() {
            self.row(number, &fields, out);
        } else if !self.times.configuration(line, out) && !self.times.knows(line) {
            out.unknown(number, line, "neither header nor processor");
        }
    }

    fn row(&mut self, line: u64, fields: &Fields<'_>, out: &mut Out<'_>) {
        let name = fields.get(0);
        if fields.len() != self.names.len() + 1 {
            out.wrong_count(line, fields.rest(0), fields.len(), self.names.len() + 1);
            return;
        }
        if self.first.as_deref() == Some(name) {
            self.end(out);
        }
        self.first.get_or_insert_with(|| name.to_owned());
        let (t, dt) = *self.block.get_or_insert_with(|| self.times.begin(out));
        let per_s = |count: f64| dt.filter(|dt| *dt > 0.0).map(|dt| count / dt);
        let labels = if name == "ALL" { String::new() } else { format!("cpu={name}") };
        self.all |= name == "ALL";
        // Nothing runs in the unused capacity: it is no CPU.
        let is_cpu = name != "U";
        if is_cpu && name != "ALL" {
            self.mean.cpu(name);
        }
        let mut row = is_cpu.then(|| out.row(&cpu::TABLE, t, dt));
        if let Some(row) = &mut row {
            row.str(cpu::cpu, Some(name).filter(|n| *n != "ALL"));
        }
        let (mut others, mut bad) = (Vec::new(), None);
        for (column, word) in self.names.iter().enumerate() {
            let cell = fields.get(column + 1);
            let Some(value) = number(cell) else {
                if cell != "-" {
                    bad = Some(cell);
                }
                continue;
            };
            let known = COLUMNS.iter().find(|(name, _)| name == word);
            match (known, &mut row) {
                (Some((_, place)), Some(row)) => {
                    let rate = cpu::TABLE.column(*place).kind == Kind::Rate;
                    let value = if rate { per_s(value) } else { Some(value) };
                    row.f64(*place, value);
                    if let Some(value) = value.filter(|_| name != "ALL") {
                        self.mean.add(*place, value);
                    }
                }
                _ => others.push((word, value)),
            }
        }
        for (word, value) in others {
            let gauge = GAUGES.contains(&word.as_str()) || COLUMNS.iter().any(|(name, _)| name == word);
            let value = if gauge { Some(value) } else { per_s(value) };
            if let Some(value) = value {
                out.metric(t, dt, &format!("aix-mpstat.{word}"), &labels, value, if gauge { "" } else { "/s" });
            }
        }
        if let Some(cell) = bad {
            out.unknown(line, cell, "no number");
        }
    }

    /// The block is complete.
    fn end(&mut self, out: &mut Out<'_>) {
        self.first = None;
        let all = std::mem::replace(&mut self.all, false);
        if let Some((t, dt)) = self.block.take() {
            if all {
                self.mean = CpuMean::default();
            } else {
                self.mean.write_whole(out, t, dt);
            }
        }
    }
}
