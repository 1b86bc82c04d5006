//! `vmstat -s` of Solaris and illumos: counters since boot, in words.
//!
//! Two of them, taken at the begin and the end of a run, give more exact shares of CPU time than any
//! other tool: they count ticks. One alone gives averages since boot, which are kept apart.

use fenxi_model::{
    Micros, Place,
    catalog::{cpu, sched, vm},
    place::F64,
};

use super::times::{Times, Tool};
use crate::{Family, Format, Head, Input, Out, Sure};

/// Importer for vmstat -s of Solaris and illumos, once or repeatedly.
pub static FORMAT: Format = Format {
    name: "solaris-vmstat-s",
    summary: "vmstat -s of Solaris and illumos, once or repeatedly",
    family: Family::Unix,
    tables: &[&cpu::TABLE, &sched::TABLE, &vm::TABLE],
    example: "\
  8120374 cpu context switches
 27518803 device interrupts
 54056444 user   cpu
 42914527 system cpu
1220364345 idle   cpu
        0 wait   cpu
",
    sniff,
    read,
};

const TOOL: Tool =
    Tool { name: "vmstat", takes: "T", every: None, counters: true, default_s: 1.0, first_since_boot: true };

/// Counters that belong into tables, by their words.
const SCHED: &[(&str, Place<sched::Schema, F64>)] = &[
    ("cpu context switches", sched::context_switches_per_s),
    ("device interrupts", sched::intr_per_s),
    ("system calls", sched::syscalls_per_s),
];
const VM: &[(&str, Place<vm::Schema, F64>)] = &[
    ("major faults", vm::major_faults_per_s),
    ("pages examined by the clock daemon", vm::scan_kswapd_pages_per_s),
    ("pages freed by the clock daemon", vm::steal_kswapd_pages_per_s),
    ("pages swapped in", vm::swap_in_pages_per_s),
    ("pages swapped out", vm::swap_out_pages_per_s),
];
const CPU: &[(&str, Place<cpu::Schema, F64>)] =
    &[("user cpu", cpu::usr), ("system cpu", cpu::sys), ("wait cpu", cpu::iowait), ("idle cpu", cpu::idle)];

/// Most counters that one report can have.
const MAX_COUNTERS: usize = 200;

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.any(|l| l.ends_with(" user   cpu")) && head.any(|l| l.ends_with(" idle   cpu")))
}

/// One report being read.
struct Snapshot {
    t: Micros,
    /// The seconds since the one before; None where unknown.
    dt: Option<f64>,
    counters: Vec<(String, f64)>,
}

impl Snapshot {
    fn get(&self, name: &str) -> Option<f64> {
        self.counters.iter().find(|(n, _)| n == name).map(|(_, value)| *value)
    }
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut times = Times::new(input, out, TOOL);
    let (mut last, mut current): (Option<Snapshot>, Option<Snapshot>) = (None, None);
    while input.line().is_some() {
        let number = input.number();
        let line = times.strip(input.text(), out).trim();
        if line.is_empty() || times.knows(line) {
            continue;
        }
        let Some((name, value)) = counter(line) else {
            out.unknown(number, line, "no counter");
            continue;
        };
        if current.as_ref().is_some_and(|s| s.get(&name).is_some() || s.counters.len() >= MAX_COUNTERS) {
            end(&mut last, &mut current, out);
        }
        let snapshot = current.get_or_insert_with(|| {
            let (t, dt) = times.begin(out);
            let told = times.are_told() || out.hints().interval_s.is_some();
            Snapshot { t, dt: dt.filter(|_| told), counters: Vec::new() }
        });
        snapshot.counters.push((name, value));
    }
    end(&mut last, &mut current, out);
    out.since_boot(false);
}

/// Reads `   12345 words` as words (blanks made single) and number.
fn counter(line: &str) -> Option<(String, f64)> {
    let (value, words) = line.split_once(char::is_whitespace)?;
    let value = crate::number(value)?;
    // `total name lookups (cache hits 96%)`
    let words = words.split(" (cache hits").next().unwrap_or(words);
    let name = words.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    Some((name, value))
}

/// A report is complete.
fn end(last: &mut Option<Snapshot>, current: &mut Option<Snapshot>, out: &mut Out<'_>) {
    let Some(now) = current.take() else { return };
    out.since_boot(last.is_none());
    shares(&now, last.as_ref(), out);
    match last {
        Some(before) => rates(&now, before, out),
        None => {
            for (name, value) in &now.counters {
                out.metric(now.t, None, &format!("solaris-vmstat-s.{name}"), "", *value, "");
            }
        }
    }
    *last = Some(now);
}

/// Ticks of CPU time as shares of all ticks.
fn shares(now: &Snapshot, before: Option<&Snapshot>, out: &mut Out<'_>) {
    let ticks = |words: &str| {
        let was = before.map_or(Some(0.0), |b| b.get(words))?;
        now.get(words).map(|value| value - was).filter(|ticks| *ticks >= 0.0)
    };
    let Some(all) = CPU.iter().map(|(words, _)| ticks(words)).collect::<Option<Vec<_>>>() else { return };
    let sum: f64 = all.iter().sum();
    if sum > 0.0 {
        let mut row = out.row(&cpu::TABLE, now.t, now.dt);
        for ((_, place), ticks) in CPU.iter().zip(all) {
            row.f64(*place, ticks / sum * 100.0);
        }
    }
}

fn is_in<S>(known: &[(&str, Place<S, F64>)], name: &str) -> bool {
    known.iter().any(|(words, _)| *words == name)
}

fn rates(now: &Snapshot, before: &Snapshot, out: &mut Out<'_>) {
    let Some(seconds) = now.dt.filter(|dt| *dt > 0.0) else { return };
    let rate = |name: &str, value: f64| before.get(name).map(|was| (value - was) / seconds).filter(|rate| *rate >= 0.0);
    let rate_of = |words: &str| now.get(words).and_then(|value| rate(words, value));
    let mut row = out.row(&sched::TABLE, now.t, now.dt);
    for (words, place) in SCHED {
        row.f64(*place, rate_of(words));
    }
    let mut row = out.row(&vm::TABLE, now.t, now.dt);
    for (words, place) in VM {
        row.f64(*place, rate_of(words));
    }
    for (name, value) in &now.counters {
        if !(is_in(SCHED, name) || is_in(VM, name) || is_in(CPU, name)) {
            out.metric(now.t, now.dt, &format!("solaris-vmstat-s.{name}"), "", rate(name, *value), "/s");
        }
    }
}
