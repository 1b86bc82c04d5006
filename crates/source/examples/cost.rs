//! Cost of each source: microseconds of CPU time per sample on this machine.
//!
//! `cargo run -p fenxi-source --example cost [SAMPLES]`; rows are gathered and taken out at every
//! sample, as the recorder does.
#![allow(clippy::print_stdout, reason = "an example that prints its result")]

use std::time::Duration;

use fenxi_model::{Micros, Rows};
use fenxi_source::{Collector, Root, SOURCES, Take, Tick};
use rustix::time::{ClockId, clock_gettime};

/// CPU time of this thread so far, in microseconds.
fn cpu_us() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

struct Measured {
    name: &'static str,
    collector: Box<dyn Collector>,
    us: f64,
    worst: f64,
    rows: usize,
    every: u32,
}

fn main() {
    let n_samples: u32 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(200);
    let mut measured = Vec::new();
    for source in SOURCES {
        let spec = source.spec();
        let every = match spec.take {
            Take::EveryTick => 1,
            Take::Every { seconds } => seconds,
            Take::StartAndEnd => continue,
        };
        match source.start(&Root::live()) {
            Ok(collector) => {
                measured.push(Measured { name: spec.name, collector, us: 0.0, worst: 0.0, rows: 0, every });
            }
            Err(error) => println!("{}: {error}", spec.name),
        }
    }
    let mut rows = Rows::new("here");
    let pause = Duration::from_millis(10);
    for n in 0..=n_samples {
        let dt = (n > 0).then_some(pause.as_secs_f64());
        for m in &mut measured {
            let begin = cpu_us();
            if let Err(error) = m.collector.sample(Tick::new(Micros(i64::from(n) * 10_000), dt), &mut rows) {
                println!("{}: {error}", m.name);
            }
            m.rows += rows.len();
            rows.tables_mut().for_each(|t| drop(t.take()));
            let us = cpu_us() - begin;
            if n > 0 {
                m.us += us;
                m.worst = m.worst.max(us);
            }
        }
        std::thread::sleep(pause);
    }
    println!("{:<10} {:>10} {:>10} {:>8} {:>7}", "source", "us/sample", "worst us", "rows", "every");
    let n = f64::from(n_samples);
    for m in &measured {
        let (us, rows) = (m.us / n, m.rows as f64 / n);
        println!("{:<10} {us:>10.1} {:>10.1} {rows:>8.1} {:>6}s", m.name, m.worst, m.every);
    }
    let each = |m: &Measured| m.us / n / f64::from(m.every);
    println!("all, per tick of 1 s: {:.1} us", measured.iter().map(each).sum::<f64>());
}
