//! Makes runs of any size for measurements: `synth STORE RUNS SECONDS CPUS [full [rolled INTERVAL]]`.
//!
//! With `rolled` the runs follow one another as those of a recording without an end, with a sample every INTERVAL
//! seconds. Otherwise each run has one sample a second, a `cpu` row for every CPU and one for all of them; with
//! `full` also what a real recording has besides: scheduler, memory, disks, interfaces, soft
//! interrupts and processes. Values wander as real ones do (they compress as badly), but are
//! the same at every call, so that two engines can be asked the same.

#![allow(clippy::print_stderr, reason = "a measuring tool prints")]

use std::{collections::BTreeMap, process::ExitCode};

use fenxi_model::{
    Micros, Rows,
    catalog::{cpu, disk, mem, net, process, sched, softirq},
};
use fenxi_store::{Begin, End, SERIES, Store, StoreError};

/// 2026-01-01 00:00:00 UTC.
const FIRST_START: i64 = 1_767_225_600_000_000;
/// Samples handed to the store at once.
const BATCH: i64 = 60;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize| arguments.get(i).and_then(|a| a.parse::<i64>().ok());
    let (Some(path), Some(runs), Some(seconds), Some(cpus)) = (arguments.first(), number(1), number(2), number(3))
    else {
        eprintln!("usage: synth STORE RUNS SECONDS CPUS [full]");
        return ExitCode::from(2);
    };
    let full = arguments.get(4).is_some_and(|a| a == "full");
    let rolled = arguments.get(5).is_some_and(|a| a == "rolled").then(|| number(6).unwrap_or(10).max(1));
    for run in 0..runs {
        if let Err(error) = write_run(path, run, seconds, cpus, full, rolled) {
            eprintln!("synth: {error}");
            return ExitCode::FAILURE;
        }
        if (run + 1) % 100 == 0 {
            eprintln!("synth: {} of {runs} runs", run + 1);
        }
    }
    ExitCode::SUCCESS
}

fn write_run(path: &str, run: i64, seconds: i64, cpus: i64, full: bool, rolled: Option<i64>) -> Result<(), StoreError> {
    let store = Store::open_or_create(path)?;
    let interval = rolled.unwrap_or(1);
    let gap = if rolled.is_some() { 0 } else { 60 };
    let start = Micros(FIRST_START + run * (seconds + gap) * 1_000_000);
    let mut tags = BTreeMap::from([("set".to_owned(), (run % 10).to_string())]);
    if rolled.is_some() {
        tags = BTreeMap::from([(SERIES.to_owned(), "synth".to_owned())]);
    }
    let mut open = store.begin(Begin {
        name: Some(if rolled.is_some() { "synth".to_owned() } else { format!("synth-{run}") }),
        kind: "record".to_owned(),
        host: "synth".to_owned(),
        command: Vec::new(),
        params: BTreeMap::new(),
        tags,
        start,
        interval_s: Some(interval as f64),
        random: run as u64,
        sources: vec!["synth".to_owned()],
    })?;
    let mut machine = Machine::new(run, cpus, interval as f64);
    let mut rows = Rows::new("synth");
    let ticks = seconds / interval;
    for tick in 1..=ticks {
        let t = Micros(start.0 + tick * interval * 1_000_000);
        machine.processors(t, &mut rows);
        if full {
            machine.rest(t, &mut rows);
        }
        if tick % BATCH == 0 || tick == ticks {
            open.append(&mut rows)?;
        }
    }
    open.seal(End { ticks: ticks as u64, ..End::at(Micros(start.0 + seconds * 1_000_000)) })?;
    Ok(())
}

/// A machine whose figures wander.
struct Machine {
    random: u64,
    dt: f64,
    busy: Vec<f64>,
    names: Vec<String>,
}

impl Machine {
    fn new(run: i64, cpus: i64, dt: f64) -> Machine {
        let random = 0x9e37_79b9_7f4a_7c15 ^ (run as u64).wrapping_mul(0xd134_2543_de82_ef95);
        Machine { random, dt, busy: vec![30.0; cpus as usize], names: (0..cpus).map(|c| c.to_string()).collect() }
    }

    /// From 0 up to 1; xorshift, as no quality is needed.
    fn uniform(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A share of 100 ticks of the clock, as /proc/stat gives it.
    fn percent(&mut self, most: f64) -> f64 {
        (self.uniform() * most).round()
    }

    fn processors(&mut self, t: Micros, rows: &mut Rows) {
        let mut total = [0.0; 4];
        for i in 0..self.busy.len() {
            let step = (self.uniform() - 0.5) * 10.0;
            let busy = (self.busy[i] + step).clamp(0.0, 95.0);
            self.busy[i] = busy;
            let usr = (busy * (0.6 + 0.2 * self.uniform())).round();
            let sys = (busy - usr).max(0.0).round();
            let iowait = self.percent(3.0);
            let idle = 100.0 - usr - sys - iowait;
            for (sum, value) in total.iter_mut().zip([usr, sys, iowait, idle]) {
                *sum += value;
            }
            let row = &mut rows.row(&cpu::TABLE, t, self.dt);
            row.str(cpu::cpu, self.names[i].as_str());
            states(row, [usr, sys, iowait, idle]);
        }
        let n = self.busy.len() as f64;
        states(&mut rows.row(&cpu::TABLE, t, self.dt), total.map(|sum| sum / n));
    }

    fn rest(&mut self, t: Micros, rows: &mut Rows) {
        let load = self.uniform() * self.busy.len() as f64;
        rows.row(&sched::TABLE, t, self.dt)
            .f64(sched::runnable, load.round())
            .f64(sched::load1, load)
            .f64(sched::context_switches_per_s, self.uniform() * 1e5);
        let used = 4e9 + self.uniform() * 1e9;
        rows.row(&mem::TABLE, t, self.dt)
            .f64(mem::total_bytes, 64e9)
            .f64(mem::used_bytes, used)
            .f64(mem::available_bytes, 64e9 - used)
            .f64(mem::cached_bytes, 20e9);
        for device in ["nvme0n1", "nvme1n1", "sda", "sdb"] {
            let (reads, writes) = (self.uniform() * 5e3, self.uniform() * 2e3);
            rows.row(&disk::TABLE, t, self.dt)
                .str(disk::device, device)
                .f64(disk::reads_per_s, reads)
                .f64(disk::writes_per_s, writes)
                .f64(disk::read_bytes_per_s, reads * 8192.0)
                .f64(disk::write_bytes_per_s, writes * 16_384.0)
                .f64(disk::await_ms, self.uniform() * 3.0)
                .f64(disk::queue_depth, self.uniform() * 4.0)
                .f64(disk::util, self.percent(100.0));
        }
        for interface in ["eth0", "lo"] {
            rows.row(&net::TABLE, t, self.dt)
                .str(net::interface, interface)
                .f64(net::rx_bytes_per_s, self.uniform() * 1e8)
                .f64(net::tx_bytes_per_s, self.uniform() * 1e8)
                .f64(net::rx_packets_per_s, self.uniform() * 1e5)
                .f64(net::tx_packets_per_s, self.uniform() * 1e5);
        }
        for i in 0..self.names.len() {
            for kind in ["NET_RX", "TIMER", "SCHED", "RCU"] {
                let rate = self.uniform() * 1e3;
                rows.row(&softirq::TABLE, t, self.dt)
                    .str(softirq::softirq, kind)
                    .str(softirq::cpu, self.names[i].as_str())
                    .f64(softirq::softirqs_per_s, rate);
            }
        }
        for pid in 100..150 {
            let (usr, sys) = (self.percent(60.0), self.percent(20.0));
            rows.row(&process::TABLE, t, self.dt)
                .i64(process::pid, pid)
                .str(process::comm, if pid % 3 == 0 { "postgres" } else { "java" })
                .str(process::user, "app")
                .f64(process::usr, usr)
                .f64(process::sys, sys)
                .f64(process::cpu, usr + sys)
                .f64(process::rss_bytes, 1e8 + self.uniform() * 1e7)
                .f64(process::read_bytes_per_s, self.uniform() * 1e6)
                .f64(process::write_bytes_per_s, self.uniform() * 1e6);
        }
    }
}

fn states(row: &mut fenxi_model::Row<'_, cpu::Schema>, [usr, sys, iowait, idle]: [f64; 4]) {
    row.f64(cpu::usr, usr).f64(cpu::nice, 0.0).f64(cpu::sys, sys).f64(cpu::iowait, iowait).f64(cpu::irq, 0.0);
    row.f64(cpu::softirq, 0.0).f64(cpu::steal, 0.0).f64(cpu::guest, 0.0).f64(cpu::idle, idle);
}
