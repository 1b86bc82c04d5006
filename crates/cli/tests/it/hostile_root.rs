//! A saved copy of /proc and /sys from somebody else, in which nothing is what it should be.

use std::{
    path::Path,
    process::{Command, Output},
};

use fs_err::{self as fs, os::unix::fs::symlink};
use rustix::fs::{CWD, Mode, mkfifoat};

use crate::support::{Fenxi, text};

/// Files that are read, of many kinds.
const FILES: &[&str] = &[
    "etc/passwd",
    "proc/1/cmdline",
    "proc/1/io",
    "proc/1/schedstat",
    "proc/1/stat",
    "proc/1/status",
    "proc/1/task/1/schedstat",
    "proc/1/task/1/stat",
    "proc/cmdline",
    "proc/cpuinfo",
    "proc/diskstats",
    "proc/interrupts",
    "proc/loadavg",
    "proc/meminfo",
    "proc/net/dev",
    "proc/net/netstat",
    "proc/net/snmp",
    "proc/net/sockstat",
    "proc/net/softnet_stat",
    "proc/pressure/cpu",
    "proc/pressure/io",
    "proc/pressure/memory",
    "proc/schedstat",
    "proc/self/mountinfo",
    "proc/self/mounts",
    "proc/softirqs",
    "proc/stat",
    "proc/sys/kernel/hostname",
    "proc/sys/vm/swappiness",
    "proc/uptime",
    "proc/vmstat",
    "sys/block/sda/queue/scheduler",
    "sys/class/net/eth0/operstate",
    "sys/class/net/eth0/speed",
    "sys/class/net/eth0/uevent",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/possible",
    "sys/devices/system/node/node0/meminfo",
    "sys/kernel/mm/transparent_hugepage/enabled",
];

/// Makes every file of a root by `make`.
fn root(make: impl Fn(&Path)) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for file in FILES {
        let path = dir.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        make(&path);
    }
    dir
}

/// Runs with little memory and little time.
fn bounded(fenxi: &Fenxi, args: &[&str], root: &Path) -> Output {
    let program = env!("CARGO_BIN_EXE_fenxi");
    let words: Vec<String> = args.iter().map(|word| format!("'{word}'")).collect();
    let line = format!("ulimit -v 3000000; exec timeout 60 {program} {} --root {}", words.join(" "), root.display());
    let mut bash = Command::new("bash");
    for (key, value) in fenxi.command(&[]).get_envs() {
        bash.env(key, value.unwrap());
    }
    bash.args(["-c", &line]).output().unwrap()
}

/// Puts something in a file's place.
type Make<'a> = &'a dyn Fn(&Path);

const COMMANDS: &[&[&str]] = &[
    &["record", "--for", "0.3s", "--interval", "100ms"],
    &["record", "--for", "0.2s", "--interval", "100ms", "--source", "+thread,+sched,+page_cache"],
    &["nicstat", "0.1", "1"],
    &["mpstat", "-P", "1", "0.1", "1"],
    &["pstime", "0.1", "1"],
    &["util", "0.1", "1"],
    &["memstat", "0.1", "1"],
];

#[test]
fn no_file_of_a_saved_root_holds_a_command_or_fills_its_memory() {
    let fenxi = Fenxi::new();
    let fifo = |path: &Path| mkfifoat(CWD, path, Mode::RWXU).unwrap();
    let zeros = |path: &Path| symlink("/dev/zero", path).unwrap();
    let folder = |path: &Path| fs::create_dir_all(path).unwrap();
    let circle = |path: &Path| symlink(path.file_name().unwrap(), path).unwrap();
    let sparse = |path: &Path| fs::File::create(path).unwrap().set_len(3 << 30).unwrap();
    let makes: [(&str, Make<'_>); 5] =
        [("a pipe", &fifo), ("zeros", &zeros), ("a folder", &folder), ("a circle", &circle), ("3 GB", &sparse)];
    for (kind, make) in makes {
        let root = root(make);
        for args in COMMANDS {
            let output = bounded(&fenxi, args, root.path());
            let (code, said) = (output.status.code(), text(&output.stderr));
            // Little can be shown, but it ends by itself, and reports what is wrong.
            assert!(matches!(code, Some(0 | 1)), "{kind}, {args:?}: {code:?} {said}");
            assert!(!said.contains("panicked") && !said.contains("memory allocation"), "{kind}, {args:?}: {said}");
            assert!(code == Some(0) || said.contains("error:"), "{kind}, {args:?}: {said}");
        }
    }
}

#[test]
fn no_link_of_a_saved_root_shows_what_is_outside() {
    let outside = tempfile::tempdir().unwrap();
    let process = outside.path().join("77");
    fs::create_dir_all(process.join("task/77")).unwrap();
    let numbers = "1 77 77 0 -1 0 0 0 0 0 9000 9000 0 0 20 0 1 0 100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0";
    fs::write(process.join("stat"), format!("77 (secret) S {numbers}\n")).unwrap();
    fs::write(process.join("cmdline"), "secret\0").unwrap();
    let dev = "Inter-|   Receive                                                |  Transmit\n \
        face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n\
        secret0: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n";
    fs::write(outside.path().join("dev"), dev).unwrap();
    fs::write(outside.path().join("hostname"), "secrethost\n").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    fs::create_dir_all(root.join("proc/net")).unwrap();
    fs::create_dir_all(root.join("proc/sys/kernel")).unwrap();
    fs::write(root.join("proc/stat"), "cpu  1 0 1 1 0 0 0 0 0 0\ncpu0 1 0 1 1 0 0 0 0 0 0\nbtime 1\n").unwrap();
    fs::write(root.join("proc/uptime"), "100.0 100.0\n").unwrap();
    symlink(&process, root.join("proc/77")).unwrap();
    symlink(outside.path().join("dev"), root.join("proc/net/dev")).unwrap();
    symlink(outside.path().join("hostname"), root.join("proc/sys/kernel/hostname")).unwrap();
    let fenxi = Fenxi::new();
    for args in [&["pstime", "0.1", "1"][..], &["nicstat", "0.1", "1"], &["mpstat"], &["record", "--for", "0.2s"]] {
        let output = bounded(&fenxi, args, &root);
        let all = text(&output.stdout) + &text(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1)) && !all.contains("secret"), "{args:?}: {all}");
    }
    let runs = fenxi.ok(&["runs", "--json"]);
    assert!(!runs.is_empty() && !runs.contains("secret"), "{runs}");
    let kept = fenxi.ok(&["sql", "-o", "json", "SELECT comm FROM process UNION ALL SELECT interface FROM net"]);
    assert!(!kept.contains("secret"), "{kept}");
}
