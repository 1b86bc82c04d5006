//! `fenxi watch memstat` against `free`, `vmstat -s`, files in known states and real database servers.

#[path = "memstat/databases.rs"]
mod databases;

use std::{
    io::{Read, Write},
    os::unix::{fs::FileExt, process::CommandExt},
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::support::{Fenxi, ended_by_pipe, skipped, text, wait_for};

/// The rows of one table that `fenxi watch memstat --json` shows.
fn rows(fenxi: &Fenxi, table: &str, args: &[&str]) -> Vec<Value> {
    let args: Vec<&str> = ["memstat", "--json"].iter().chain(args).copied().collect();
    let lines: Vec<Value> = fenxi.ok(&args).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.into_iter().filter(|row| row["table"] == table).collect()
}

fn number(row: &Value, column: &str) -> f64 {
    row[column].as_f64().unwrap_or_else(|| panic!("no {column} in {row}"))
}

/// The pages of the page summary's lines, and their total.
fn pages(text: &str) -> (i64, i64) {
    let lines = text.lines().skip(2).take_while(|line| !line.is_empty());
    let pages = lines.map(|line| (&line[..28], line[28..].split_whitespace().next().unwrap()));
    let all: Vec<(&str, i64)> = pages.map(|(name, n)| (name.trim(), n.parse().unwrap_or(0))).collect();
    let (total, parts): (Vec<_>, Vec<_>) = all.iter().partition(|(name, _)| *name == "Total");
    (parts.iter().map(|(_, n)| n).sum(), total[0].1)
}

fn tool(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).env("LC_ALL", "C").output().ok()?;
    Some(text(&output.stdout))
}

#[test]
fn the_summary_adds_up_and_agrees_with_free_and_vmstat() {
    let fenxi = Fenxi::new();
    let (sum, total) = pages(&fenxi.ok(&["memstat"]));
    assert_eq!(sum, total);
    let (Some(before), Some(vmstat)) = (tool("free", &["-b"]), tool("vmstat", &["-s", "-S", "k"])) else {
        return skipped("the summary against free and vmstat", "procps is not installed");
    };
    let row = rows(&fenxi, "mem", &[]).remove(0);
    let after = tool("free", &["-b"]).unwrap();
    let of = |text: &str, place: usize| -> f64 {
        let line = text.lines().find(|line| line.starts_with("Mem:")).unwrap();
        line.split_whitespace().nth(place).unwrap().parse().unwrap()
    };
    // Others use memory meanwhile: a figure lies between two, give or take a part of all memory.
    let between = |what: &str, ours: f64, place: usize| {
        let (a, b) = (of(&before, place), of(&after, place));
        let slack = 0.05 * of(&before, 1);
        eprintln!("{what}: fenxi {ours}, free {a} before and {b} after");
        assert!(ours >= a.min(b) - slack && ours <= a.max(b) + slack, "{what}: {ours} is not between {a} and {b}");
    };
    assert_eq!(number(&row, "total_bytes"), of(&before, 1));
    between("free", number(&row, "free_bytes"), 3);
    between("shared", number(&row, "shmem_bytes"), 4);
    let cache = number(&row, "buffers_bytes") + number(&row, "cached_bytes") + number(&row, "slab_reclaimable_bytes");
    between("buff/cache", cache, 5);
    between("available", number(&row, "available_bytes"), 6);
    let line = vmstat.lines().find(|line| line.contains("total memory")).unwrap();
    let kilo: f64 = line.split_whitespace().next().unwrap().parse().unwrap();
    assert!((number(&row, "total_bytes") / 1000.0 - kilo).abs() <= 1024.0, "{line}");
}

/// The file's pages in the cache, and how many of them are dirty where the kernel reports it.
fn residency(fenxi: &Fenxi, path: &Path) -> (u64, Option<u64>) {
    let found = rows(fenxi, "file_cache", &["--files", path.to_str().unwrap()]);
    assert_eq!(found.len(), 1);
    let page = rustix_page_size() as f64;
    let pages = |bytes: f64| (bytes / page) as u64;
    (pages(number(&found[0], "cached_bytes")), found[0]["dirty_bytes"].as_f64().map(pages))
}

fn rustix_page_size() -> usize {
    rustix::param::page_size()
}

#[test]
fn what_was_written_read_and_evicted_is_told_page_by_page() {
    let fenxi = Fenxi::new();
    let dir = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = dir.path().join("file");
    let (n, page) = (1000_u64, rustix_page_size());
    let mut file = fs_err::File::create_new(&path).unwrap();
    file.write_all(&vec![7; n as usize * page]).unwrap();
    let (written, dirty) = residency(&fenxi, &path);
    assert_eq!(written, n);
    // The kernel may write some of it out at once.
    assert!(dirty.is_none_or(|dirty| dirty <= n), "{dirty:?}");
    file.sync_all().unwrap();
    let advise = |advice| rustix::fs::fadvise(file.file(), 0, None, advice).unwrap();
    advise(rustix::fs::Advice::DontNeed);
    let (evicted, dirty) = residency(&fenxi, &path);
    if evicted == n {
        return skipped("eviction", "this file system holds its files in memory only");
    }
    assert!(evicted <= 16 && dirty.is_none_or(|n| n == 0), "{evicted} pages are still there");
    let file = fs_err::File::open(&path).unwrap();
    rustix::fs::fadvise(file.file(), 0, None, rustix::fs::Advice::Random).unwrap();
    let mut buffer = vec![0; page];
    for i in 0..300 {
        file.file().read_exact_at(&mut buffer, 3 * i * page as u64).unwrap();
    }
    let (read, _) = residency(&fenxi, &path);
    eprintln!("pages in the cache: {written} written, {evicted} after eviction, {read} after reading 300");
    assert!(read.abs_diff(300 + evicted) <= 16, "{read} pages, 300 were read");
}

#[test]
fn a_process_s_files_are_shown_with_how_they_are_open() {
    let fenxi = Fenxi::new();
    let dir = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (plain, direct) = (dir.path().join("plain"), dir.path().join("direct"));
    fs_err::write(&plain, "x").unwrap();
    fs_err::write(&direct, "x").unwrap();
    let _plain = fs_err::File::open(&plain).unwrap();
    let opened =
        std::os::unix::fs::OpenOptionsExt::custom_flags(std::fs::OpenOptions::new().read(true), libc::O_DIRECT)
            .open(&direct);
    let pid = std::process::id().to_string();
    let shown = fenxi.ok(&["memstat", "-p", &pid, "--top", "100000"]);
    let line = |path: &Path| {
        let found = shown.lines().find(|line| line.contains(path.to_str().unwrap()));
        found.unwrap_or_else(|| panic!("no {} in:\n{shown}", path.display())).to_owned()
    };
    assert!(line(&plain).contains(" buffered "), "{}", line(&plain));
    match opened {
        Ok(_) => assert!(line(&direct).contains(" direct ") && line(&direct).contains(" O_DIRECT)")),
        Err(error) => skipped("O_DIRECT", &error.to_string()),
    }
}

#[test]
fn strangers_are_told_what_they_may_know() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let nobody = 65_534;
    let program = dir.path().join("fenxi");
    let open =
        |path: &Path| fs_err::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    open(dir.path());
    // By another process: what a test beside this one starts meanwhile would hold our own copy open for writing.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_fenxi")).arg(&program).status().unwrap();
    assert!(copied.success());
    let path = dir.path().join("file");
    fs_err::write(&path, "x").unwrap();
    if !rustix::process::geteuid().is_root() {
        return skipped("a stranger's view", "only root can become another user");
    }
    let run = |args: &[&str]| {
        let mut command = Command::new(&program);
        command.arg("memstat").args(args).uid(nobody).gid(nobody).current_dir("/").output().unwrap()
    };
    let output = run(&["--files", path.to_str().unwrap()]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{err}");
    assert!(out.contains("1 not known") && err.contains("some files could not be asked"), "{out}{err}");
    let output = run(&["-p", &std::process::id().to_string()]);
    assert!(text(&output.stderr).contains("not ours to see"), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("no files"), "{}", text(&output.stdout));
    let output = run(&[]);
    let (sum, total) = pages(&text(&output.stdout));
    assert_eq!(sum, total);
    assert!(text(&output.stdout).contains("cannot be queried by this user"), "{}", text(&output.stdout));
}

#[test]
fn wrong_options_are_usage_errors_and_missing_things_failures() {
    let fenxi = Fenxi::new();
    for wrong in [
        &["--files"][..],
        &["--files", "/", "-p", "1"],
        &["-p", "x"],
        &["--db=oracle"],
        &["--db", "--files", "/"],
        &["--db", "--root", "/"],
        &["--json", "--csv"],
        &["--top", "-1"],
        &["0"],
        &["1", "0"],
        &["--run", "x", "--files", "/"],
    ] {
        let args: Vec<&str> = ["memstat"].iter().chain(wrong).copied().collect();
        let message = fenxi.fails(2, &args);
        assert!(message.starts_with("error: ") && message.contains("'--help'"), "{wrong:?}: {message}");
    }
    assert!(fenxi.fails(1, &["memstat", "-p", "4294967295"]).contains("no process 4294967295"));
    assert!(fenxi.fails(1, &["memstat", "--files", "/etc", "5"]).contains("must precede --files"));
    assert!(fenxi.fails(1, &["memstat", "--db=/none/such"]).contains("no data directory /none/such"));
    let dir = tempfile::tempdir().unwrap();
    let empty = format!("--db={}", dir.path().display());
    assert!(fenxi.fails(1, &["memstat", &empty]).contains("has no PostgreSQL or MariaDB data"));
}

#[test]
fn a_saved_machine_of_five_thousand_processes_is_shown() {
    let fenxi = Fenxi::new();
    let dir = tempfile::tempdir().unwrap();
    let proc = dir.path().join("proc");
    for pid in 1..=5000 {
        let folder = proc.join(pid.to_string());
        fs_err::create_dir_all(&folder).unwrap();
        fs_err::write(folder.join("stat"), format!("{pid} (x) S 1 1 1")).unwrap();
        fs_err::write(folder.join("maps"), "").unwrap();
    }
    let meminfo = "MemTotal: 1024000 kB\nMemFree: 256000 kB\nMemAvailable: 600000 kB\nBuffers: 4000 kB\nCached: 400000 kB\n\
        SwapCached: 0 kB\nAnonPages: 200000 kB\nShmem: 40000 kB\nDirty: 1000 kB\nWriteback: 0 kB\nSReclaimable: 30000 kB\n\
        SUnreclaim: 20000 kB\nKernelStack: 4000 kB\nPageTables: 8000 kB\n";
    fs_err::write(proc.join("meminfo"), meminfo).unwrap();
    fs_err::write(proc.join("stat"), "cpu 1 1 1 1 1 1 1 1 1 1\nbtime 1\n").unwrap();
    let shown = fenxi.ok(&["memstat", "--root", dir.path().to_str().unwrap()]);
    let (sum, total) = pages(&shown);
    let page = rustix_page_size() as i64;
    assert_eq!((sum, total), (1_024_000 * 1024 / page, 1_024_000 * 1024 / page), "{shown}");
    assert!(shown.contains("Executables and libraries are unknown here"), "{shown}");
}

#[test]
fn what_was_saved_is_shown_again() {
    let fenxi = Fenxi::new();
    let lines = fenxi.ok(&["memstat", "20ms", "3", "--save", "m"]);
    let again = fenxi.ok(&["memstat", "--run", "m"]);
    // A busy machine may miss a tick.
    assert!((3..=4).contains(&lines.lines().count()), "{lines}");
    assert_eq!(fenxi.ok(&["memstat", "--run", "m", "--csv"]).lines().count(), lines.lines().count());
    assert_eq!(lines, again);
    assert!(fenxi.ok(&["memstat", "--run", "m", "1s", "1"]).starts_with("Page summary"));
    let file = env!("CARGO_BIN_EXE_fenxi");
    let files = fenxi.ok(&["memstat", "--files", file, "--save", "f"]);
    assert!(files.contains(file) && files.contains("total of 1 file\n"), "{files}");
    for option in [&[][..], &["--files"]] {
        let args: Vec<&str> = ["memstat", "--run", "f"].iter().chain(option).copied().collect();
        assert_eq!(fenxi.ok(&args), files);
    }
    let csv = fenxi.ok(&["memstat", "--files", file, "--csv"]);
    assert!(csv.lines().count() == 2 && csv.contains(file), "{csv}");
}

#[test]
fn it_ends_when_nobody_reads_and_goes_on_when_a_process_ends() {
    let fenxi = Fenxi::new();
    let mut child = fenxi.spawn(&["memstat", "10ms"]);
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    ended_by_pipe(&child.wait_with_output().unwrap());

    let mut sleeper = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
    let pid = sleeper.id().to_string();
    wait_for("sleep to begin", || fs_err::read_link(format!("/proc/{pid}/exe")).is_ok_and(|e| e.ends_with("sleep")));
    let watcher = fenxi.spawn(&["memstat", "-p", &pid, "100ms", "20"]);
    std::thread::sleep(std::time::Duration::from_millis(500));
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    let output = watcher.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).ends_with("no files\n"), "{}", text(&output.stdout));
}
