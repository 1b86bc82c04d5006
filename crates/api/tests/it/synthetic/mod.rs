//! Runs made up from formulas, for tests and the example: no clock, no machine, always the same.

use fenxi_model::{
    Micros, Rows, RunId,
    catalog::{cpu, disk, irq, mem, net, pressure, process, result, sched, text, vm},
};
use fenxi_store::{Begin, End, Store, StoreError};

/// Description of a run to generate.
pub struct Made<'a> {
    /// The run's name.
    pub name: &'a str,
    /// Length in seconds, one sample each.
    pub seconds: u32,
    /// CPUs of the host.
    pub cpus: u32,
    /// Shifts the phases, so that two runs differ.
    pub phase: f64,
}

const START: i64 = 1_795_271_753_000_000;

/// A wave between 0 and 1 with a little roughness.
fn wave(t: f64, period: f64) -> f64 {
    let rough = ((t * 12.9898 + period).sin() * 43_758.545).fract().abs();
    0.85 * (0.5 + 0.5 * (t / period).sin()) + 0.15 * rough
}

/// Makes up a run in `store`.
pub fn run(store: &Store, made: &Made<'_>) -> Result<RunId, StoreError> {
    let start = Micros(START + (made.phase * 3.6e9) as i64);
    let begin = Begin {
        name: Some(made.name.to_owned()),
        command: ["sysbench", "oltp_read_write", "--threads=64", "run"].map(str::to_owned).to_vec(),
        params: [("threads".to_owned(), "64".to_owned())].into(),
        tags: [("build".to_owned(), made.name.to_owned())].into(),
        interval_s: Some(1.0),
        random: (made.phase * 1000.0) as u64,
        sources: vec!["cpu".to_owned()],
        ..Begin::new("record", "nene", start)
    };
    let mut open = store.begin(begin)?;
    let mut rows = Rows::new("nene");
    for second in 1..=made.seconds {
        let t = Micros(start.0 + i64::from(second) * 1_000_000);
        sample(&mut rows, t, f64::from(second) + made.phase * 100.0, made.cpus);
        if second % 60 == 0 || second == made.seconds {
            if second == made.seconds {
                facts(&mut rows, t, made.seconds);
            }
            open.append(&mut rows)?;
        }
    }
    open.seal(End {
        exit_status: Some(0),
        ticks: u64::from(made.seconds),
        ..End::at(Micros(start.0 + i64::from(made.seconds) * 1_000_000))
    })
}

fn facts(rows: &mut Rows, t: Micros, seconds: u32) {
    for (name, value, unit, better) in [
        ("elapsed", f64::from(seconds), "s", "lower"),
        ("transactions", 12_345.6, "/s", "higher"),
        ("latency_p95", 8.43, "ms", "lower"),
        ("exit status", 0.0, "", "neither"),
    ] {
        rows.row(&result::TABLE, t, None)
            .str(result::name, name)
            .f64(result::value, value)
            .str(result::unit, unit)
            .str(result::better, better)
            .str(result::source, "command");
    }
    for i in 0..40 {
        let value = if i == 3 { "x86-64 ".repeat(40) } else { format!("value {i}") };
        rows.row(&text::TABLE, t, None)
            .str(text::topic, if i < 20 { "kernel" } else { "sysctl" })
            .str(text::name, format!("vm.fact_{i}").as_str())
            .str(text::phase, "start")
            .text(text::value, value.as_str());
    }
    rows.event(t, "mark", "demo", "the load ended");
}

fn sample(rows: &mut Rows, t: Micros, x: f64, cpus: u32) {
    let mut busy = 0.0;
    for place in 0..cpus {
        // CPU 3 is saturated all the time, the others follow the load.
        let share = if place == 3 { 0.99 } else { 0.7 * wave(x + f64::from(place) * 7.0, 90.0) };
        busy += share;
        cpu_row(rows, t, Some(place), share);
    }
    cpu_row(rows, t, None, busy / f64::from(cpus.max(1)));
    rows.row(&sched::TABLE, t, 1.0)
        .f64(sched::runnable, (12.0 * wave(x, 90.0)).round())
        .f64(sched::blocked, 0.0)
        .f64(sched::load1, 3.0 + wave(x, 200.0))
        .f64(sched::context_switches_per_s, 180_000.0 * wave(x, 80.0))
        .f64(sched::forks_per_s, 12.0)
        .f64(sched::intr_per_s, 90_000.0 * wave(x, 70.0));
    for resource in ["cpu", "memory", "io"] {
        let some = if resource == "memory" { 0.0 } else { 20.0 * wave(x, 120.0) };
        rows.row(&pressure::TABLE, t, 1.0)
            .str(pressure::resource, resource)
            .f64(pressure::some, some)
            .f64(pressure::full, some / 3.0);
    }
    memory(rows, t, x);
    devices(rows, t, x);
    for (place, comm) in ["mysqld", "sysbench", "kworker/u8:2", "fenxi", "sshd"].iter().enumerate() {
        let cpu = 800.0 * wave(x + place as f64, 90.0) / (1.0 + place as f64).powi(3);
        rows.row(&process::TABLE, t, 1.0)
            .i64(process::pid, 1000 + place as i64)
            .str(process::comm, *comm)
            .str(process::user, "mysql")
            .f64(process::cpu, cpu)
            .f64(process::usr, cpu * 0.8)
            .f64(process::sys, cpu * 0.2)
            .f64(process::rss_bytes, 2e9 / (1.0 + place as f64));
    }
    for (name, device, rate) in [("24", "nvme0q1", 4000.0), ("LOC", "Local timer interrupts", 250.0)] {
        for place in 0..cpus.min(8) {
            rows.row(&irq::TABLE, t, 1.0)
                .str(irq::irq, name)
                .str(irq::cpu, place.to_string().as_str())
                .str(irq::name, device)
                .f64(irq::intr_per_s, rate * wave(x + f64::from(place), 60.0));
        }
    }
}

fn cpu_row(rows: &mut Rows, t: Micros, place: Option<u32>, share: f64) {
    let name = place.map(|p| p.to_string());
    rows.row(&cpu::TABLE, t, 1.0)
        .str(cpu::cpu, name.as_deref())
        .f64(cpu::usr, share * 70.0)
        .f64(cpu::nice, 0.0)
        .f64(cpu::sys, share * 22.0)
        .f64(cpu::iowait, (1.0 - share) * 10.0)
        .f64(cpu::irq, 0.0)
        .f64(cpu::softirq, share * 8.0)
        .f64(cpu::steal, 0.0)
        .f64(cpu::guest, 0.0)
        .f64(cpu::idle, (1.0 - share) * 90.0);
}

fn memory(rows: &mut Rows, t: Micros, x: f64) {
    let total = 270_000_000_000.0;
    let used = total * (0.3 + 0.0001 * (x % 3600.0));
    rows.row(&mem::TABLE, t, 1.0)
        .f64(mem::total_bytes, total)
        .f64(mem::used_bytes, used)
        .f64(mem::available_bytes, total - used)
        .f64(mem::free_bytes, total * 0.1)
        .f64(mem::cached_bytes, total * 0.4)
        .f64(mem::anon_bytes, used * 0.8)
        .f64(mem::dirty_bytes, 3e8 * wave(x, 40.0))
        .f64(mem::swap_used_bytes, 0.0);
    rows.row(&vm::TABLE, t, 1.0)
        .f64(vm::faults_per_s, 20_000.0 * wave(x, 50.0))
        .f64(vm::major_faults_per_s, 0.0)
        .f64(vm::page_out_bytes_per_s, 2e8 * wave(x, 60.0))
        .f64(vm::swap_in_pages_per_s, 0.0)
        .f64(vm::swap_out_pages_per_s, 0.0);
}

fn devices(rows: &mut Rows, t: Micros, x: f64) {
    for (place, name) in ["nvme0n1", "nvme1n1", "sda"].iter().enumerate() {
        let load = wave(x + place as f64 * 20.0, 60.0) / (1.0 + place as f64);
        rows.row(&disk::TABLE, t, 1.0)
            .str(disk::device, *name)
            .str(disk::class, "disk")
            .f64(disk::reads_per_s, 9000.0 * load)
            .f64(disk::writes_per_s, 4000.0 * load)
            .f64(disk::read_bytes_per_s, 150e6 * load)
            .f64(disk::write_bytes_per_s, 60e6 * load)
            .f64(disk::read_await_ms, 0.2 + load)
            .f64(disk::write_await_ms, (load > 0.1).then_some(0.05 + load / 9.0))
            .f64(disk::await_ms, 0.2 + load)
            .f64(disk::queue_depth, 12.0 * load)
            .f64(disk::util, 100.0 * load.min(1.0));
    }
    for name in ["eth0", "lo"] {
        let load = if name == "lo" { 0.0 } else { wave(x, 75.0) };
        rows.row(&net::TABLE, t, 1.0)
            .str(net::interface, name)
            .str(net::class, if name == "lo" { "loopback" } else { "physical" })
            .f64(net::rx_bytes_per_s, 4e8 * load)
            .f64(net::tx_bytes_per_s, 9e8 * load)
            .f64(net::rx_packets_per_s, 3e5 * load)
            .f64(net::tx_packets_per_s, 6e5 * load);
    }
}
