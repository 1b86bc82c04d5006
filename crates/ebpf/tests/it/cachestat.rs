//! Files of a known number of pages: read after they left the page cache, read again, written. The kernel may take pages away at any
//! moment, and they are read again then: what is seen is accesses, hits, misses and written pages.

use std::{path::Path, process::Command};

use fenxi_ebpf::{Tracked, cachestat::Cachestat};
use fenxi_model::{Rows, catalog::cache_access as c};

use crate::{
    observed::{Observed, once_right},
    programs::compiled,
};

/// Pages of 4 KiB of the file: a number that no read-ahead window divides.
const PAGES: usize = 5003;

/// Accesses, hits, misses, written pages of the program.
fn of(rows: &Rows, comm: &str) -> [f64; 4] {
    let mut sums = [0.0; 4];
    let Some(rows) = rows.of(&c::TABLE) else { return sums };
    for row in (0..rows.n_rows()).filter(|row| rows.str(*row, c::comm) == Some(comm)) {
        let values = [c::accesses, c::hits, c::misses, c::written].map(|place| rows.f64(row, place).unwrap());
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
    sums
}

/// Runs the program once unobserved, so that it is cached itself.
fn warm_up(command: &mut Command) {
    assert!(command.status().unwrap().success());
}

/// Sums of one run of `reads.c`, or of another command; None, reported, where it cannot be observed.
fn seen(comm: &str, command: &mut Command) -> Option<[f64; 4]> {
    let mut observed = Observed::begin(&Cachestat { tracked: Tracked::Children })?;
    assert!(command.status().unwrap().success());
    Some(of(observed.read(), comm))
}

fn reads(file: &Path, how: &[&str]) -> Option<[f64; 4]> {
    seen("reads", Command::new(compiled("reads", &["-O1"])?).arg(file).args(how))
}

/// A file on a disk: what is in memory only is never missing.
fn file(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("data");
    fs_err::write(&path, vec![7; PAGES * 4096]).unwrap();
    fs_err::File::open(&path).unwrap().sync_all().unwrap();
    path
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn near(value: f64, pages: usize) -> bool {
    (value - pages as f64).abs() <= 0.02 * pages as f64
}

/// Pages of starting a program: its own file and the C library, mapped.
const START: f64 = 100.0;

#[test]
fn a_file_read_twice_misses_all_pages_then_hits_all() {
    let folder = folder();
    let path = file(folder.path());
    let is_cold = |cold: &[f64; 4]| near(cold[0], PAGES) && near(cold[2], PAGES) && cold[1] <= START;
    let Some(cold) = once_right("cold", || reads(&path, &["drop"]), is_cold) else { return };
    let is_warm = |warm: &[f64; 4]| near(warm[0], PAGES) && near(warm[1], PAGES) && warm[2] <= 1.0;
    let Some(warm) = once_right("warm", || reads(&path, &["keep"]), is_warm) else { return };
    // Twice in one process.
    let is_both = |both: &[f64; 4]| near(both[0], 2 * PAGES) && near(both[2], PAGES) && near(both[1], PAGES);
    let Some(both) = once_right("twice", || reads(&path, &["drop", "2"]), is_both) else { return };
    assert_eq!([cold[3], warm[3], both[3]], [0.0; 3], "none was written");
}

#[test]
fn reads_of_another_size_are_counted_by_their_pages() {
    let folder = folder();
    let path = file(folder.path());
    for (size, expected) in [("4k", PAGES), ("1k", 4 * PAGES), ("3M", PAGES)] {
        let mut command = Command::new("dd");
        command.arg(format!("if={}", path.display())).args(["of=/dev/null", "status=none"]).arg(format!("bs={size}"));
        warm_up(&mut command);
        let is_right = |seen: &[f64; 4]| near(seen[0], expected) && seen[2] <= 1.0;
        if once_right(size, || seen("dd", &mut command), is_right).is_none() {
            return;
        }
    }
}

#[test]
fn pages_that_are_written_are_no_misses() {
    let folder = folder();
    let to = folder.path().join("written");
    // Its own name: another test's `dd` is a child of this process, too.
    let program = folder.path().join("dd-writes");
    std::os::unix::fs::symlink("/bin/dd", &program).unwrap();
    let mut command = Command::new(&program);
    command.args(["if=/dev/zero", "bs=64k", "count=300", "status=none"]).arg(format!("of={}", to.display()));
    warm_up(&mut command);
    fs_err::remove_file(&to).unwrap();
    let Some(seen) = seen("dd-writes", &mut command) else { return };
    assert!(near(seen[3], 4800) && seen[2] <= 1.0 && seen[0] <= START, "{seen:?}");
}

#[test]
fn pages_of_a_mapped_file_are_missed_once_and_hit_later() {
    let folder = folder();
    let path = file(folder.path());
    // Mapping pages that came with others is a hit, as is starting the program.
    let is_cold = |cold: &[f64; 4]| near(cold[2], PAGES) && cold[0] >= cold[2] && cold[1] == cold[0] - cold[2];
    let Some(_) = once_right("cold, mapped", || reads(&path, &["drop-mapped"]), is_cold) else { return };
    // The kernel maps as many pages at once as it can.
    let is_warm = |warm: &[f64; 4]| warm[0] > 10.0 && warm[1] == warm[0] && warm[2] == 0.0;
    once_right("warm, mapped", || reads(&path, &["mapped"]), is_warm);
}
