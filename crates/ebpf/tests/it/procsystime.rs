//! System calls are counted exactly as `strace -c` counts them.

use std::{collections::BTreeMap, process::Command};

use fenxi_ebpf::{Tracked, procsystime::Procsystime};
use fenxi_model::{Rows, catalog::syscall as c};

use crate::{observed::Observed, programs::compiled};

/// Calls and errors of each system call.
type Counts = BTreeMap<String, (u64, u64)>;

/// Those of a command.
fn counts(rows: &Rows, comm: &str) -> Counts {
    let mut counts = Counts::new();
    if let Some(rows) = rows.of(&c::TABLE) {
        // Servers that other tests start are children of this process, too.
        for row in (0..rows.n_rows()).filter(|row| rows.str(*row, c::comm) == Some(comm)) {
            let count = counts.entry(rows.str(row, c::syscall).unwrap().to_owned()).or_default();
            count.0 += rows.f64(row, c::calls).unwrap() as u64;
            count.1 += rows.f64(row, c::errors).unwrap() as u64;
        }
    }
    counts
}

/// A program whose system calls are the same each time: it has no threads, draws nothing, asks no time.
fn program() -> Command {
    // By its whole path: it is given no PATH to be found by.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let find = std::env::split_paths(&path).map(|folder| folder.join("find")).find(|file| file.exists());
    let mut command = Command::new(find.unwrap_or_else(|| "find".into()));
    command.args(["/proc/self/net", "/proc/sys/fs", "-maxdepth", "1"]).env_clear().stdout(std::process::Stdio::null());
    command
}

/// The table that `strace -c` writes.
fn by_strace() -> Option<Counts> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("counts");
    // Its environment goes on to the program.
    let mut strace = Command::new("strace");
    strace.args(["-c", "-o"]).arg(&file).arg("--").arg(program().get_program()).args(program().get_args());
    if !strace.env_clear().stdout(std::process::Stdio::null()).status().is_ok_and(|status| status.success()) {
        return None;
    }
    let text = fs_err::read_to_string(file).unwrap();
    let lines = text.lines().skip_while(|line| !line.starts_with("---")).skip(1).take_while(|l| !l.starts_with("---"));
    let parse = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let errors = if words.len() == 6 { words[4].parse().unwrap() } else { 0 };
        (words[words.len() - 1].to_owned(), (words[3].parse().unwrap(), errors))
    };
    Some(lines.map(parse).collect())
}

#[test]
fn calls_and_errors_are_those_of_strace() {
    let Some(expected) = by_strace() else {
        eprintln!("SKIPPED procsystime against strace: strace cannot trace here");
        return;
    };
    let Some(mut observed) = Observed::begin(&Procsystime { tracked: Tracked::Children, by_thread: false }) else {
        return;
    };
    assert!(program().status().unwrap().success());
    let seen = counts(observed.read(), "find");
    assert_eq!(seen, expected);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn calls_of_32_bit_programs_are_not_taken_for_others_of_their_numbers() {
    let Some(program) = compiled("calls_32", &["-O1"]) else { return };
    let ran = |program: &std::path::Path| Command::new(program).status().unwrap().success();
    if !ran(&program) {
        eprintln!("SKIPPED procsystime of 32-bit calls: this kernel takes none");
        return;
    }
    let Some(mut observed) = Observed::begin(&Procsystime { tracked: Tracked::Children, by_thread: false }) else {
        return;
    };
    assert!(ran(&program));
    let seen = counts(observed.read(), "calls_32");
    let of = |name: &str| seen.get(name).copied().unwrap_or_default();
    assert_eq!(of("32-bit getpid"), (100, 0), "{seen:?}");
    assert_eq!(of("32-bit close"), (50, 50), "{seen:?}");
    assert_eq!((of("writev"), of("getpid")), ((10, 0), (100, 0)), "{seen:?}");
    assert!(!seen.contains_key("lstat"), "that is what 6 is on other architectures: {seen:?}");
}

#[test]
fn waiting_is_elapsed_but_not_cpu_time() {
    let Some(mut observed) = Observed::begin(&Procsystime { tracked: Tracked::Children, by_thread: false }) else {
        return;
    };
    assert!(Command::new("sleep").arg("0.2").status().unwrap().success());
    let rows = observed.read();
    let table = rows.of(&c::TABLE).unwrap();
    let sleep = (0..table.n_rows()).find(|row| table.str(*row, c::syscall) == Some("clock_nanosleep")).unwrap();
    let value = |place| table.f64(sleep, place).unwrap();
    assert_eq!((table.str(sleep, c::comm), value(c::calls)), (Some("sleep"), 1.0));
    assert!((0.2..0.5).contains(&value(c::elapsed_s)), "{}", value(c::elapsed_s));
    assert!(value(c::cpu_s) < 0.02, "{}", value(c::cpu_s));
}

#[test]
fn a_process_that_is_not_there_is_said() {
    let source = Procsystime { tracked: Tracked::Processes(vec![u32::MAX >> 2]), by_thread: false };
    let error = fenxi_source::Source::start(&source, &fenxi_source::Root::live()).err().unwrap().to_string();
    assert!(error.contains("there is no process") || error.contains("the kernel refuses"), "{error}");
}
