//! Solaris columns of mpstat, in floating point.
//!
//! The line of all CPUs gives rates per CPU, as shares are: `CPUs` in front is their number. Where there is no line of each, the
//! table `sched` may have it.
//!
//! Rows of Linux are shown in these columns when that is asked for: `usr` has lowered priorities and guests in it, `sys`
//! has interrupts, and `st` is there when time was stolen. What Linux does not count is `-`.

use std::fmt::Write;

use fenxi_model::{
    Kind, Micros, Place, RowsOf,
    catalog::{cpu, sched},
    place::F64,
};

use super::{
    Options, busy, row_of_all,
    text::{Clock, number, word},
};
use crate::Frame;

const COLUMNS: [(&str, Place<cpu::Schema, F64>, usize); 16] = [
    ("minf", cpu::minor_faults_per_s, 9),
    ("mjf", cpu::major_faults_per_s, 7),
    ("xcal", cpu::cross_calls_per_s, 9),
    ("intr", cpu::intr_per_s, 9),
    ("ithr", cpu::interrupt_threads_per_s, 9),
    ("csw", cpu::context_switches_per_s, 9),
    ("icsw", cpu::involuntary_switches_per_s, 9),
    ("migr", cpu::migrations_per_s, 9),
    ("smtx", cpu::mutex_spins_per_s, 9),
    ("srw", cpu::rwlock_spins_per_s, 7),
    ("syscl", cpu::syscalls_per_s, 10),
    ("usr", cpu::usr, 7),
    ("sys", cpu::sys, 7),
    ("wt", cpu::iowait, 7),
    ("st", cpu::steal, 7),
    ("idl", cpu::idle, 7),
];

/// The columns of time at work.
const USR: usize = 11;
const SYS: usize = 12;
/// The column of stolen time, which only some systems have.
const STEAL: usize = 14;
/// The column of idle time.
const IDLE: usize = 15;
/// Lines before the header is repeated, when each frame is one line.
const PAGE: usize = 20;
/// Times before this are none: the text had none, and seconds are counted from nothing.
const REAL: Micros = Micros(86_400_000_000 * 366);

type Line = [Option<f64>; COLUMNS.len()];

/// Returns true if the rows have what only Solaris counts, and no time of Linux.
pub fn are(cpus: RowsOf<'_, cpu::Schema>) -> bool {
    cpus.n_rows() > 0
        && !is_linux(cpus)
        && [cpu::minor_faults_per_s, cpu::mutex_spins_per_s, cpu::cross_calls_per_s]
            .iter()
            .all(|place| (0..cpus.n_rows()).any(|row| cpus.f64(row, *place).is_some()))
}

/// Whether they have time that Solaris does not tell apart.
fn is_linux(cpus: RowsOf<'_, cpu::Schema>) -> bool {
    (0..cpus.n_rows()).any(|row| cpus.f64(row, cpu::softirq).is_some())
}

/// Values of a row for each column.
fn line_of(cpus: RowsOf<'_, cpu::Schema>, row: usize, is_linux: bool) -> Line {
    let mut line = COLUMNS.map(|(_, place, _)| cpus.f64(row, place));
    if is_linux {
        let also =
            |places: &[Place<cpu::Schema, F64>]| places.iter().filter_map(|place| cpus.f64(row, *place)).sum::<f64>();
        line[USR] = line[USR].map(|usr| usr + also(&[cpu::nice, cpu::guest, cpu::guest_nice]));
        line[SYS] = line[SYS].map(|sys| sys + also(&[cpu::irq, cpu::softirq]));
    }
    line
}

/// The report.
#[derive(Debug, Default)]
pub struct Solaris {
    /// Lines since the last header.
    lines: usize,
    /// Whether the last header had the column of stolen time.
    steal: bool,
    time: String,
}

impl Solaris {
    /// Adds the frame's block.
    pub fn show(
        &mut self,
        options: &Options,
        clock: &Clock,
        frame: &Frame<'_>,
        cpus: RowsOf<'_, cpu::Schema>,
        order: &[(u32, usize)],
        out: &mut String,
    ) {
        self.time.clear();
        if frame.t >= REAL {
            clock.moment(frame.t, &mut self.time);
        }
        let time = self.time.as_str();
        let is_linux = is_linux(cpus);
        let of = |row: usize| line_of(cpus, row, is_linux);
        let stolen = |row| cpus.f64(row, cpu::steal).is_some_and(|steal| !is_linux || steal > 0.0);
        let steal = (0..cpus.n_rows()).any(stolen);
        let chosen = || order.iter().filter(|(n, _)| options.cpus.has(*n));
        let all = if options.cpus.every() || !options.cpus.any() {
            let online = || frame.rows.of(&sched::TABLE).and_then(|rows| rows.f64(0, sched::cpus_online));
            let n = if order.is_empty() { online().map_or(0, |n| n as usize) } else { order.len() };
            row_of_all(cpus).map(|row| (per_cpu(of(row), n), n))
        } else {
            Some((mean(chosen().map(|(_, row)| of(*row))), chosen().count()))
        };
        if options.aggregate {
            let Some((line, n)) = all else { return };
            if self.lines.is_multiple_of(PAGE) || std::mem::replace(&mut self.steal, steal) != steal {
                self.lines = 0;
                header("CPUs", time, steal, out);
            }
            self.lines += 1;
            let n = if n > 0 { n.to_string() } else { "-".to_owned() };
            return write(time, &n, &line, steal, out);
        }
        header(" CPU", time, steal, out);
        for (_, row) in chosen() {
            let line = of(*row);
            if !options.busy || !busy::is_idle(line[IDLE]) {
                write(time, cpus.str(*row, cpu::cpu).unwrap_or(""), &line, steal, out);
            }
        }
        if let Some((line, _)) = all.filter(|_| options.cpus.all) {
            write(time, "all", &line, steal, out);
        }
    }
}

/// Sums over CPUs become what each has on the mean.
fn per_cpu(mut line: Line, n: usize) -> Line {
    for (value, (_, place, _)) in line.iter_mut().zip(COLUMNS) {
        if n > 0 && cpu::TABLE.column(place).kind == Kind::Rate {
            *value = value.map(|sum| sum / n as f64);
        }
    }
    line
}

/// The mean of several CPUs; a column that not all of them have is none.
fn mean(lines: impl Iterator<Item = Line>) -> Line {
    let (mut sum, mut n) = ([Some(0.0); COLUMNS.len()], 0_u32);
    for line in lines {
        n += 1;
        for (sum, value) in sum.iter_mut().zip(line) {
            *sum = sum.zip(value).map(|(a, b)| a + b);
        }
    }
    sum.map(|sum| sum.filter(|_| n > 0).map(|sum| sum / f64::from(n)))
}

fn header(first: &str, time: &str, steal: bool, out: &mut String) {
    begin(time, out);
    out.push_str(first);
    for (place, (name, _, width)) in COLUMNS.into_iter().enumerate() {
        if place != STEAL || steal {
            word(name, width, out);
        }
    }
    out.push('\n');
}

fn write(time: &str, name: &str, line: &Line, steal: bool, out: &mut String) {
    begin(time, out);
    let _ = write!(out, "{name:>4}");
    for (place, (value, (_, _, width))) in line.iter().zip(COLUMNS).enumerate() {
        if place != STEAL || steal {
            number(*value, width, out);
        }
    }
    out.push('\n');
}

fn begin(time: &str, out: &mut String) {
    if !time.is_empty() {
        out.push_str(time);
        out.push(' ');
    }
}
