//! Data that does not fit into memory goes to disk, where no other user of the machine can read or foretell it, and is
//! gone afterwards, also when the server was killed.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    os::unix::fs::MetadataExt,
    path::Path,
    time::{Duration, Instant},
};

use super::{
    Vault, knows,
    served::Served,
    watch::{Tree, family},
};

/// Sorts three times the memory that an engine has here.
const SORT: &str = "SELECT count(*) AS n, min(r) >= 0 AS a FROM (SELECT * FROM (SELECT range, random() AS r, \
                    repeat('y', 100) AS pad FROM range(@)) ORDER BY r LIMIT 1000000000 OFFSET 10) WHERE length(pad) = 100";

/// A server whose engines, of which there is one for each CPU from two to eight, have 128 MB each.
fn server(vault: &Vault) -> Served {
    let engines = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8);
    vault.serve("spill", &["--memory", &format!("{}MB", 128 * engines), "--time-limit", "60s"])
}

/// Entries of a temporary folder: the mode of each, and whether it holds something besides its owner's lock.
fn look(temp: &Path, seen: &mut BTreeMap<OsString, (u32, bool)>) {
    for entry in fs_err::read_dir(temp).into_iter().flatten().flatten() {
        let Ok(meta) = fs_err::symlink_metadata(entry.path()) else { continue };
        let holds = Tree::of(&[entry.path()]).paths().any(|path| path.is_file() && !path.ends_with("lock"));
        let known = seen.entry(entry.file_name()).or_insert((meta.mode() & 0o7777, false));
        known.1 |= holds;
    }
}

/// Asks for `statement` and meanwhile looks at `temp`.
fn spilling(served: &Served, temp: &Path, statement: &str) -> (super::Answer, BTreeMap<OsString, (u32, bool)>) {
    let mut seen = BTreeMap::new();
    let answer = std::thread::scope(|scope| {
        let asked = scope.spawn(|| served.sql(statement, None));
        while !asked.is_finished() {
            look(temp, &mut seen);
            std::thread::sleep(Duration::from_millis(2));
        }
        asked.join().unwrap()
    });
    (answer, seen)
}

#[test]
fn a_sort_that_does_not_fit_into_memory_is_answered_and_leaves_nothing() {
    let vault = Vault::new();
    let mut served = server(&vault);
    let temp = vault.place("spill").temp();
    let mut names = Vec::new();
    for _ in 0..2 {
        let (answer, seen) = spilling(&served, &temp, &SORT.replace('@', "3000000"));
        assert_eq!(answer.value(), 2_999_990, "{} {}", answer.status, answer.text());
        assert!(seen.values().any(|(_, holds)| *holds), "nothing was spilled below {}: {seen:?}", temp.display());
        for (name, (mode, _)) in &seen {
            assert_eq!(mode & 0o077, 0, "others may look into {name:?}: {mode:o}");
        }
        names.extend(seen.into_keys());
        knows(&served);
    }
    // A name of the process's number and a counter can be foretold and lain in wait for.
    let pids: Vec<String> = family(served.pid(), true).iter().map(i32::to_string).collect();
    for name in &names {
        let name = name.to_string_lossy();
        let unforeseen = name.split(['-', '.', '_']).any(|part| {
            let known = ["fenxi", "serve", "server", "engine", "worker", "session", "spill"].contains(&part);
            part.len() >= 6 && !known && !pids.iter().any(|pid| pid == part)
        });
        assert!(unforeseen, "{name} can be foretold");
    }
    assert!(served.end().unwrap().success());
    let left = Tree::default().changes(&Tree::of(&[&temp]));
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn what_a_killed_server_had_spilled_is_removed_by_the_next() {
    let vault = Vault::new();
    let temp = vault.place("spill").temp();
    let mut served = server(&vault);
    let children = std::thread::scope(|scope| {
        let address = served.address;
        // Before anybody looks: the server may be killed as soon as something is seen.
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        scope.spawn(move || {
            use std::io::{Read, Write};
            let statement = super::served::encoded(&SORT.replace('@', "20000000"));
            write!(stream, "GET /api/v1/sql?q={statement} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
            // It is cut off when the server is killed.
            let _ = stream.read_to_end(&mut Vec::new());
        });
        crate::support::wait_for("the sort to spill", || {
            let mut seen = BTreeMap::new();
            look(&temp, &mut seen);
            seen.values().any(|(_, holds)| *holds)
        });
        let children = family(served.pid(), true);
        served.kill().unwrap();
        children
    });
    // Processes it started end with it, however it was killed. Threads may hold files longer than the first of them.
    let begun = Instant::now();
    let threads = |pid: &i32| fs_err::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    // A process gives its memory back first, which takes long when it is much, and its files behind that.
    let runs = |pid: &i32| {
        let stat = fs_err::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    };
    let alive = |pid: &&i32| runs(pid) || threads(pid) > 1;
    while let Some(pid) = children.iter().find(alive) {
        assert!(begun.elapsed() < Duration::from_secs(5), "process {pid} outlived its server");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut next = server(&vault);
    knows(&next);
    assert!(next.end().unwrap().success());
    let left = Tree::default().changes(&Tree::of(&[&temp]));
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn what_a_killed_server_had_spilled_goes_with_it() {
    let vault = Vault::new();
    let temp = vault.place("spill").temp();
    let mut served = server(&vault);
    knows(&served);
    let made = || fs_err::read_dir(&temp).unwrap().count();
    assert_eq!(made(), 1);
    served.kill().unwrap();
    crate::support::wait_for("the folder to be removed", || made() == 0);
}
