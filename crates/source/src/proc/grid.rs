//! Counters by kind and CPU: `/proc/interrupts` and `/proc/softirqs`.
//!
//! The first line names the CPUs of the columns; each line below has a label, a number for each of
//! them (or a single sum, as `ERR:` has) and perhaps a description. Lines and columns are matched by
//! name, for CPUs go offline and interrupts come and go.
//!
//! A pair gets a row when it counted anything in this interval or in the one before, so that a fall
//! to zero is seen and silent pairs cost nothing.

use fenxi_model::Rows;

use super::{
    keyed::Resets,
    scan::{lines, next_number, number, text, words},
};
use crate::{Counter, Step, Tick, Width};

/// The counters of one file.
#[derive(Debug, Default)]
pub struct Grid {
    /// The file, for notes.
    file: &'static str,
    /// Subject of its events.
    subject: &'static str,
    header: Vec<u8>,
    /// The CPU of each column.
    columns: Vec<usize>,
    /// The name of each CPU, by its number.
    cpus: Vec<Box<str>>,
    lines: Vec<Line>,
    /// The numbers of the line at hand.
    numbers: Vec<u64>,
    /// Whether a line that could not be read was noted.
    noted: bool,
}

#[derive(Debug, Default)]
struct Line {
    label: Box<[u8]>,
    /// The label as text.
    name: Box<str>,
    /// Text after the numbers.
    description: Box<[u8]>,
    /// Purpose of the interrupt.
    about: Box<str>,
    /// By number of the CPU.
    cells: Vec<Cell>,
    /// Where a line has one number that is no CPU's.
    sum: Cell,
    seen: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    counter: Counter,
    counted: bool,
}

/// One pair with something to report.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// Label of the line: `24`, `LOC`, `NET_RX`.
    pub label: &'a str,
    /// Description of the row; empty when the file has none.
    pub about: &'a str,
    /// The CPU; None in a line that has only a sum.
    pub cpu: Option<&'a str>,
    /// Growth in the interval; None after a reset.
    pub grown: Option<u64>,
}

/// CPU numbers from here on are taken for damage.
const MAX_CPUS: usize = 1 << 16;

impl Grid {
    /// A grid of the counters of `file`, whose events are about `subject`.
    pub fn new(file: &'static str, subject: &'static str) -> Grid {
        Grid { file, subject, ..Grid::default() }
    }

    /// Reads the counters; gives `report` every pair that counted in this interval or the one before.
    ///
    /// Counters that went back are reported as one event.
    pub fn sample(&mut self, content: &[u8], tick: Tick, rows: &mut Rows, report: impl Fn(&mut Rows, Pair<'_>)) {
        let mut all = lines(content);
        let Some(header) = all.next() else { return };
        if header != self.header {
            self.learn(header);
        }
        let mut resets = Resets::default();
        self.lines.iter_mut().for_each(|l| l.seen = false);
        for (n, line) in all.enumerate() {
            let Some(colon) = memchr::memchr(b':', line) else {
                if !std::mem::replace(&mut self.noted, true) {
                    rows.note(self.file, n as u64 + 2, "the line has no label");
                }
                continue;
            };
            let label = line[..colon].trim_ascii();
            let rest = self.read_numbers(&line[colon + 1..]);
            let place = self.place(n, label);
            let known = &mut self.lines[place];
            known.seen = true;
            known.describe(rest.trim_ascii());
            let mut step = |cell: &mut Cell, cpu: Option<&str>, value| {
                let Some(grown) = cell.step(value, tick) else { return };
                if grown.is_none() {
                    resets.add(format_args!("{} of CPU {}", known.name, cpu.unwrap_or("(all)")));
                }
                report(rows, Pair { label: &known.name, about: &known.about, cpu, grown });
            };
            if is_sum(&self.numbers, self.columns.len(), label) {
                step(&mut known.sum, None, self.numbers[0]);
                continue;
            }
            for (cpu, value) in self.columns.iter().zip(&self.numbers) {
                step(&mut known.cells[*cpu], Some(&self.cpus[*cpu]), *value);
            }
        }
        // An interrupt that comes back later begins anew.
        self.lines.retain(|l| l.seen);
        resets.report(self.subject, tick, rows);
    }

    /// Reads as many numbers as there are columns and gives what follows them.
    fn read_numbers<'a>(&mut self, mut rest: &'a [u8]) -> &'a [u8] {
        self.numbers.clear();
        while self.numbers.len() < self.columns.len()
            && let Some((value, after)) = next_number(rest)
        {
            self.numbers.push(value);
            rest = after;
        }
        rest
    }

    /// Takes the CPUs of the columns from the header; CPUs that are gone begin anew when they return.
    fn learn(&mut self, header: &[u8]) {
        self.header = header.to_vec();
        self.columns.clear();
        let cpu = |word: &[u8]| word.strip_prefix(b"CPU").and_then(number).map(|n| n as usize);
        self.columns.extend(words(header).filter_map(cpu).filter(|n| *n < MAX_CPUS));
        let n_cpus = self.columns.iter().max().map_or(0, |n| n + 1).max(self.cpus.len());
        self.cpus.extend((self.cpus.len()..n_cpus).map(|n| n.to_string().into()));
        let mut online = vec![false; n_cpus];
        self.columns.iter().for_each(|n| online[*n] = true);
        for line in &mut self.lines {
            line.cells.resize(n_cpus, Cell::default());
            line.cells.iter_mut().zip(&online).filter(|(_, on)| !**on).for_each(|(cell, _)| *cell = Cell::default());
        }
    }

    /// The place of the line with `label`: as a rule the `n`th, as in the sample before.
    fn place(&mut self, n: usize, label: &[u8]) -> usize {
        if self.lines.get(n).is_some_and(|l| *l.label == *label) {
            return n;
        }
        if let Some(place) = self.lines.iter().position(|l| *l.label == *label) {
            return place;
        }
        let cells = vec![Cell::default(); self.cpus.len()];
        // Kept in the file's order, so that the next sample finds each line at its place.
        let n = n.min(self.lines.len());
        self.lines.insert(n, Line { label: label.into(), name: text(label).into(), cells, ..Line::default() });
        n
    }
}

/// Whether a line has one number for all CPUs together, as the error counters at the end have.
fn is_sum(numbers: &[u64], n_columns: usize, label: &[u8]) -> bool {
    numbers.len() == 1 && (n_columns > 1 || matches!(label, b"ERR" | b"MIS" | b"Err"))
}

impl Line {
    /// Keeps what the interrupt is for; it changes when a number is given to another device.
    fn describe(&mut self, description: &[u8]) {
        if *description != *self.description {
            self.description = description.into();
            self.about = about(&self.label, description);
        }
    }
}

/// The device of a numbered interrupt (`IO-APIC   4-edge      ttyS0` is `ttyS0`), or the description as it is.
///
/// The kernel prints two blanks before the names of devices; without them there are only the names
/// of the controller, which are kept whole.
fn about(label: &[u8], description: &[u8]) -> Box<str> {
    let numbered = label.iter().all(u8::is_ascii_digit);
    let device = memchr::memmem::rfind(description, b"  ").map(|at| description[at..].trim_ascii());
    let is_trigger =
        |w: &[u8]| [&b"edge"[..], b"level", b"fasteoi"].iter().any(|t| w.to_ascii_lowercase().ends_with(t));
    match device {
        Some(device) if numbered && !is_trigger(device) => text(device).into(),
        _ => text(description).into(),
    }
}

impl Cell {
    /// The growth when there is something to report: Some(None) after a reset.
    fn step(&mut self, value: u64, tick: Tick) -> Option<Option<u64>> {
        let step = tick.step(&mut self.counter, value, Width::Bits32);
        let counted = std::mem::replace(&mut self.counted, matches!(step, Step::By(1..) | Step::Reset));
        match step {
            Step::First => None,
            Step::Reset => Some(None),
            Step::By(n) => (n > 0 || counted).then_some(Some(n)),
        }
    }
}
