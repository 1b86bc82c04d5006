//! Whether the machine is "maxed out" although it looks idle: one saturated CPU of 256 is 0.4 % of the
//! machine, and a work of one thread cannot use more.

use std::fmt::Write;

use fenxi_model::{
    RowsOf,
    catalog::{cpu, process, thread},
};

use super::row_of_all;
use crate::Frame;

/// A CPU or thread is saturated from this share of the interval on.
const SATURATED: f64 = 95.0;
/// A machine that is busier than this does not look idle, and needs no word about a single CPU.
const LOOKS_BUSY: f64 = 80.0;
/// CPUs and threads that are named.
const NAMED: usize = 3;

/// Returns true if a CPU is idle to the percent, so that `--busy` leaves it out.
pub fn is_idle(idle: Option<f64>) -> bool {
    idle.is_none_or(|idle| idle >= 99.5)
}

/// The share of time in which a CPU did something, or wanted to and was not let by the hypervisor.
fn busy(cpus: RowsOf<'_, cpu::Schema>, row: usize) -> Option<f64> {
    Some(100.0 - cpus.f64(row, cpu::idle)? - cpus.f64(row, cpu::iowait).unwrap_or(0.0))
}

/// Something that used a whole CPU.
struct Saturated<'a> {
    pid: i64,
    /// None for a process of which no threads are known.
    tid: Option<i64>,
    comm: &'a str,
    cpu: f64,
}

/// One line when a CPU or a thread is saturated while the machine looks idle.
pub fn verdict(frame: &Frame<'_>, cpus: RowsOf<'_, cpu::Schema>, order: &[(u32, usize)], out: &mut String) {
    let Some(machine) = row_of_all(cpus).and_then(|row| busy(cpus, row)) else { return };
    let mut saturated: Vec<(&str, f64)> = order
        .iter()
        .filter_map(|(_, row)| Some((cpus.str(*row, cpu::cpu)?, busy(cpus, *row)?)))
        .filter(|(_, busy)| *busy >= SATURATED)
        .collect();
    saturated.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut threads = threads(frame);
    threads.sort_by(|a, b| b.cpu.total_cmp(&a.cpu));
    if machine >= LOOKS_BUSY || (saturated.is_empty() && threads.is_empty()) {
        return;
    }
    out.push_str("maxed out: ");
    match saturated.as_slice() {
        [] => out.push_str("no single CPU, but a thread that moves between them"),
        [(name, busy)] => _ = write!(out, "CPU {name} at {busy:.1} %"),
        several => {
            let names: Vec<&str> = several.iter().take(NAMED).map(|(name, _)| *name).collect();
            let more = if several.len() > NAMED { " …" } else { "" };
            let (n, of) = (several.len(), order.len());
            let _ = write!(out, "{n} of {of} CPUs ({}{more}) at {:.1} % or more", names.join(", "), several[n - 1].1);
        }
    }
    let _ = write!(out, ", the machine at {machine:.1} %");
    for (i, found) in threads.iter().take(NAMED).enumerate() {
        let before = if i == 0 { ": " } else { ", " };
        let _ = match found.tid {
            Some(tid) => write!(out, "{before}thread {}/{tid} {} {:.1} %", found.pid, found.comm, found.cpu),
            None => write!(out, "{before}process {} {} {:.1} %", found.pid, found.comm, found.cpu),
        };
    }
    match threads.len().saturating_sub(NAMED) {
        0 => out.push('\n'),
        more => _ = writeln!(out, " and {more} more threads"),
    }
}

/// Threads that used a whole CPU; processes where threads are not known.
fn threads<'a>(frame: &Frame<'a>) -> Vec<Saturated<'a>> {
    let mut found = Vec::new();
    if let Some(rows) = frame.rows.of(&thread::TABLE) {
        for row in 0..rows.n_rows() {
            if let Some(cpu) = rows.f64(row, thread::cpu).filter(|cpu| *cpu >= SATURATED) {
                let pid = rows.i64(row, thread::pid).unwrap_or_default();
                let comm = rows.str(row, thread::comm).unwrap_or("?");
                found.push(Saturated { pid, tid: rows.i64(row, thread::tid), comm, cpu });
            }
        }
    } else if let Some(rows) = frame.rows.of(&process::TABLE) {
        for row in 0..rows.n_rows() {
            let cpu = rows.f64(row, process::cpu).filter(|cpu| *cpu >= SATURATED);
            if let (Some(cpu), Some(pid)) = (cpu, rows.i64(row, process::pid)) {
                found.push(Saturated { pid, tid: None, comm: rows.str(row, process::comm).unwrap_or("?"), cpu });
            }
        }
    }
    found
}
