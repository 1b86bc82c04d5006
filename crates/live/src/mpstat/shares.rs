//! CPU utilisation in the columns of sysstat's mpstat, with averages.

use fenxi_model::{Place, RowsOf, catalog::cpu, place::F64};

use super::{
    Options, busy, row_of_all,
    text::{AVERAGE, WIDTH, number, word},
};
use crate::Frame;

const COLUMNS: [(&str, Place<cpu::Schema, F64>); 10] = [
    ("%usr", cpu::usr),
    ("%nice", cpu::nice),
    ("%sys", cpu::sys),
    ("%iowait", cpu::iowait),
    ("%irq", cpu::irq),
    ("%soft", cpu::softirq),
    ("%steal", cpu::steal),
    ("%guest", cpu::guest),
    ("%gnice", cpu::guest_nice),
    ("%idle", cpu::idle),
];

/// The place of `%idle` among the columns.
const IDLE: usize = COLUMNS.len() - 1;

/// Lines without a blank one between them before the header is repeated.
const PAGE: usize = 20;

/// The values of a line; None where nothing is known.
type Line = [Option<f64>; COLUMNS.len()];

/// Returns true if any row has a share of time.
pub fn any(cpus: RowsOf<'_, cpu::Schema>) -> bool {
    (0..cpus.n_rows()).any(|row| cpus.f64(row, cpu::idle).is_some() || cpus.f64(row, cpu::usr).is_some())
}

/// Sums of one CPU over the samples: of each column, and of the seconds in which it was known.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    of: [(f64, f64); COLUMNS.len()],
}

impl Sum {
    fn add(&mut self, line: &Line, dt: f64) {
        for ((sum, seconds), value) in self.of.iter_mut().zip(line) {
            if let Some(value) = value {
                *sum += value * dt;
                *seconds += dt;
            }
        }
    }

    fn mean(&self) -> Line {
        self.of.map(|(sum, seconds)| (seconds > 0.0).then(|| sum / seconds))
    }
}

/// The report.
#[derive(Debug, Default)]
pub struct Shares {
    /// Lines since the last header, when each frame is one line.
    lines: usize,
    /// Contents of the averages: first the row of all CPUs or of the chosen ones, then each CPU.
    sums: Vec<Option<(String, Sum)>>,
}

impl Shares {
    /// Adds the frame's block.
    pub fn show(
        &mut self,
        options: &Options,
        times: (&str, &str),
        frame: &Frame<'_>,
        cpus: RowsOf<'_, cpu::Schema>,
        order: &[(u32, usize)],
        out: &mut String,
    ) {
        let begin = out.len();
        let mut lines = 0;
        let mut line = |place: usize, name: &str, line: &Line, sums: &mut Vec<_>, out: &mut String| {
            if !frame.since_boot && frame.dt > 0.0 {
                add(sums, place, name, line, frame.dt);
            }
            if place == 0 || !options.busy || !busy::is_idle(line[IDLE]) {
                write(times.1, name, line, out);
                lines += 1;
            }
        };
        let of = |row: usize| COLUMNS.map(|(_, place)| cpus.f64(row, place));
        let chosen = || order.iter().filter(|(n, _)| options.cpus.has(*n));
        if options.aggregate && options.cpus.any() && !options.cpus.every() {
            line(0, &options.cpus.text, &mean(chosen().map(|(_, row)| of(*row))), &mut self.sums, out);
        } else {
            if let Some(row) = row_of_all(cpus).filter(|_| options.cpus.all || options.aggregate) {
                line(0, "all", &of(row), &mut self.sums, out);
            }
            for (at, row) in chosen().filter(|_| !options.aggregate) {
                // A number is a place in the sums; what is none has no average.
                let place = (*at as usize).saturating_add(1);
                line(place, cpus.str(*row, cpu::cpu).unwrap_or(""), &of(*row), &mut self.sums, out);
            }
            for n in options.absent(order) {
                line(usize::MAX, &n.to_string(), &[None; COLUMNS.len()], &mut self.sums, out);
            }
        }
        if lines == 0 {
            return;
        }
        let block = lines > 1 || frame.since_boot || !self.one_line(options, order);
        if block || self.lines.is_multiple_of(PAGE) {
            let mut text = String::from("\n");
            header(times.0, &mut text);
            out.insert_str(begin, &text);
        }
        self.lines = if block { 0 } else { self.lines + 1 };
    }

    /// Whether each frame has one line, so that the header need not be repeated.
    fn one_line(&self, options: &Options, order: &[(u32, usize)]) -> bool {
        options.aggregate || !options.cpus.any() || order.is_empty()
    }

    /// Adds the averages over all samples.
    pub fn end(&mut self, options: &Options, out: &mut String) {
        if self.sums.is_empty() {
            return;
        }
        out.push('\n');
        header(AVERAGE, out);
        for (place, (name, sum)) in self.sums.iter().enumerate().filter_map(|(i, s)| Some((i, s.as_ref()?))) {
            let line = sum.mean();
            if place == 0 || !options.busy || !busy::is_idle(line[IDLE]) {
                write(AVERAGE, name, &line, out);
            }
        }
    }
}

fn add(sums: &mut Vec<Option<(String, Sum)>>, place: usize, name: &str, line: &Line, dt: f64) {
    // More CPUs than any kernel has: text that is none.
    if place > 1 << 16 {
        return;
    }
    if sums.len() <= place {
        sums.resize(place + 1, None);
    }
    sums[place].get_or_insert_with(|| (name.to_owned(), Sum::default())).1.add(line, dt);
}

/// The mean of several CPUs; a column that not all of them have is none.
fn mean(lines: impl Iterator<Item = Line>) -> Line {
    let (mut sum, mut n) = ([Some(0.0); COLUMNS.len()], 0);
    for line in lines {
        n += 1;
        for (sum, value) in sum.iter_mut().zip(line) {
            *sum = sum.zip(value).map(|(a, b)| a + b);
        }
    }
    sum.map(|sum| sum.filter(|_| n > 0).map(|sum| sum / f64::from(n)))
}

fn header(time: &str, out: &mut String) {
    out.push_str(time);
    word("CPU", WIDTH, out);
    for (name, _) in COLUMNS {
        word(name, WIDTH, out);
    }
    out.push('\n');
}

fn write(time: &str, name: &str, line: &Line, out: &mut String) {
    out.push_str(time);
    word(name, WIDTH, out);
    for value in line {
        number(*value, WIDTH, out);
    }
    out.push('\n');
}
