//! Imports, from files as people have them to rows, and what must never happen on the way.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use fs_err as fs;
use serde_json::Value;

use crate::support::{Fenxi, text, wait_for};

/// One fixture of the importers.
fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/fixtures").join(path)
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    packed("zstd", bytes)
}

/// `bytes` through a compressor of the system.
fn packed(program: &str, bytes: &[u8]) -> Vec<u8> {
    let mut command = std::process::Command::new(program);
    let mut child = command.arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&bytes));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    output.stdout
}

/// Imports and gives the summary.
fn import(fenxi: &Fenxi, args: &[&str]) -> Value {
    let all: Vec<&str> = ["import", "--json"].iter().chain(args).copied().collect();
    serde_json::from_str(&fenxi.ok(&all)).unwrap()
}

/// No run, and nothing half-written, is in the store.
fn nothing_is_left(fenxi: &Fenxi) {
    fenxi.ok(&["runs"]);
    for folder in ["runs", "open"] {
        let left: Vec<_> = fs::read_dir(fenxi.path().join(folder)).unwrap().collect();
        assert!(left.is_empty(), "{folder}: {left:?}");
    }
}

#[test]
fn what_the_page_of_a_large_run_shows_is_asked_once_unless_it_is_left_to_the_first_look() {
    use std::fmt::Write as _;
    let fenxi = Fenxi::new();
    let dir = tempfile::tempdir().unwrap();
    // More rows than are answered in no time: so many processors at so many seconds.
    let (cpus, seconds) = (256, 2000);
    let mut text = format!("Linux 6.1.0 (db1) \t11/21/26 \t_x86_64_\t({cpus} CPU)\n");
    for second in 0..seconds {
        let at = |second: usize| format!("{:02}:{:02}:{:02}", 1 + second / 3600, second / 60 % 60, second % 60);
        let _ = writeln!(
            text,
            "\n{}     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle",
            at(second)
        );
        for cpu in 0..cpus {
            let _ = writeln!(
                text,
                "{} {cpu:7}    5.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00    0.00   94.00",
                at(second + 1)
            );
        }
    }
    let file = dir.path().join("mpstat.txt");
    fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    // Results derived of a run are stored under its id.
    let kept = |run: &str| {
        let is_of_run =
            |path: &Path| path.to_string_lossy().contains(run) && path.extension().is_some_and(|e| e == "json");
        files_below(&fenxi.path().join("cache")).iter().filter(|path| is_of_run(path)).count()
    };
    let run = |summary: Value| summary["run"].as_str().unwrap().to_owned();
    let later = run(import(&fenxi, &["--no-answers", "--name", "later", file]));
    assert_eq!(kept(&later), 0);
    let now = run(import(&fenxi, &["--force", "--name", "now", file]));
    assert!(kept(&now) > 0);
}

/// All files below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[test]
fn a_directory_of_packed_files_becomes_one_run_of_several_hosts() {
    let fenxi = Fenxi::new();
    let dir = tempfile::tempdir().unwrap();
    let mpstat = fs::read(fixture("mpstat/all-cpus.txt")).unwrap();
    let vmstat = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n \
                  r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n \
                  1  0      0 812340  10240 401200    0    0     5     7  210  340  3  1 95  1  0\n \
                  2  0      0 812000  10240 401300    0    0     0    12  410  640 13  2 85  0  0\n";
    fs::create_dir(dir.path().join("sub")).unwrap();
    fs::write(dir.path().join("mpstat.log.web1.gz"), packed("gzip", &mpstat)).unwrap();
    fs::write(dir.path().join("sub/vmstat.log.db1.zst"), zstd(vmstat.as_bytes())).unwrap();
    fs::write(dir.path().join("again.txt"), &mpstat[..mpstat.len() / 2]).unwrap();
    fs::write(dir.path().join("README"), "words about the experiment\n").unwrap();
    let path = dir.path().to_str().unwrap();
    let summary = import(&fenxi, &[path, "--name", "exp", "--tag", "kernel=6.18", "--start", "2026-11-21T08:00:00Z"]);
    let formats: Vec<_> = summary["inputs"].as_array().unwrap().iter().map(|i| i["format"].as_str()).collect();
    assert_eq!(formats, [None, None, Some("mpstat"), Some("vmstat")]);
    let skipped = summary["inputs"][1]["skipped"].as_str().unwrap();
    assert!(skipped.contains("mpstat.log.web1.gz"), "{skipped}");
    // The content names its host `vm`; vmstat's comes from its name.
    let hosts = fenxi.sql("select distinct host from cpu order by host");
    assert_eq!(hosts, [serde_json::json!({"host": "db1"}), serde_json::json!({"host": "vm"})]);
    // The second line of vmstat is a sample, the first the average since boot.
    assert_eq!(fenxi.number("select usr from cpu where host = 'db1'"), 13.0);
    assert_eq!(fenxi.number("select usr from boot.cpu where host = 'db1'"), 3.0);
    assert_eq!(fenxi.number("select count(*) from note where file = 'README'"), 1.0);
    // Every input is kept, also those that were not read, and nothing else changed.
    let run = summary["run"].as_str().unwrap();
    let raw = fenxi.path().join(format!("runs/run={run}/raw"));
    assert_eq!(fs::read_dir(&raw).unwrap().count(), 3);
    assert!(fenxi.ok(&["verify"]).contains("1 run checked, 0 problems") || fenxi.run(&["verify"]).status.success());
    let show = fenxi.ok(&["show", "exp"]);
    assert!(show.contains("sub/vmstat.log.db1.zst") && show.contains("kernel=6.18"), "{show}");
}

#[test]
fn an_import_can_be_made_again_and_is_not_made_twice() {
    let fenxi = Fenxi::new();
    let file = fixture("mpstat/everything.txt");
    let file = file.to_str().unwrap();
    let first = import(&fenxi, &[file, "--name", "m", "--host", "h1", "--tag", "a=b"]);
    let twice = import(&fenxi, &[file]);
    assert!(twice["run"].is_null());
    assert_eq!(twice["already"][0], first["run"]);
    let again = import(&fenxi, &["--again", "m"]);
    assert_ne!(again["run"], first["run"]);
    assert_eq!(again["inputs"][0]["tables"], first["inputs"][0]["tables"]);
    let sums =
        fenxi.sql("select run, sum(usr) as usr, count(*) as n, min(host) as host from cpu group by run order by run");
    assert_eq!((&sums[0]["usr"], &sums[0]["n"], &sums[0]["host"]), (&sums[1]["usr"], &sums[1]["n"], &sums[1]["host"]));
    assert_eq!(sums[0]["host"], "h1");
    assert!(fenxi.ok(&["show", again["run"].as_str().unwrap()]).contains("a=b"));
    let forced = import(&fenxi, &[file, "--force", "--each"]);
    assert!(forced["run"].is_string());
    let message = fenxi.fails(1, &["import", "--again", "nobody"]);
    assert!(message.contains("nobody"), "{message}");
}

#[test]
fn standard_input_is_imported_and_its_format_can_be_told() {
    let fenxi = Fenxi::new();
    let bytes = fs::read(fixture("mpstat/everything.txt")).unwrap();
    let mut child =
        fenxi.command(&["import", "--json", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    let summary: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert_eq!(
        (summary["inputs"][0]["format"].as_str(), summary["inputs"][0]["notes"].as_u64()),
        (Some("mpstat"), Some(0))
    );
    let message = fenxi.fails(1, &["import", "-", "--format", "mpstatt"]);
    assert!(message.contains("did you mean mpstat"), "{message}");
}

#[test]
fn what_cannot_be_imported_leaves_nothing() {
    let fenxi = Fenxi::new();
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let words = file("words", b"nothing that a tool would print\n");
    let empty = file("empty", b"");
    let binary = file("binary", &[0u8, 159, 146, 150].repeat(5000));
    for (path, why) in
        [(&words, "words: unknown format"), (&empty, "empty is an empty file"), (&binary, "binary is a binary file")]
    {
        let message = fenxi.fails(1, &["import", path]);
        assert!(message.contains(why), "{message}");
    }
    let message = fenxi.fails(1, &["import", &binary, "--format", "vmstat"]);
    assert!(message.contains("binary is a binary file; it cannot be read as vmstat"), "{message}");
    let message = fenxi.fails(1, &["import", &format!("{words}-not-there")]);
    assert!(message.contains("words-not-there"), "{message}");
    // With --strict a line that cannot be read is named, and nothing is kept.
    let mut damaged = fs::read_to_string(fixture("mpstat/all-cpus.txt")).unwrap();
    damaged.push_str("something else\n");
    let damaged = file("damaged.txt", damaged.as_bytes());
    let message = fenxi.fails(1, &["import", "--strict", &damaged]);
    assert!(message.contains("damaged.txt:") && message.contains("something else"), "{message}");
    nothing_is_left(&fenxi);
    // Without it the rest is imported, and the line is a note.
    let summary = import(&fenxi, &[&damaged]);
    assert_eq!((summary["inputs"][0]["notes"].as_u64(), summary["inputs"][0]["rows"].as_u64()), (Some(1), Some(6)));
    let note = fenxi.sql("select line, message from note where line is not null");
    assert!(note[0]["message"].as_str().unwrap().contains("something else"), "{note:?}");
}

#[test]
fn a_cut_archive_and_an_endless_line_give_what_can_be_read() {
    let fenxi = Fenxi::new();
    let dir = tempfile::tempdir().unwrap();
    let mpstat = fs::read(fixture("mpstat/all-cpus.txt")).unwrap();
    let whole = packed("gzip", &mpstat);
    let cut = dir.path().join("cut.gz");
    fs::write(&cut, &whole[..whole.len() - 12]).unwrap();
    let summary = import(&fenxi, &[cut.to_str().unwrap()]);
    assert!(summary["inputs"][0]["notes"].as_u64().unwrap() >= 1, "{summary}");
    // 100 MB without a line end, after a good beginning; the memory of the import stays small.
    let long = dir.path().join("long.txt");
    let mut out = fs::File::create(&long).unwrap();
    out.write_all(&mpstat).unwrap();
    for _ in 0..100 {
        out.write_all(&vec![b'7'; 1 << 20]).unwrap();
    }
    drop(out);
    let mut child =
        fenxi.command(&["import", "--json", long.to_str().unwrap()]).stdout(Stdio::piped()).spawn().unwrap();
    let peak = peak_memory(&mut child);
    let summary: Value = serde_json::from_str(&text(&child.wait_with_output().unwrap().stdout)).unwrap();
    assert_eq!(summary["inputs"][0]["rows"].as_u64(), Some(6));
    assert!(summary["inputs"][0]["notes"].as_u64().unwrap() >= 1);
    assert!(peak < 300 << 20, "{peak} bytes");
}

/// The most memory that a process had, as far as it could be seen while it ran.
fn peak_memory(child: &mut std::process::Child) -> u64 {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"));
        let kib: u64 = line.and_then(|l| l.split_whitespace().next()?.parse().ok()).unwrap_or(0);
        peak = peak.max(kib * 1024);
        std::thread::sleep(Duration::from_millis(5));
    }
    peak
}

#[test]
fn a_killed_or_interrupted_import_leaves_nothing() {
    let fenxi = Fenxi::new();
    for signal in ["KILL", "INT"] {
        let mut child = fenxi.command(&["import", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // More than is looked at to recognise the format; then it waits for more.
        let bytes = fs::read(fixture("mpstat/all-cpus.txt")).unwrap();
        stdin.write_all(&bytes.repeat(300)).unwrap();
        let open = fenxi.path().join("open");
        wait_for("the import to begin", || open.is_dir() && fs::read_dir(&open).unwrap().next().is_some());
        let status = std::process::Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(status.unwrap().success());
        drop(stdin);
        let status = child.wait().unwrap();
        assert!(!status.success(), "{signal}");
        nothing_is_left(&fenxi);
    }
}

#[test]
fn formats_are_listed_and_described() {
    let fenxi = Fenxi::new();
    let list = fenxi.ok(&["formats"]);
    assert!(list.contains("mpstat") && list.contains("Linux statistics"), "{list}");
    let one = fenxi.ok(&["formats", "mpstat"]);
    assert!(one.contains("%idle"), "{one}");
    let lines = fenxi.ok(&["formats", "--json"]);
    assert!(lines.lines().all(|l| serde_json::from_str::<Value>(l).is_ok()));
}
