//! The reads and writes of fio are those that were seen, by pattern.

use std::{collections::BTreeMap, path::Path, process::Command};

use fenxi_ebpf::{Tracked, iopattern::Iopattern};
use fenxi_model::{Rows, RowsOf, catalog::io_pattern as c};

use crate::{observed::Observed, programs::compiled};

/// Operations by operation and pattern, of one file.
type Seen = BTreeMap<(String, String), f64>;

/// Operations on the file whose path ends so.
fn seen(rows: &Rows, what: &str) -> Seen {
    let mut seen = Seen::new();
    if let Some(rows) = rows.of(&c::TABLE) {
        for row in (0..rows.n_rows()).filter(|row| rows.str(*row, c::file).is_some_and(|file| file.ends_with(what))) {
            let text = |place| rows.str(row, place).unwrap_or("").to_owned();
            *seen.entry((text(c::op), text(c::pattern))).or_default() += ops(rows, row);
        }
    }
    seen
}

/// Operations of a row over its interval.
fn ops(rows: RowsOf<'_, c::Schema>, row: usize) -> f64 {
    rows.f64(row, c::ops_per_s).unwrap() * rows.f64(row, c::dt).unwrap()
}

/// Reads and writes that a fio job reports.
struct Made {
    reads: f64,
    writes: f64,
}

/// Runs fio on a file that exists; None, reported, when it cannot run such a job here.
fn fio(file: &Path, options: &[&str]) -> Option<Made> {
    let mut command = Command::new("fio");
    command.arg("--name=job").arg(format!("--filename={}", file.display())).args(["--bs=4k", "--output-format=json"]);
    let output = command.args(options).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        eprintln!("SKIPPED fio {options:?}: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    // `"read" : { … "total_ios" : 1234,`
    let ios = |kind: &str| {
        let (_, from) = text.split_once(&format!("\"{kind}\" : {{")).unwrap();
        let (_, from) = from.split_once("\"total_ios\" : ").unwrap();
        from.split(',').next().unwrap().trim().parse().unwrap()
    };
    Some(Made { reads: ios("read"), writes: ios("write") })
}

/// 16 MiB, of which fio reads or writes each page once.
const SIZE: &str = "--size=16m";

/// Blocks are drawn anew each time. Else fio takes the next free one where it was already, which is sequential at times.
const ANYWHERE: &str = "--norandommap=1";

/// A file on a file system with a disk, which takes O_DIRECT.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Operations of a job with these options, and those that were seen of it.
fn observe(options: &[&str]) -> Option<(Made, Seen)> {
    let folder = folder();
    let file = folder.path().join("job.dat");
    fs_err::write(&file, vec![7; 16 << 20]).unwrap();
    fs_err::File::open(&file).unwrap().sync_all().unwrap();
    let mut observed = Observed::begin(&Iopattern { tracked: Tracked::Children })?;
    let all: Vec<&str> = [&SIZE].into_iter().chain(options).copied().collect();
    let made = fio(&file, &all)?;
    Some((made, seen(observed.read(), "job.dat")))
}

#[track_caller]
fn assert_near(seen: &Seen, op: &str, pattern: &str, made: f64) {
    let count = seen.get(&(op.to_owned(), pattern.to_owned())).copied().unwrap_or(0.0);
    assert!((count - made).abs() <= made * 0.01, "{op} {pattern}: {count} of {made}; all: {seen:?}");
}

#[test]
fn psync_reads_are_told_apart() {
    let Some((made, seen_random)) = observe(&["--rw=randread", "--ioengine=psync", ANYWHERE]) else { return };
    assert_near(&seen_random, "read", "random", made.reads);
    let Some((made, seen_sequential)) = observe(&["--rw=read", "--ioengine=psync"]) else { return };
    assert_near(&seen_sequential, "read", "sequential", made.reads);
}

#[test]
fn a_mix_of_reads_and_writes_has_its_parts() {
    let options = ["--rw=randrw", "--rwmixread=70", "--ioengine=psync", "--percentage_random=50,50"];
    let Some((made, seen)) = observe(&options) else { return };
    let sum = |op: &str| seen.iter().filter(|((of, _), _)| of == op).map(|(_, n)| n).sum::<f64>();
    assert!((sum("read") - made.reads).abs() <= made.reads * 0.01, "{} of {}", sum("read"), made.reads);
    assert!((sum("write") - made.writes).abs() <= made.writes * 0.01, "{} of {}", sum("write"), made.writes);
}

#[test]
fn direct_reads_are_direct_by_whichever_way_they_come() {
    for engine in ["psync", "io_uring", "libaio"] {
        let engine_option = format!("--ioengine={engine}");
        for (rw, pattern) in [("randread", "direct random"), ("read", "direct sequential")] {
            let rw_option = format!("--rw={rw}");
            let options = [rw_option.as_str(), &engine_option, "--direct=1", "--iodepth=8", ANYWHERE];
            let Some((made, seen)) = observe(&options) else { continue };
            eprintln!("{engine} {rw}: {seen:?} of {}", made.reads);
            assert_near(&seen, "read", pattern, made.reads);
        }
    }
}

#[test]
fn buffered_io_uring_is_seen() {
    for (rw, op, pattern) in [("randread", "read", "random"), ("write", "write", "sequential")] {
        let rw_option = format!("--rw={rw}");
        let Some((made, seen)) = observe(&[&rw_option, "--ioengine=io_uring", "--iodepth=16", ANYWHERE]) else {
            continue;
        };
        assert_near(&seen, op, pattern, if op == "read" { made.reads } else { made.writes });
    }
}

#[test]
fn files_registered_with_a_ring_are_known() {
    let options =
        ["--rw=randread", "--ioengine=io_uring", "--iodepth=4", "--registerfiles=1", "--fixedbufs=1", ANYWHERE];
    let Some((made, seen)) = observe(&options) else { return };
    assert_near(&seen, "read", "random", made.reads);
}

#[test]
fn a_mapping_is_seen_as_page_faults_and_that_is_said() {
    let Some((made, seen)) = observe(&["--rw=randwrite", "--ioengine=mmap"]) else { return };
    eprintln!("mmap: {seen:?} of {} writes", made.writes);
    let faults = seen.get(&("write".to_owned(), "page".to_owned())).copied().unwrap_or(0.0);
    assert!(faults > 0.0 && faults <= made.writes * 1.01, "{seen:?}");
    assert!(!seen.keys().any(|(_, pattern)| pattern == "random"), "{seen:?}");
}

/// Faults of pages by an operation.
fn page(op: &str) -> (String, String) {
    (op.to_owned(), "page".to_owned())
}

/// A page of a private mapping is read, whatever is written then is a copy; the same address may be another mapping later.
#[test]
fn writes_to_private_mappings_are_reads_of_the_file() {
    let Some(program) = compiled("mappings", &["-O1"]) else { return };
    let folder = folder();
    let file = folder.path().join("mapped.dat");
    fs_err::write(&file, vec![7; 16 << 20]).unwrap();
    for more in [&[][..], &["reads"]] {
        let mut tried = Vec::new();
        let reads = if more.is_empty() { 0.0 } else { 16.0 };
        let made = Seen::from([(page("read"), 64.0 + 32.0 + reads), (page("write"), 48.0)]);
        // A page that the kernel takes away or moves between two accesses is one more fault, for which it is no error.
        while tried.len() < 3 && tried.last() != Some(&made) {
            let Some(mut observed) = Observed::begin(&Iopattern { tracked: Tracked::Children }) else { return };
            assert!(Command::new(&program).arg(&file).args(more).status().unwrap().success());
            let seen = seen(observed.read(), "mapped.dat");
            tried.push(seen.into_iter().map(|(of, pages)| (of, pages.round())).collect::<Seen>());
        }
        assert_eq!(tried.last(), Some(&made), "{tried:?}");
    }
}

/// Who waits for a page may go on on another CPU, and faults of memory without a file are none of a file.
#[test]
fn a_fault_is_counted_once_wherever_it_ends() {
    let Some(program) = compiled("wandering", &["-O1", "-pthread"]) else { return };
    let folder = folder();
    let file = folder.path().join("wandered.dat");
    fs_err::write(&file, vec![7; 64 << 20]).unwrap();
    let Some(mut observed) = Observed::begin(&Iopattern { tracked: Tracked::Children }) else { return };
    assert!(Command::new(&program).arg(&file).status().unwrap().success());
    let seen = seen(observed.read(), "wandered.dat");
    let pages: Vec<_> = seen.iter().map(|((op, pattern), n)| (op.as_str(), pattern.as_str(), n.round())).collect();
    assert_eq!(pages, [("read", "page", 1024.0)]);
}

#[test]
fn names_are_counted_by_what_is_done_to_them() {
    let folder = folder();
    let Some(mut observed) = Observed::begin(&Iopattern { tracked: Tracked::Children }) else { return };
    let script = "i=0; while [ $i -lt 50 ]; do echo x > f$i; i=$((i+1)); done; rm f*";
    assert!(Command::new("sh").args(["-c", script]).current_dir(folder.path()).status().unwrap().success());
    let rows = observed.read();
    let table = rows.of(&c::TABLE).unwrap();
    let count = |op: &str| {
        let of_op = (0..table.n_rows()).filter(|row| table.str(*row, c::op) == Some(op));
        of_op.map(|row| ops(table, row)).sum::<f64>().round()
    };
    assert_eq!((count("create"), count("remove")), (50.0, 50.0));
    assert!(count("readdir") >= 1.0 && count("lookup") > 0.0);
}
