//! Measures how long it takes to put a range of time together: `ranged STORE RANGE…`. Each is made anew.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a measuring tool prints")]

use std::{process::ExitCode, time::Instant};

use fenxi_store::Store;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(store) = arguments.next().and_then(|path| Store::open(path).ok()) else {
        eprintln!("usage: ranged STORE RANGE…");
        return ExitCode::from(2);
    };
    for range in arguments {
        let _ = fs_err::remove_dir_all(store.path().join("cache/ranges"));
        let begun = Instant::now();
        match store.select_one(&range) {
            Ok(id) => println!("{range}: {:.3} s, {id}", begun.elapsed().as_secs_f64()),
            Err(error) => eprintln!("ranged: {error}"),
        }
    }
    ExitCode::SUCCESS
}
