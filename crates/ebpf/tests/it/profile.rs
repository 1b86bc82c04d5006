//! Samples go to the functions in which time goes.

use std::{collections::BTreeMap, process::Command};

use fenxi_ebpf::{Tracked, profile::Profile};
use fenxi_model::{Rows, catalog::stack as c};

use crate::{
    observed::Observed,
    programs::{compiled, compiled_as},
};

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
    let source = Profile { tracked: Tracked::Children, frequency: 997, off_cpu: true, light: false };
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
    // The C library keeps no frame pointers.
    let paused =
        waiting.iter().filter(|(stack, _)| stack.contains("main;wait_a_while;") && stack.contains("nanosleep"));
    let paused_s: f64 = paused.map(|(_, (_, time_s))| time_s).sum();
    assert!((0.3..2.0).contains(&paused_s), "{paused_s}: {waiting:?}");
}

/// It runs a fifth of a second within an interval: what it has mapped is read when it is met.
#[test]
fn a_program_that_ends_within_an_interval_has_its_names() {
    let Some(program) = compiled("hot", &["-O0"]) else { return };
    let Some(mut observed) =
        Observed::begin(&Profile { tracked: Tracked::Children, frequency: 997, off_cpu: false, light: false })
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

/// Samples of a process, and whether a stack of its is wanted.
#[cfg(target_arch = "x86_64")]
fn samples(rows: &Rows, pid: u32, is_wanted: impl Fn(&str) -> bool) -> f64 {
    let Some(rows) = rows.of(&c::TABLE) else { return 0.0 };
    let of_it = (0..rows.n_rows()).filter(|row| rows.i64(*row, c::pid) == Some(i64::from(pid)));
    let wanted = of_it.filter(|row| rows.str(*row, c::stack).is_some_and(&is_wanted));
    wanted.filter_map(|row| rows.f64(row, c::samples)).sum()
}

/// Its own functions have no frame pointers, nor has the C library in which its thread begins and its signal comes back.
#[test]
#[cfg(target_arch = "x86_64")]
fn stacks_without_frame_pointers_reach_the_outermost_function() {
    let Some(program) = compiled("nested", &["-O2", "-fomit-frame-pointer"]) else { return };
    let Some(mut observed) =
        Observed::begin(&Profile { tracked: Tracked::Children, frequency: 997, off_cpu: false, light: false })
    else {
        return;
    };
    // The tables of the C library are there from then on.
    assert!(Command::new(&program).arg("100").status().unwrap().success());
    let mut child = Command::new(&program).arg("1200").spawn().unwrap();
    let pid = child.id();
    assert!(child.wait().unwrap().success());
    let rows = observed.read();
    let sum = |is_it: &dyn Fn(&str) -> bool| samples(rows, pid, is_it);
    let all = sum(&|_| true);
    let alone = sum(&|stack| stack.starts_with("_start;") && stack.contains(";main;first"));
    let threaded = sum(&|stack| stack.starts_with("clone") && stack.contains(";threaded;first"));
    let in_handler =
        sum(&|stack| stack.starts_with("_start;") && stack.contains(";main;") && stack.contains(";handler;first"));
    let nested = sum(&|stack| stack.contains("first;second;third;fourth;fifth"));
    let parts = [all, alone, threaded, in_handler, nested];
    assert!(all > 100.0 && alone + threaded + in_handler >= 0.95 * all && nested >= 0.9 * all, "{parts:?}");
    assert!([alone, threaded, in_handler].iter().all(|part| (0.2..0.5).contains(&(part / all))), "{parts:?}");
}

/// A library that is loaded while the program runs has tables a moment later.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_library_that_is_loaded_later_has_whole_stacks() {
    const OPTIONS: &[&str] = &["-O2", "-fomit-frame-pointer"];
    let Some(program) = compiled("later", OPTIONS) else { return };
    let as_library = [OPTIONS, &["-DLATER", "-shared", "-fPIC"]].concat();
    let Some(library) = compiled_as("later.so", "later", &as_library) else { return };
    let Some(mut observed) =
        Observed::begin(&Profile { tracked: Tracked::Children, frequency: 997, off_cpu: false, light: false })
    else {
        return;
    };
    let mut child = Command::new(&program).arg(&library).arg("1000").spawn().unwrap();
    let pid = child.id();
    assert!(child.wait().unwrap().success());
    let rows = observed.read();
    let of_library = samples(rows, pid, |stack| stack.contains("burn") && !stack.contains("main;burn"));
    let whole = samples(rows, pid, |stack| stack.starts_with("_start;") && stack.contains(";main;in_library;burn"));
    assert!(of_library > 100.0 && whole >= 0.75 * of_library, "{whole} of {of_library}");
}

/// Its file is found as the process has it: in another root directory, and no longer there.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_program_in_another_root_directory_whose_file_is_gone_has_whole_stacks() {
    let Some(program) = compiled_as("alone", "nested", &["-O2", "-fomit-frame-pointer", "-static"]) else { return };
    let Some(mut observed) =
        Observed::begin(&Profile { tracked: Tracked::Children, frequency: 997, off_cpu: false, light: false })
    else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    fs_err::copy(&program, root.path().join("alone")).unwrap();
    let mut child = Command::new("chroot").arg(root.path()).args(["/alone", "1500"]).spawn().unwrap();
    let pid = child.id();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while fs_err::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| !exe.ends_with("alone")) {
        assert!(std::time::Instant::now() < deadline, "it does not begin");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    fs_err::remove_file(root.path().join("alone")).unwrap();
    assert!(child.wait().unwrap().success());
    let rows = observed.read();
    // Nothing is left from which it could be known who the functions are.
    let depth = |stack: &str| stack.split(';').filter(|frame| !frame.ends_with("_[k]")).count();
    let (all, deep) = (samples(rows, pid, |_| true), samples(rows, pid, |stack| depth(stack) >= 7));
    assert!(all > 100.0 && deep >= 0.9 * all, "{deep} of {all}");
}
