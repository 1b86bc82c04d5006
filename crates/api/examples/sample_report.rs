//! Makes up a run, writes its report and says how long each question took and what the file weighs.
//!
//! `cargo run -p fenxi-api --example sample_report -- FILE.html [SECONDS] [CPUS] [RUNS]`
#![allow(clippy::print_stdout, reason = "an example tells its reader what it measured")]

use std::{error::Error, time::Instant};

use fenxi_api::{Context, page_file_watched, page_of_runs};
use fenxi_query::Engine;
use fenxi_store::Store;

#[path = "../tests/it/synthetic/mod.rs"]
mod synthetic;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let file = args.next().unwrap_or_else(|| "sample.html".to_owned());
    let mut number = |default: u32| args.next().and_then(|a| a.parse().ok()).unwrap_or(default);
    let (seconds, cpus, runs) = (number(1800), number(64), number(1));
    let dir = tempfile::tempdir()?;
    let store = Store::open_or_create(dir.path().join("store"))?;
    let begin = Instant::now();
    let mut ids = Vec::new();
    for place in 0..runs {
        let name = if place == 0 { "before".to_owned() } else { format!("after-{place}") };
        let made = synthetic::Made { name: &name, seconds, cpus, phase: f64::from(place) };
        ids.push(synthetic::run(&store, &made)?);
    }
    println!("{runs} run(s) of {seconds} s with {cpus} CPUs made up in {:.2?}", begin.elapsed());
    let begin = Instant::now();
    let engine = Engine::open(&store, &fenxi_query::Options::default())?;
    println!("engine begun in {:.2?}", begin.elapsed());
    let begin = Instant::now();
    let mut times = Vec::new();
    let context = Context { store: &store, engine: &engine, read_only: true };
    let html = page_file_watched(&context, &page_of_runs(&ids), &mut |name, took| {
        times.push((took, name.to_owned()));
    })?;
    println!("report made in {:.2?}, {:.2} MB", begin.elapsed(), html.len() as f64 / 1e6);
    times.sort();
    for (took, name) in times.iter().rev() {
        println!("{:>9.1} ms  {name}", took.as_secs_f64() * 1e3);
    }
    fs_err::write(&file, html)?;
    Ok(())
}
