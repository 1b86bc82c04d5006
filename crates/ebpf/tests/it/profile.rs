//! Samples go to the functions in which time goes.

use std::{collections::BTreeMap, process::Command};

use fenxi_ebpf::{Tracked, profile::Profile};
use fenxi_model::{Rows, catalog::stack as c};

use crate::{observed::Observed, programs::compiled};

/// Samples and seconds of the stacks of `event`.
fn stacks(rows: &Rows, event: &str) -> BTreeMap<String, (f64, f64)> {
    let mut stacks = BTreeMap::new();
    if let Some(rows) = rows.of(&c::TABLE) {
        // Servers that other tests start are children of this process, too.
        let is_it = |row: &usize| rows.str(*row, c::event) == Some(event) && rows.str(*row, c::comm) == Some("hot");
        for row in (0..rows.n_rows()).filter(is_it) {
            let sum: &mut (f64, f64) = stacks.entry(rows.str(row, c::stack).unwrap().to_owned()).or_default();
            sum.0 += rows.f64(row, c::samples).unwrap();
            sum.1 += rows.f64(row, c::time_s).unwrap();
        }
    }
    stacks
}

#[test]
fn a_hot_function_has_the_samples_and_a_waiting_one_the_time() {
    let Some(program) = compiled("hot", &["-O0"]) else { return };
    // Fast, so that half a second gives many samples on a busy machine, too.
    let source = Profile { tracked: Tracked::Children, frequency: 997, off_cpu: true };
    let Some(mut observed) = Observed::begin(&source) else { return };
    let mut child = Command::new(&program).spawn().unwrap();
    // Its maps are read while it lives, as in a recording.
    std::thread::sleep(std::time::Duration::from_millis(300));
    observed.read();
    assert!(child.wait().unwrap().success());
    let rows = observed.read();
    let running = stacks(rows, "on-cpu");
    let all: f64 = running.values().map(|(samples, _)| samples).sum();
    // Interrupts came there, too.
    let is_hot = |stack: &str| stack.ends_with("main;work;hot") || stack.contains("main;work;hot;asm_");
    let hot: f64 = running.iter().filter(|(stack, _)| is_hot(stack)).map(|(_, (samples, _))| samples).sum();
    assert!(all > 50.0 && hot >= 0.95 * all, "{hot} of {all}: {running:?}");
    let waiting = stacks(rows, "off-cpu");
    // The C library keeps no frame pointers: where it was called from is lost, and the caller's caller is next.
    let paused = waiting.iter().filter(|(stack, _)| stack.contains("main;") && stack.contains("nanosleep"));
    let paused_s: f64 = paused.map(|(_, (_, time_s))| time_s).sum();
    assert!((0.3..2.0).contains(&paused_s), "{paused_s}: {waiting:?}");
}

/// It runs a fifth of a second within an interval: what it has mapped is read when it is met.
#[test]
fn a_program_that_ends_within_an_interval_has_its_names() {
    let Some(program) = compiled("hot", &["-O0"]) else { return };
    let Some(mut observed) = Observed::begin(&Profile { tracked: Tracked::Children, frequency: 997, off_cpu: false })
    else {
        return;
    };
    assert!(Command::new(&program).arg("200").status().unwrap().success());
    let running = stacks(observed.read(), "on-cpu");
    let all: f64 = running.values().map(|(samples, _)| samples).sum();
    let named = running.iter().filter(|(stack, _)| stack.contains("main;work;hot"));
    let named: f64 = named.map(|(_, (samples, _))| samples).sum();
    assert!(all > 50.0 && named >= 0.9 * all, "{named} of {all}: {running:?}");
}
