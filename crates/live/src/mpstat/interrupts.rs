//! Interrupts per CPU: total, hardware interrupts, softirqs.
//!
//! A pair of interrupt and CPU without a row had none in this interval. A column is shown for
//! every interrupt that was seen so far: with the averages since boot, all that ever came.

use std::fmt::Write;

use fenxi_model::{
    AnySchema, Place, Rows, RowsOf, Table,
    catalog::{cpu, irq, sched, softirq},
    place::{F64, Label},
};

use super::{
    Options, row_of_all,
    text::{AVERAGE, WIDTH, number, word},
};
use crate::Frame;

/// Columns of interrupts are so wide at least.
const WIDE: usize = 11;

/// More interrupts than these are not shown, so that a damaged text cannot fill the memory.
const MAX_NAMES: usize = 4096;

/// Sums over the samples by CPU: of the values, and of seconds.
type Sums = Vec<Option<(String, f64, f64)>>;

/// All interrupts of a CPU together.
#[derive(Debug, Default)]
pub struct Total {
    sums: Sums,
    /// Of this frame, by CPU.
    counted: Vec<f64>,
}

impl Total {
    /// Adds the frame's block.
    pub fn show(
        &mut self,
        options: &Options,
        times: (&str, &str),
        frame: &Frame<'_>,
        cpus: Option<RowsOf<'_, cpu::Schema>>,
        order: &[(u32, usize)],
        out: &mut String,
    ) {
        total_header(times.0, out);
        let hard = frame.rows.of(&irq::TABLE);
        let sums = &mut self.sums;
        let mut line = |place: usize, name: &str, value: Option<f64>, out: &mut String| {
            out.push_str(times.1);
            word(name, WIDTH, out);
            number(value, WIDE, out);
            out.push('\n');
            if let Some(value) = value.filter(|_| !frame.since_boot && frame.dt > 0.0 && place <= 1 << 16) {
                if sums.len() <= place {
                    sums.resize(place + 1, None);
                }
                let sum = sums[place].get_or_insert_with(|| (name.to_owned(), 0.0, 0.0));
                (sum.1, sum.2) = (sum.1 + value * frame.dt, sum.2 + frame.dt);
            }
        };
        // The figure of a text comes first; the kernel has its own sum, and rows for each interrupt.
        let told = |row: Option<usize>| cpus?.f64(row?, cpu::intr_per_s);
        self.counted.clear();
        let mut sum = None;
        for row in hard.iter().flat_map(|hard| (0..hard.n_rows()).map(move |row| (hard, row))) {
            let value = row.0.f64(row.1, irq::intr_per_s).unwrap_or(0.0);
            *sum.get_or_insert(0.0) += value;
            let number = row.0.str(row.1, irq::cpu).and_then(|cpu| cpu.parse::<u16>().ok());
            if let Some(number) = number.map(usize::from) {
                let n = self.counted.len().max(number + 1);
                self.counted.resize(n, 0.0);
                self.counted[number] += value;
            }
        }
        if options.cpus.all || options.aggregate {
            let kernel = || frame.rows.of(&sched::TABLE)?.f64(0, sched::intr_per_s);
            let all = told(cpus.and_then(row_of_all)).or_else(kernel).or(sum);
            line(0, "all", all, out);
        }
        if options.aggregate {
            return;
        }
        for (n, row) in order.iter().filter(|(n, _)| options.cpus.has(*n)) {
            let name = cpus.and_then(|cpus| cpus.str(*row, cpu::cpu)).unwrap_or("");
            let counted = || hard.map(|_| self.counted.get(*n as usize).copied().unwrap_or(0.0));
            let value = told(Some(*row)).or_else(counted);
            line((*n as usize).saturating_add(1), name, value, out);
        }
        for n in options.absent(order) {
            line(usize::MAX, &n.to_string(), None, out);
        }
    }

    /// Adds the averages over all samples.
    pub fn end(&mut self, _options: &Options, out: &mut String) {
        if self.sums.is_empty() {
            return;
        }
        total_header(AVERAGE, out);
        for (name, sum, seconds) in self.sums.iter().flatten() {
            out.push_str(AVERAGE);
            word(name, WIDTH, out);
            number(Some(sum / seconds), WIDE, out);
            out.push('\n');
        }
    }
}

fn total_header(time: &str, out: &mut String) {
    out.push('\n');
    out.push_str(time);
    word("CPU", WIDTH, out);
    word("intr/s", WIDE, out);
    out.push('\n');
}

/// One line for each CPU, one column for each interrupt.
#[derive(Debug)]
pub struct Matrix {
    table: &'static Table,
    /// The columns of the interrupt's name, of the CPU and of the rate.
    places: [usize; 3],
    names: Vec<Box<str>>,
    /// Which name was found last: rows come in the order of names.
    hint: usize,
    /// The values of this frame: a line for each CPU in the order of the rows.
    values: Vec<f64>,
    /// Sums over the samples, of all CPUs and of each, and the seconds.
    sums: Vec<Vec<f64>>,
    seconds: f64,
}

impl Matrix {
    /// Of hard interrupts.
    pub fn hard() -> Matrix {
        Matrix::new(&irq::TABLE, (irq::irq, irq::cpu, irq::intr_per_s))
    }

    /// Of soft interrupts.
    pub fn soft() -> Matrix {
        Matrix::new(&softirq::TABLE, (softirq::softirq, softirq::cpu, softirq::softirqs_per_s))
    }

    fn new<S: AnySchema>(
        table: &'static Table<S>,
        (name, cpu, rate): (Place<S, Label>, Place<S, Label>, Place<S, F64>),
    ) -> Matrix {
        let places = [name.index(), cpu.index(), rate.index()];
        let (names, values, sums) = (Vec::new(), Vec::new(), Vec::new());
        Matrix { table, places, names, hint: 0, values, sums, seconds: 0.0 }
    }

    /// Remembers which interrupts there are.
    pub fn learn(&mut self, rows: &Rows) {
        let Some(rows) = rows.of(self.table) else { return };
        for row in 0..rows.n_rows() {
            // Those without a CPU (errors) belong to no line.
            if let Some(name) = rows.str(row, self.places[0]).filter(|_| rows.str(row, self.places[1]).is_some()) {
                self.place(name);
            }
        }
    }

    /// The column of `name`, which may be a new one.
    fn place(&mut self, name: &str) -> Option<usize> {
        let known = |at: usize| self.names.get(at).is_some_and(|n| **n == *name);
        let found = [self.hint, self.hint + 1].into_iter().find(|at| known(*at));
        let found = found.or_else(|| self.names.iter().position(|n| **n == *name));
        let place = match found {
            Some(place) => place,
            None if self.names.len() < MAX_NAMES => {
                self.names.push(name.into());
                self.names.len() - 1
            }
            None => return None,
        };
        self.hint = place;
        Some(place)
    }

    /// Adds the frame's block.
    pub fn show(
        &mut self,
        options: &Options,
        times: (&str, &str),
        frame: &Frame<'_>,
        order: &[(u32, usize)],
        out: &mut String,
    ) {
        self.learn(frame.rows);
        let Some(rows) = frame.rows.of(self.table) else { return };
        let mut lines = order.iter().map(|(n, _)| *n).filter(|n| options.cpus.has(*n)).collect::<Vec<_>>();
        if lines.is_empty() && order.is_empty() {
            // Interrupts alone, as of `mpstat -I SCPU`.
            lines.extend((0..rows.n_rows()).filter_map(|row| rows.str(row, self.places[1])?.parse::<u32>().ok()));
            lines.sort_unstable();
            lines.dedup();
            lines.retain(|n| options.cpus.has(*n));
        }
        let together = options.aggregate;
        let n_lines = if together { 1 } else { lines.len() };
        let width = self.names.len();
        self.values.clear();
        self.values.resize(n_lines * width, 0.0);
        for row in 0..rows.n_rows() {
            let number = rows.str(row, self.places[1]).and_then(|cpu| cpu.parse::<u32>().ok());
            let Some(line) = number.and_then(|n| lines.binary_search(&n).ok()) else { continue };
            let line = if together { 0 } else { line };
            let column = rows.str(row, self.places[0]).and_then(|name| self.place(name));
            if let (Some(column), Some(value)) = (column, rows.f64(row, self.places[2])) {
                self.values[line * width + column] += value;
            }
        }
        self.header(times.0, out);
        let counts = !frame.since_boot && frame.dt > 0.0;
        if counts {
            self.seconds += frame.dt;
        }
        for (line, n) in lines.iter().enumerate().take(n_lines) {
            let values = &self.values[line * width..(line + 1) * width];
            let n = if together { 0 } else { (*n as usize).saturating_add(1) };
            write_line(times.1, n, values.iter().copied(), &self.names, out);
            if counts && n <= 1 << 16 {
                if self.sums.len() <= n {
                    self.sums.resize(n + 1, Vec::new());
                }
                self.sums[n].resize(width, 0.0);
                self.sums[n].iter_mut().zip(values).for_each(|(sum, value)| *sum += value * frame.dt);
            }
        }
    }

    /// Adds the averages over all samples.
    pub fn end(&mut self, _options: &Options, out: &mut String) {
        if self.sums.is_empty() {
            return;
        }
        self.header(AVERAGE, out);
        for (n, sums) in self.sums.iter().enumerate().filter(|(_, sums)| !sums.is_empty()) {
            let later = std::iter::repeat_n(0.0, self.names.len().saturating_sub(sums.len()));
            let means = sums.iter().copied().chain(later).map(|sum| sum / self.seconds);
            write_line(AVERAGE, n, means, &self.names, out);
        }
    }

    fn header(&self, time: &str, out: &mut String) {
        out.push('\n');
        out.push_str(time);
        word("CPU", WIDTH, out);
        for name in &self.names {
            word(name, wide(name) - 2, out);
            out.push_str("/s");
        }
        out.push('\n');
    }
}

fn wide(name: &str) -> usize {
    WIDE.max(name.len() + 3)
}

/// The line of the CPU at `place`: 0 is all of them together, then each by its number.
fn write_line(time: &str, place: usize, values: impl Iterator<Item = f64>, names: &[Box<str>], out: &mut String) {
    out.push_str(time);
    match place.checked_sub(1) {
        None => word("all", WIDTH, out),
        Some(number) => _ = write!(out, " {number:>0$}", WIDTH - 1),
    }
    for (value, name) in values.zip(names) {
        number(Some(value), wide(name), out);
    }
    out.push('\n');
}
