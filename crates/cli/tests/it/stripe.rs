//! `fenxi stripe`: stated and recorded requests, and fio on a disk of which the limits are known.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use fenxi_model::{Micros, Rows, catalog::io_pattern};
use fenxi_store::{Begin, End, Store};
use fs_err as fs;
use serde_json::Value;

use crate::support::{Fenxi, skipped, text};

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn best(lines: &[Value], of: &str) -> u64 {
    let is = |line: &&Value| line["best_for"].as_array().unwrap().iter().any(|name| name == of);
    lines.iter().find(is).unwrap()["size_bytes"].as_u64().unwrap()
}

#[test]
fn eight_disks_of_150_iops_scan_best_with_256_kib_behind_a_bus_of_320() {
    let fenxi = Fenxi::new();
    let all = lines(&fenxi.ok(&["stripe", "--disks", "8", "--iops", "150", "--bus", "320", "--json"]));
    assert_eq!(all[0]["size_bytes"], 4096);
    assert!((all[0]["scan_bytes_per_s"].as_f64().unwrap() - 4800.0 * 1024.0).abs() < 1.0);
    assert_eq!((best(&all, "scan"), &all[7]["limit"]), (256 << 10, &Value::from("bus")));
    let shown = fenxi.ok(&[
        "stripe",
        "--io",
        "rand-write 16k 70%, seq-read 1m 30%",
        "--zfs",
        "--disks",
        "4",
        "--iops",
        "150",
        "--mbps",
        "120",
    ]);
    assert!(shown.contains("rand-write 16.0 KiB 70.0%, seq-read 1.00 MiB 30.0%"), "{shown}");
    assert!(shown.contains("random requests  16.0 KiB; scans lose"), "{shown}");
}

#[test]
fn what_cannot_be_modelled_is_refused_with_the_way_out() {
    let fenxi = Fenxi::new();
    assert!(fenxi.fails(2, &["stripe"]).contains("--iops"));
    assert!(fenxi.fails(2, &["stripe", "--iops", "0"]).contains("above 0"));
    assert!(fenxi.fails(2, &["stripe", "--iops", "1", "--io", "read 8k"]).contains("rand-read"));
    assert!(fenxi.fails(1, &["stripe", "--iops", "1", "--disks", "2", "--raid", "5"]).contains("3 disks"));
    assert!(fenxi.fails(1, &["stripe", "--measure", "/dev/null"]).contains("block device"));
    fenxi.fails(1, &["stripe", "--measure", "/nothing/there"]);
    fenxi.fails(2, &["stripe", "--iops", "100", "--write"]);
}

#[test]
fn requests_of_a_run_are_those_of_its_file_system() {
    let fenxi = Fenxi::new();
    let start = Micros(1_795_269_600_000_000);
    let mut run = Store::open_or_create(fenxi.path()).unwrap().begin(Begin::new("record", "h", start)).unwrap();
    let mut rows = Rows::new("h");
    for second in 1..=10_i64 {
        for (mount, op, pattern, ops, size) in [
            ("/data", "read", "direct random", 700.0, 8192.0),
            ("/data", "read", "sequential", 300.0, 131_072.0),
            ("/log", "write", "sequential", 9000.0, 4096.0),
        ] {
            let mut row = rows.row(&io_pattern::TABLE, Micros(start.0 + second * 1_000_000), 1.0);
            row.str(io_pattern::mount, mount).str(io_pattern::op, op).str(io_pattern::pattern, pattern);
            row.f64(io_pattern::ops_per_s, ops).f64(io_pattern::size_bytes, size);
        }
    }
    run.append(&mut rows).unwrap();
    run.seal(End::at(Micros(start.0 + 10_000_000))).unwrap();
    let of = |more: &[&str]| fenxi.ok(&[&["stripe", "@1", "--iops", "1000", "--latency", "1ms"], more].concat());
    assert!(of(&["--mount", "/data"]).contains("rand-read 8.00 KiB 70.0%, seq-read 128 KiB 30.0%"));
    assert!(of(&[]).contains("seq-write 4.00 KiB 90.0%"));
    assert!(fenxi.fails(1, &["stripe", "@1", "--mount", "/none", "--iops", "9"]).contains("--source +iopattern"));
}

/// A loop device that the kernel limits, until it is dropped.
struct Limited {
    device: String,
    group: PathBuf,
    _file: tempfile::NamedTempFile,
}

impl Limited {
    /// None, with the reason, where this machine does not let one be made.
    fn new(iops: u32, bytes_per_s: u32) -> Result<Limited, String> {
        let run = |program: &str, args: &[&str]| -> Result<String, String> {
            let output = Command::new(program).args(args).output().map_err(|error| format!("{program}: {error}"))?;
            if output.status.success() { Ok(text(&output.stdout).trim().to_owned()) } else { Err(text(&output.stderr)) }
        };
        let groups = Path::new("/sys/fs/cgroup/blkio");
        if !groups.join("blkio.throttle.read_iops_device").exists() {
            return Err("there is no blkio controller of cgroup v1".to_owned());
        }
        run("fio", &["--version"])?;
        let file = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
        file.as_file().set_len(256 << 20).map_err(|error| error.to_string())?;
        let device = run("losetup", &["--show", "-f", &file.path().to_string_lossy()])?;
        let group = groups.join(format!("fenxi-test-{}", std::process::id()));
        let limited = Limited { group, _file: file, device };
        fs::create_dir(&limited.group).map_err(|error| error.to_string())?;
        let number = run("stat", &["-c", "%Hr:%Lr", &limited.device])?;
        for (name, limit) in [("iops", iops), ("bps", bytes_per_s)] {
            let file = limited.group.join(format!("blkio.throttle.read_{name}_device"));
            fs::write(file, format!("{number} {limit}")).map_err(|error| error.to_string())?;
        }
        Ok(limited)
    }

    /// Output of a program that runs in the group.
    fn within(&self, command: &Command) -> String {
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo 0 > \"$0\" && exec \"$@\""]).arg(self.group.join("cgroup.procs"));
        shell.arg(command.get_program()).args(command.get_args());
        shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Random or sequential reads per second, by fio.
    fn fio(&self, pattern: &str, kib: u32, depth: u32) -> f64 {
        let mut fio = Command::new("fio");
        fio.args([
            "--output-format=json",
            "--direct=1",
            "--ioengine=libaio",
            "--time_based",
            "--runtime=2",
            "--readonly",
        ]);
        fio.args([format!("--filename={}", self.device), format!("--rw={pattern}"), "--name=point".to_owned()]);
        fio.args([format!("--bs={kib}k"), format!("--iodepth={depth}")]);
        let report: Value = serde_json::from_str(&self.within(&fio)).unwrap();
        report["jobs"][0]["read"]["iops"].as_f64().unwrap()
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.device]).status();
        let _ = fs::remove_dir(&self.group);
    }
}

#[test]
fn the_model_of_a_measured_disk_is_within_a_fifth_of_what_fio_measures() {
    let limited = match Limited::new(400, 20 << 20) {
        Ok(limited) => limited,
        Err(why) => return skipped("stripe: model beside fio", &why),
    };
    let fenxi = Fenxi::new();
    let model = |more: &[&str]| {
        let args = [&["stripe", "--measure", &limited.device, "--in-flight", "8", "--json"], more].concat();
        lines(&limited.within(&fenxi.command(&args)))
    };
    for (io, pattern, kib) in [("rand-read 8k", "randread", 8), ("rand-read 128k", "randread", 128)] {
        let (said, seen) = (model(&["--io", io]), limited.fio(pattern, kib, 8));
        let said = said.last().unwrap()["random_per_s"].as_f64().unwrap();
        assert!((said / seen - 1.0).abs() < 0.2, "{io}: {said} and {seen}");
    }
    // A scan by requests of a size.
    let all = model(&[]);
    for (place, kib) in [(1, 8), (5, 128)] {
        let said = all[place]["scan_bytes_per_s"].as_f64().unwrap() / 1024.0 / f64::from(kib);
        let seen = limited.fio("read", kib, 8);
        assert!((said / seen - 1.0).abs() < 0.2, "scan of {kib} KiB: {said} and {seen}");
    }
    // Nothing was written.
    let whole = fs::read(&limited.device).unwrap();
    assert!(whole.iter().all(|byte| *byte == 0));
}
