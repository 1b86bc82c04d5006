//! The recorder is killed at random moments; what was written must be there afterwards.

use std::{collections::hash_map::RandomState, hash::BuildHasher, path::Path, time::Duration};

use fenxi_store::Store;
use rustix::process::Signal;

use crate::support::{Fenxi, Tmpfs, signal, skipped, walk};

/// How often the recorder is killed.
const KILLS: u64 = 100;
/// How many recorders there are at once: they mostly wait.
const AT_ONCE: usize = 4;

/// Rows of the table `cpu` in the only run of the store at `path`, after recovery.
fn recovered_rows(path: &Path) -> u64 {
    let store = Store::open(path).unwrap();
    for recovered in store.recover().unwrap() {
        assert!(recovered.error.is_none(), "{recovered:?}");
    }
    let mut runs = store.runs().unwrap();
    assert_eq!(runs.len(), 1);
    let manifest = runs.remove(0).manifest;
    assert!(manifest.recovered);
    assert_eq!(store.verify(&manifest.id).unwrap(), []);
    manifest.file("cpu").map_or(0, |f| f.rows)
}

fn copy_store(from: &Path, to: &Path) {
    for file in walk(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs_err::create_dir_all(target.parent().unwrap()).unwrap();
        fs_err::copy(&file, &target).unwrap();
    }
}

/// Kills a recorder after `wait`; rows that there are then.
fn killed_after(wait: Duration) -> u64 {
    let fenxi = Fenxi::new();
    let mut child = fenxi.spawn(&["record", "--interval", "10ms", "--source", "cpu,mem,net"]);
    fenxi.wait_until_recording();
    std::thread::sleep(wait);
    // The rows that a copy made just before the kill recovers are the minimum that the killed one must have.
    let copy = tempfile::TempDir::new().unwrap();
    copy_store(&fenxi.path(), copy.path());
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    fs_err::create_dir_all(copy.path().join("runs")).unwrap();
    let (before, after) = (recovered_rows(copy.path()), recovered_rows(&fenxi.path()));
    assert!(after >= before, "{wait:?}: {after} rows recovered, {before} were written before the kill");
    after
}

#[test]
fn a_recorder_killed_at_any_moment_loses_nothing_that_was_written() {
    let random = RandomState::new();
    let wait = |kill: u64| Duration::from_micros(random.hash_one(kill) % 120_000);
    let with_rows = |first: u64| (first..KILLS).step_by(AT_ONCE).filter(|kill| killed_after(wait(*kill)) > 0).count();
    let with_rows: usize = std::thread::scope(|scope| {
        let all: Vec<_> = (0..AT_ONCE as u64).map(|first| scope.spawn(move || with_rows(first))).collect();
        all.into_iter().map(|part| part.join().unwrap()).sum()
    });
    assert!(with_rows as u64 > KILLS / 2, "only {with_rows} of {KILLS} recordings had rows at all");
}

#[test]
fn a_full_disk_stops_the_recording_with_a_clear_error_and_keeps_what_was_written() {
    let fenxi = Fenxi::new();
    fs_err::create_dir_all(fenxi.path()).unwrap();
    let Some(disk) = Tmpfs::mount(&fenxi.path(), 400 << 10) else {
        return skipped("full disk", "mounting a small tmpfs is not permitted here");
    };
    let message = fenxi.fails(1, &["record", "--interval", "10ms", "--for", "20s"]);
    let said = message.contains("No space left") && message.contains("kept");
    // Given room, the next command that opens the store seals what was recorded.
    disk.resize(64 << 20);
    let listed = fenxi.run(&["runs", "--json"]);
    let rows = fenxi.run(&["sql", "-o", "csv", "select count(*) from cpu"]);
    drop(disk);
    assert!(said, "{message}");
    assert!(String::from_utf8_lossy(&listed.stdout).contains("\"recovered\":true"), "{listed:?}");
    let rows = String::from_utf8_lossy(&rows.stdout).lines().last().unwrap_or("0").parse::<u64>();
    assert!(rows.is_ok_and(|n| n > 0));
}
