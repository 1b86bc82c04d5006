//! Interrupts of each CPU together, and those that other CPUs sent, from /proc/interrupts.
//!
//! A CPU's interrupts are the sum of its column. When a line comes or goes (a device is added, a driver leaves) the sum
//! means nothing for an interval and is NULL; each line by itself is in `irq`.
//!
//! x86 counts an interrupt that makes a CPU forget translations in `TLB` and, from Linux 4.9 on, in `CAL` as well: it is
//! added up once, as the kernel does in /proc/stat.

use std::hash::{Hash, Hasher};

use fenxi_procfs::SharedFile;
use rustc_hash::FxHasher;

use super::values::{CROSS_CALLS, INTERRUPTS, Values};
use crate::{
    Counter, Root, Step, Tick, Width,
    proc::scan::{lines, next_number, number, words},
};

/// The sums of all CPUs.
#[derive(Debug)]
pub struct Interrupts {
    file: SharedFile,
    /// Whether `TLB` is part of another line.
    tlb_is_in_cal: bool,
    /// Which lines and columns there were.
    known: u64,
    /// The CPU of each column.
    columns: Vec<usize>,
    sums: Vec<Sum>,
    /// By number of the CPU.
    counters: Vec<[Counter; 2]>,
}

/// Sums of the columns of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sum {
    all: u64,
    /// From other CPUs.
    cross: u64,
}

impl Interrupts {
    /// Reads it at `root`; None where there is none.
    pub fn new(root: &Root) -> Option<Interrupts> {
        let file = root.open_shared("/proc/interrupts").ok()?;
        let tlb_is_in_cal = super::frequency::kernel(root).is_none_or(|version| version >= (4, 9));
        Some(Interrupts { file, tlb_is_in_cal, known: 0, columns: Vec::new(), sums: Vec::new(), counters: Vec::new() })
    }

    /// Sets the columns of all CPUs.
    pub fn sample(&mut self, tick: Tick, values: &mut [Values]) {
        let Interrupts { file, tlb_is_in_cal, columns, sums, .. } = self;
        let Ok(known) = file.read_at(tick.t.0, |content| add_up(content, *tlb_is_in_cal, columns, sums)) else {
            return;
        };
        if std::mem::replace(&mut self.known, known) != known {
            self.counters.clear();
        }
        let n = self.columns.iter().max().map_or(0, |last| last + 1);
        self.counters.resize(n.max(self.counters.len()), Default::default());
        let dt = tick.dt.filter(|dt| *dt > 0.0);
        for (cpu, sum) in self.columns.iter().zip(&self.sums) {
            let counters = &mut self.counters[*cpu];
            for ((place, now), counter) in [(INTERRUPTS, sum.all), (CROSS_CALLS, sum.cross)].into_iter().zip(counters) {
                let grown = tick.step(counter, now, Width::Bits64);
                if let (Step::By(n), Some(dt), Some(values)) = (grown, dt, values.get_mut(*cpu)) {
                    values[place] = Some(n as f64 / dt);
                }
            }
        }
    }
}

/// Adds up the columns; gives which lines and columns there were.
fn add_up(content: &[u8], tlb_is_in_cal: bool, columns: &mut Vec<usize>, sums: &mut Vec<Sum>) -> u64 {
    columns.clear();
    sums.clear();
    let mut hasher = FxHasher::default();
    let mut lines = lines(content);
    let Some(header) = lines.next() else { return 0 };
    header.hash(&mut hasher);
    let cpu = |word: &[u8]| word.strip_prefix(b"CPU").and_then(number).map(|n| n as usize);
    columns.extend(words(header).filter_map(cpu).filter(|n| *n < super::MAX_CPUS));
    sums.resize(columns.len(), Sum::default());
    for line in lines {
        let Some(colon) = memchr::memchr(b':', line) else { continue };
        let label = line[..colon].trim_ascii();
        // Sums of all CPUs: errors, which are no interrupts.
        if matches!(label, b"ERR" | b"MIS" | b"Err") || tlb_is_in_cal && label == b"TLB" {
            continue;
        }
        label.hash(&mut hasher);
        let cross = is_cross_call(label, line);
        let mut rest = &line[colon + 1..];
        for sum in sums.iter_mut() {
            let Some((n, after)) = next_number(rest) else { break };
            sum.all = sum.all.wrapping_add(n);
            sum.cross = sum.cross.wrapping_add(if cross { n } else { 0 });
            rest = after;
        }
    }
    hasher.finish()
}

/// Whether a line counts what another CPU asked for: to look for work, to call a function, to forget translations.
fn is_cross_call(label: &[u8], line: &[u8]) -> bool {
    let says = |words: &[u8]| memchr::memmem::find(line, words).is_some();
    matches!(label, b"RES" | b"CAL" | b"TLB")
        // ARM and RISC-V number theirs.
        || label.starts_with(b"IPI") && (says(b"Rescheduling interrupts") || says(b"unction call interrupts"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(text: &str, tlb_is_in_cal: bool) -> (Vec<usize>, Vec<Sum>) {
        let (mut columns, mut sums) = (Vec::new(), Vec::new());
        add_up(text.as_bytes(), tlb_is_in_cal, &mut columns, &mut sums);
        (columns, sums)
    }

    #[test]
    fn columns_are_added_up_and_errors_are_no_interrupts() {
        let text = "      CPU0  CPU2\n 24: 10 0  PCI-MSI 5-edge  eth0\nRES: 3 4 Rescheduling interrupts\n\
                    CAL: 5 6 Function call interrupts\nTLB: 7 8 TLB shootdowns\nLOC: 100 200 Local timer\nERR: 9\nMIS: 1\n";
        let expected = vec![Sum { all: 125, cross: 15 }, Sum { all: 218, cross: 18 }];
        assert_eq!(sums(text, false), (vec![0, 2], expected));
        assert_eq!(sums(text, true).1, [Sum { all: 118, cross: 8 }, Sum { all: 210, cross: 10 }]);
    }

    #[test]
    fn cross_calls_of_arm_have_numbers() {
        let text = "  CPU0 CPU1\nIPI0: 1 2 Rescheduling interrupts\nIPI1: 10 20 Function call interrupts\n\
                    IPI2: 100 200 CPU stop interrupts\nIPI4: 5 5 Timer broadcast interrupts\n";
        assert_eq!(sums(text, true).1, [Sum { all: 116, cross: 11 }, Sum { all: 227, cross: 22 }]);
    }

    #[test]
    fn which_lines_there_are_is_noticed() {
        let of = |text: &str| add_up(text.as_bytes(), true, &mut Vec::new(), &mut Vec::new());
        assert_eq!(of("CPU0\n1: 5 a\n"), of("CPU0\n1: 7 b\n"));
        assert_ne!(of("CPU0\n1: 5 a\n"), of("CPU0\n1: 5 a\n2: 5 a\n"));
        assert_ne!(of("CPU0\n1: 5 a\n"), of("CPU0 CPU1\n1: 5 0 a\n"));
        assert_eq!(of(""), 0);
    }
}
