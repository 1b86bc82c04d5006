//! Cost of one tick to the recorder: CPU time, writes and bytes, then the cost of sealing.
//!
//! `cargo run -p fenxi-store --example append_cost [TICKS] [PROCESSES]`
#![allow(clippy::print_stdout, reason = "an example reports what it measured")]

use std::{collections::BTreeMap, error::Error};

use fenxi_model::{Micros, Rows, TABLES, Type, catalog::N_COMMON};
use fenxi_store::{Begin, End, Store};

/// Tables of a typical tick with their rows: 2 CPUs, 2 disks, 2 interfaces.
const TICK: &[(&str, usize)] = &[
    ("cpu", 3),
    ("sched", 1),
    ("pressure", 3),
    ("mem", 1),
    ("vm", 1),
    ("disk", 2),
    ("fs", 4),
    ("net", 2),
    ("tcp", 1),
    ("udp", 1),
    ("irq", 20),
    ("softirq", 20),
    ("process", 0),
    ("cgroup", 8),
    ("event", 0),
    ("result", 0),
];

fn cpu(clock: rustix::time::ClockId) -> f64 {
    let now = rustix::time::clock_gettime(clock);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn fill(tick: i64, processes: usize, rows: &mut Rows) {
    for (name, n) in TICK {
        let Some(table) = fenxi_model::table(name) else { continue };
        let n = if *name == "process" { processes } else { *n };
        for i in 0..n {
            let mut row = rows.row(table, Micros(1_795_271_753_000_000 + tick * 1_000_000), 1.0);
            for (place, column) in table.columns.iter().enumerate().skip(N_COMMON).take(20) {
                let noise = (tick * 7919 + i as i64 * 104_729 + place as i64 * 31) % 1000;
                match column.ty {
                    Type::F64 if noise % 3 == 0 => row.f64(place, 0.0),
                    Type::F64 => row.f64(place, noise as f64 / 10.0),
                    Type::I64 => row.i64(place, 1000 + i as i64),
                    Type::Label => row.str(place, format!("{}{i}", column.name).as_str()),
                    Type::Text | Type::Time => &mut row,
                };
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>());
    let ticks = args.next().transpose()?.unwrap_or(600);
    let processes = args.next().transpose()?.unwrap_or(40);
    let dir = std::env::temp_dir().join(format!("fenxi-append-cost-{}", std::process::id()));
    let store = Store::open_or_create(&dir)?;
    let begin = Begin {
        name: None,
        kind: "record".to_owned(),
        host: "h".to_owned(),
        command: Vec::new(),
        params: BTreeMap::new(),
        tags: BTreeMap::new(),
        start: Micros(1_795_271_753_000_000),
        interval_s: Some(1.0),
        random: 1,
        sources: Vec::new(),
    };
    let mut open = store.begin(begin)?;
    let mut rows = Rows::new("h");
    let (mut spent, mut longest) = (0.0, 0.0_f64);
    for tick in 0..ticks as i64 {
        fill(tick, processes, &mut rows);
        let before = cpu(rustix::time::ClockId::ThreadCPUTime);
        open.append(&mut rows)?;
        let took = cpu(rustix::time::ClockId::ThreadCPUTime) - before;
        spent += took;
        longest = longest.max(took);
    }
    let mut bytes = 0;
    for entry in fs_err::read_dir(dir.join("open").join(open.id().as_str()))? {
        bytes += entry?.metadata()?.len();
    }
    println!(
        "{} tables in the catalogue, {ticks} ticks of {} tables and {processes} processes",
        TABLES.len(),
        TICK.len() - 2
    );
    println!(
        "append: {:.0} µs CPU a tick, longest {:.0} µs, {:.0} bytes a tick",
        spent / ticks as f64 * 1e6,
        longest * 1e6,
        bytes as f64 / ticks as f64
    );
    let end = end(ticks as u64);
    let before = cpu(rustix::time::ClockId::Monotonic);
    let id = open.seal(end)?;
    let run = store.run(&id)?.manifest;
    println!(
        "seal: {:.1} ms elapsed, {:.1} ms CPU, {} rows, {} bytes",
        (cpu(rustix::time::ClockId::Monotonic) - before) * 1e3,
        run.seal_cpu_s.unwrap_or_default() * 1e3,
        run.rows(),
        run.bytes()
    );
    for file in &run.files {
        println!("  {:<16} {:>8} rows {:>8} bytes", file.name, file.rows, file.bytes);
    }
    fs_err::remove_dir_all(&dir)?;
    Ok(())
}

/// The end of a recording of so many ticks of a second.
fn end(ticks: u64) -> End {
    End { ticks, ..End::at(Micros(1_795_271_753_000_000 + ticks as i64 * 1_000_000)) }
}
