//! `runqlat`: waits for a CPU — how long threads that could run did not, by process and CPU.

mod view;

use std::{cmp::Reverse, collections::BTreeMap};

use fenxi_model::{
    Rows,
    catalog::{histogram, run_queue as c},
};
use fenxi_source::{Collector, Opt, Root, SourceError, Spec, Takes, Tick};

use crate::{
    Loaded, Meanwhile, Observer, Tracked,
    bpf::{Compiled, compiled},
    buckets,
    bytes::Bytes,
    drain::Drain,
    observer::{PID, option, source, spec, top},
    observing::Observing,
    sums::Added,
};

static OBJECT: Compiled = compiled!("runqlat");
static SPEC: Spec =
    spec("runqlat", "waits of runnable threads for a CPU, by process and CPU (eBPF)", &[&c::TABLE, &histogram::TABLE]);

/// The observer.
pub static OBSERVER: Observer = Observer {
    source: &Runqlat::ALL,
    formerly: None,
    about: "Show run queue latency: how long runnable threads wait for a CPU",
    question: "How long do runnable threads wait for a CPU (run queue latency)?",
    help: "\
Run queue latency: the time from a thread becoming runnable (woken or preempted)
to running. Without an INTERVAL, totals are shown at the end (Ctrl-C, or exit of
COMMAND).

  WAITS    waits that ended
  WAITED   their total time
  %WAITED  share of the total of all lines
  WAITING  runnable threads that waited, on average (run queue length)

Examples:
  fenxi trace runqlat 5             by program, every five seconds
  fenxi trace runqlat --by cpu 5    by the CPU that threads ran on next
  fenxi trace runqlat --by cpu --distributions 5 1
                                    with a histogram of each CPU
  fenxi trace runqlat -p 1234 10 1  of one process, for ten seconds
  fenxi trace runqlat -- make -j8   of make and its children
  fenxi trace runqlat --save r 1    of all processes, saved as a run",
    command: Meanwhile::ObservesIt,
    interval_s: None,
    needs: &[],
    view: view::new,
};

const OPTIONS: &[Opt] = &[
    option("by", Takes::Word(&[("command", "Program name"), ("process", "Process"), ("cpu", "CPU")]), "Group by")
        .of_view(),
    option("distributions", Takes::Nothing, "Add histograms of wait times").of_view(),
    top(40, "Maximum number of lines to show"),
    PID,
];

/// Times waits for a CPU.
#[derive(Clone, Debug)]
pub struct Runqlat {
    /// The processes observed.
    pub tracked: Tracked,
}

impl Runqlat {
    /// Of every process.
    pub const ALL: Runqlat = Runqlat { tracked: Tracked::All };
}

source!(Runqlat, |options| Runqlat { tracked: Tracked::by(options) });

impl Runqlat {
    fn observe(&self, _: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let observing = Observing::begin(SPEC.name, OBJECT, &self.tracked, |_| Ok(()), Loaded::attach)?;
        let waited = Drain::new("waited", observing.map("waited")?)?;
        Ok(Box::new(Observed { observing, waited }))
    }
}

/// Powers of two of nanoseconds that are distinguished (`POWERS` in `runqlat.bpf.c`).
const POWERS: usize = 40;
/// `struct sums`: waits, their time, waits by power of two; then the program's name.
const SUMS: usize = 2 + POWERS;
/// Rows of processes at each tick; what is beyond is added up by CPU.
const LINES: usize = 500;
/// Programs whose distributions become rows at each tick: those that waited longest.
const DISTRIBUTIONS: usize = 20;

struct Observed {
    observing: Observing,
    waited: Drain<SUMS>,
}

/// Waits of one process for one CPU.
#[derive(Clone, Debug)]
struct Line {
    cpu: u32,
    /// None: processes are added up.
    who: Option<(String, u32)>,
    waits: u64,
    ns: u64,
    powers: [u64; POWERS],
}

impl Line {
    fn read(added: &Added<'_, SUMS>) -> Line {
        let mut key = Bytes(added.key);
        let (pid, cpu) = (key.u32(), key.u32());
        let mut powers = [0; POWERS];
        powers.copy_from_slice(&added.sums[2..]);
        let comm = Bytes(added.rest).text(16);
        Line { cpu, who: Some((comm, pid)), waits: added.sums[0], ns: added.sums[1], powers }
    }
}

impl Collector for Observed {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        let mut lines = Vec::new();
        self.waited.added(|added| lines.push(Line::read(&added)))?;
        if tick.dt.is_some() {
            distributions(&lines, tick, rows);
            for line in fewer(lines) {
                let mut row = rows.row(&c::TABLE, tick.t, tick.dt);
                row.str(c::cpu, line.cpu.to_string().as_str());
                if let Some((comm, pid)) = &line.who {
                    row.str(c::comm, comm.as_str()).i64(c::pid, i64::from(*pid));
                }
                let (waits, ns) = (line.waits as f64, line.ns as f64);
                row.f64(c::waits, waits).f64(c::waited_s, ns / 1e9);
                row.f64(c::mean_us, (waits > 0.0).then(|| ns / 1e3 / waits));
            }
        }
        Ok(self.observing.report(tick, rows)?)
    }
}

/// The lines with the longest time, the others added up by CPU.
fn fewer(mut lines: Vec<Line>) -> Vec<Line> {
    lines.sort_by_key(|line| Reverse(line.ns));
    let mut others: BTreeMap<u32, Line> = BTreeMap::new();
    for line in lines.drain(LINES.min(lines.len())..) {
        let none = Line { cpu: line.cpu, who: None, waits: 0, ns: 0, powers: [0; POWERS] };
        let of_cpu = others.entry(line.cpu).or_insert(none);
        of_cpu.waits += line.waits;
        of_cpu.ns += line.ns;
    }
    lines.extend(others.into_values());
    lines
}

/// Histograms of each CPU, and of the programs that waited longest.
fn distributions(lines: &[Line], tick: Tick, rows: &mut Rows) {
    let mut of_cpus: BTreeMap<u32, [u64; POWERS]> = BTreeMap::new();
    let mut of_programs: BTreeMap<&str, (u64, [u64; POWERS])> = BTreeMap::new();
    let add = |to: &mut [u64; POWERS], line: &Line| to.iter_mut().zip(line.powers).for_each(|(sum, more)| *sum += more);
    for line in lines {
        add(of_cpus.entry(line.cpu).or_insert([0; POWERS]), line);
        if let Some((comm, _)) = &line.who {
            let (ns, powers) = of_programs.entry(comm).or_insert((0, [0; POWERS]));
            *ns += line.ns;
            add(powers, line);
        }
    }
    for (cpu, powers) in &of_cpus {
        put(&format!("cpu={cpu}"), powers, tick, rows);
    }
    let mut longest: Vec<_> = of_programs.into_iter().collect();
    longest.sort_by_key(|(_, (ns, _))| Reverse(*ns));
    for (comm, (_, powers)) in longest.into_iter().take(DISTRIBUTIONS) {
        // Labels are separated by commas.
        put(&format!("comm={}", comm.replace(',', ";")), &powers, tick, rows);
    }
}

fn put(labels: &str, powers: &[u64; POWERS], tick: Tick, rows: &mut Rows) {
    let of = buckets::Of { name: "run_queue_us", labels, unit: "us", scale: 1e-3 };
    buckets::powers(of, powers, tick, rows);
}

#[cfg(test)]
mod tests {
    use fenxi_model::{Micros, catalog::histogram as h};

    use super::*;

    fn line(pid: u32, ns: u64) -> Line {
        let mut powers = [0; POWERS];
        powers[ns.ilog2() as usize] = 1;
        Line { cpu: pid % 2, who: Some((format!("p{}", pid % 3), pid)), waits: 1, ns, powers }
    }

    #[test]
    fn what_is_beyond_the_limit_is_added_up_by_cpu_and_not_lost() {
        let all: Vec<Line> = (1..=600).map(|pid| line(pid, u64::from(pid))).collect();
        let sum = |lines: &[Line]| lines.iter().map(|line| line.ns).sum::<u64>();
        let total = sum(&all);
        let kept = fewer(all);
        assert_eq!((kept.len(), sum(&kept)), (502, total));
        let others: Vec<_> = kept.iter().filter(|line| line.who.is_none()).map(|line| (line.cpu, line.ns)).collect();
        // Those that waited the shortest, 1 to 100: the even ones and the odd ones.
        assert_eq!(others, [(0, 2550), (1, 2500)]);
    }

    #[test]
    fn every_wait_is_in_a_histogram_of_its_cpu_and_of_its_program() {
        let mut rows = Rows::new("h");
        distributions(&[line(1, 1), line(2, 5000), line(4, 9000)], Tick::new(Micros(1), Some(1.0)), &mut rows);
        let table = rows.of(&histogram::TABLE).unwrap();
        let of = |row| (table.str(row, h::labels).unwrap(), table.f64(row, h::lo).unwrap(), table.f64(row, h::count));
        let seen: Vec<_> = (0..table.n_rows()).map(of).collect();
        let expected = [
            ("cpu=0", 4.096, Some(1.0)),
            ("cpu=0", 8.192, Some(1.0)),
            ("cpu=1", 0.0, Some(1.0)),
            ("comm=p1", 0.0, Some(1.0)),
            ("comm=p1", 8.192, Some(1.0)),
            ("comm=p2", 4.096, Some(1.0)),
        ];
        assert_eq!(seen, expected);
    }
}
