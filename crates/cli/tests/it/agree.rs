//! The recorder's figures against `mpstat`, `iostat -x`, `sar -n DEV` and `vmstat` over the same seconds.

use std::{
    io::Write,
    net::UdpSocket,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::support::{Fenxi, skipped, text};

/// Seconds that every tool watches.
const WINDOW_S: u64 = 5;

static STOP: AtomicBool = AtomicBool::new(false);

/// One CPU busy, a disk written and loopback used, all at a steady pace, until [`STOP`].
fn load(dir: &std::path::Path) {
    let file = dir.join("load");
    thread::spawn(|| {
        let mut x = 1_u64;
        while !STOP.load(Ordering::Relaxed) {
            x = std::hint::black_box(x.wrapping_mul(3).rotate_left(5));
        }
    });
    thread::spawn(move || {
        let block = vec![7_u8; 65_536];
        while !STOP.load(Ordering::Relaxed) {
            let mut out = fs_err::File::create(&file).unwrap();
            out.write_all(&block).unwrap();
            out.sync_all().unwrap();
            thread::sleep(Duration::from_millis(5));
        }
    });
    thread::spawn(|| {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut bytes = [0; 2000];
        while !STOP.load(Ordering::Relaxed) {
            sender.send_to(&[1; 1000], receiver.local_addr().unwrap()).unwrap();
            receiver.recv(&mut bytes).unwrap();
            thread::sleep(Duration::from_millis(1));
        }
    });
}

fn tool(program: &str, args: &[&str]) -> Option<std::process::Child> {
    Command::new(program).args(args).env("LC_ALL", "C").env("S_TIME_FORMAT", "ISO").stdout(Stdio::piped()).spawn().ok()
}

/// Compares two figures: within `share` of the larger, or within `floor`.
fn agree(what: &str, ours: f64, theirs: f64, share: f64, floor: f64) {
    let allowed = (share * ours.abs().max(theirs.abs())).max(floor);
    eprintln!("{what}: fenxi {ours:.3}, tool {theirs:.3}");
    assert!((ours - theirs).abs() <= allowed, "{what}: {ours} here, {theirs} there, allowed {allowed}");
}

#[test]
fn figures_agree_with_the_tools_of_the_system_over_the_same_seconds() {
    let fenxi = Fenxi::new();
    let scratch = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let window = WINDOW_S.to_string();
    // A program that is started for the first time is read from the disk: before the window and not at its begin.
    for program in ["mpstat", "iostat", "sar", "vmstat"] {
        let _ = tool(program, &["-V"]).map(|t| t.wait_with_output());
    }
    load(scratch.path());
    let recorder = fenxi.spawn(&["record", "--interval", "100ms", "--for", "7s"]);
    fenxi.wait_until_recording();
    thread::sleep(Duration::from_millis(500));
    let begun = epoch_now();
    let clock = Instant::now();
    let tools = [
        tool("mpstat", &["-P", "ALL", "-o", "JSON", &window, "1"]),
        tool("iostat", &["-x", "-y", "-o", "JSON", &window, "1"]),
        tool("sar", &["-n", "DEV", &window, "1"]),
        tool("vmstat", &["-n", &window, "2"]),
    ];
    let spawned_in = clock.elapsed();
    let [Some(mpstat), Some(iostat), Some(sar), Some(vmstat)] = tools else {
        STOP.store(true, Ordering::Relaxed);
        return skipped("agreement with sysstat", "mpstat, iostat, sar and vmstat are not all installed");
    };
    let outputs = [mpstat, iostat, sar, vmstat].map(|t| text(&t.wait_with_output().unwrap().stdout));
    let recorded = recorder.wait_with_output().unwrap();
    STOP.store(true, Ordering::Relaxed);
    assert!(recorded.status.success(), "{}", text(&recorded.stderr));
    eprintln!("tools were started within {spawned_in:?}");
    // Rows whose interval ended within the tools' interval, give or take one tick of 0.1 s.
    let during = format!("epoch(t) > {begun} + 0.05 and epoch(t) <= {begun} + {WINDOW_S} + 0.05");
    let [mpstat, iostat, sar, vmstat] = outputs;
    cpu_agrees(&fenxi, &during, &mpstat);
    disk_agrees(&fenxi, &during, &iostat);
    net_agrees(&fenxi, &during, &sar);
    vm_agrees(&fenxi, &during, &vmstat);
    imports_give_what_was_printed(&fenxi, &mpstat, &iostat, &sar, &vmstat);
}

/// Imported output of the tools equals what they printed: with the comparisons above, the recorder
/// and four importers agree about the same seconds.
fn imports_give_what_was_printed(fenxi: &Fenxi, mpstat: &str, iostat: &str, sar: &str, vmstat: &str) {
    let dir = tempfile::tempdir().unwrap();
    for (name, output) in [("mpstat.json", mpstat), ("iostat.json", iostat), ("sar.txt", sar), ("vmstat.txt", vmstat)] {
        fs_err::write(dir.path().join(name), output).unwrap();
    }
    let path = dir.path().to_str().unwrap();
    let summary = fenxi.ok(&["import", path, "--each", "--json", "--interval", &WINDOW_S.to_string()]);
    let runs: Vec<Value> = summary.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    for run in &runs {
        assert_eq!(run["inputs"][0]["notes"], 0, "{run}");
    }
    let run_of = |name: &str| {
        let found = runs.iter().find(|r| r["inputs"][0]["file"] == name);
        found.unwrap()["run"].as_str().unwrap().to_owned()
    };
    let exactly = |what: &str, sql: String, printed: f64| {
        let imported = fenxi.number(&sql);
        assert!((imported - printed).abs() <= 1e-9 * printed.abs(), "{what}: imported {imported}, printed {printed}");
    };
    let json: Value = serde_json::from_str(mpstat).unwrap();
    for cpu in json["sysstat"]["hosts"][0]["statistics"][0]["cpu-load"].as_array().unwrap() {
        let name = cpu["cpu"].as_str().unwrap();
        let which = if name == "all" { "cpu is null".to_owned() } else { format!("cpu = '{name}'") };
        for (column, field) in [("usr", "usr"), ("sys", "sys"), ("softirq", "soft"), ("idle", "idle")] {
            let sql = format!("select {column} from cpu where run = '{}' and {which}", run_of("mpstat.json"));
            exactly(&format!("cpu {name} {column}"), sql, cpu[field].as_f64().unwrap());
        }
    }
    let json: Value = serde_json::from_str(iostat).unwrap();
    for disk in json["sysstat"]["hosts"][0]["statistics"][0]["disk"].as_array().unwrap() {
        let name = disk["disk_device"].as_str().unwrap();
        for (column, field, scale) in
            [("writes_per_s", "w/s", 1.0), ("write_bytes_per_s", "wkB/s", 1024.0), ("util", "util", 1.0)]
        {
            let sql =
                format!("select {column} from disk where run = '{}' and device = '{name}'", run_of("iostat.json"));
            exactly(&format!("disk {name} {column}"), sql, disk[field].as_f64().unwrap() * scale);
        }
    }
    let line = sar.lines().find(|l| l.starts_with("Average:") && l.split_whitespace().nth(1) == Some("lo")).unwrap();
    let printed: f64 = line.split_whitespace().nth(2).unwrap().parse().unwrap();
    let sql = format!("select rx_packets_per_s from net where run = '{}' and interface = 'lo'", run_of("sar.txt"));
    exactly("lo received packets", sql, printed);
    let last: Vec<f64> = vmstat.lines().last().unwrap().split_whitespace().map(|f| f.parse().unwrap()).collect();
    for (table, column, printed) in [
        ("sched", "intr_per_s", last[10]),
        ("sched", "context_switches_per_s", last[11]),
        ("mem", "free_bytes", last[3] * 1024.0),
        ("cpu", "usr", last[12]),
    ] {
        let sql = format!("select arg_max({column}, t) as v from {table} where run = '{}'", run_of("vmstat.txt"));
        exactly(column, sql, printed);
    }
}

/// One data file of sadc, shown by `sar` and by `sadf` in its forms, imports to the same figures.
#[test]
fn sar_and_every_form_of_sadf_give_the_same_figures() {
    let fenxi = Fenxi::new();
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("sa");
    let data = data.to_str().unwrap();
    let Some(recorder) = tool("sar", &["-o", data, "-P", "ALL", "1", "3"]) else {
        return skipped("sar against sadf", "sar is not installed");
    };
    assert!(recorder.wait_with_output().unwrap().status.success());
    let forms: [(&str, &str, &[&str]); 4] = [
        ("sar", "sar", &["-A", "-f", data]),
        ("json", "sadf", &["-j", data, "--", "-A"]),
        ("database", "sadf", &["-d", data, "--", "-A"]),
        ("xml", "sadf", &["-x", data, "--", "-A"]),
    ];
    for (name, program, args) in forms {
        let output = tool(program, args).unwrap().wait_with_output().unwrap();
        let file = dir.path().join(name);
        fs_err::write(&file, &output.stdout).unwrap();
        let message = fenxi.ok(&["import", file.to_str().unwrap(), "--name", name, "--json"]);
        let summary: Value = serde_json::from_str(&message).unwrap();
        assert_eq!(summary["inputs"][0]["notes"], 0, "{name}: {summary}");
    }
    for (table, key, columns) in [
        ("cpu", "cpu", &["usr", "sys", "idle", "steal"][..]),
        ("sched", "host", &["context_switches_per_s", "load1"]),
        ("mem", "host", &["free_bytes", "available_bytes"]),
        ("net", "interface", &["rx_packets_per_s", "tx_bytes_per_s"]),
        ("disk", "device", &["util"]),
    ] {
        for column in columns {
            for other in ["json", "database", "xml"] {
                let differ = format!(
                    "with a as (select * from {table} where run like '%-sar-%'), b as (select * from {table} where run like '%-{other}-%')
                     select count(*) filter (a.{column} is not null) as n,
                            count(*) filter (a.{column} is distinct from b.{column} and not abs(a.{column} - b.{column}) <= 0.0051 * greatest(1, abs(a.{column}) / 1024)) as wrong
                     from a left join b on a.t = b.t and a.{key} is not distinct from b.{key}"
                );
                let row = &fenxi.sql(&differ)[0];
                assert!(row["n"].as_i64().unwrap() >= 2 && row["wrong"] == 0, "{table}.{column} of {other}: {row}");
            }
        }
    }
}

/// Seconds since the epoch now.
fn epoch_now() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn mean(fenxi: &Fenxi, column: &str, table: &str, condition: &str) -> f64 {
    fenxi.number(&format!("select coalesce(sum({column} * dt) / sum(dt), 0) as mean from {table} where {condition}"))
}

fn cpu_agrees(fenxi: &Fenxi, during: &str, mpstat: &str) {
    let json: Value = serde_json::from_str(mpstat).unwrap();
    for cpu in json["sysstat"]["hosts"][0]["statistics"][0]["cpu-load"].as_array().unwrap() {
        let name = cpu["cpu"].as_str().unwrap();
        let which = if name == "all" { "cpu is null".to_owned() } else { format!("cpu = '{name}'") };
        let ours = |column: &str| mean(fenxi, column, "cpu", &format!("{which} and {during}"));
        let theirs = |field: &str| cpu[field].as_f64().unwrap();
        // Percentage points: a tick of 10 ms in 5 s is 0.2, and the windows differ by up to 0.1 s.
        for (column, field) in
            [("usr", "usr"), ("sys", "sys"), ("softirq", "soft"), ("steal", "steal"), ("nice", "nice")]
        {
            agree(&format!("cpu {name} {column}"), ours(column), theirs(field), 0.05, 3.0);
        }
        let idle = ours("idle") + ours("iowait");
        agree(&format!("cpu {name} idle and iowait"), idle, theirs("idle") + theirs("iowait"), 0.05, 3.0);
    }
}

fn disk_agrees(fenxi: &Fenxi, during: &str, iostat: &str) {
    let json: Value = serde_json::from_str(iostat).unwrap();
    let mut seen = 0;
    for disk in json["sysstat"]["hosts"][0]["statistics"][0]["disk"].as_array().unwrap() {
        let name = disk["disk_device"].as_str().unwrap();
        let ours = |column: &str| mean(fenxi, column, "disk", &format!("device = '{name}' and {during}"));
        let theirs = |field: &str| disk[field].as_f64().unwrap();
        agree(&format!("disk {name} writes"), ours("writes_per_s"), theirs("w/s"), 0.08, 3.0);
        // Nothing reads at a steady pace: a burst within one tick of the window's ends is in one account only.
        let around = during.replace("+ 0.05", "+ 0.35").replacen("+ 0.35", "- 0.25", 1);
        let most = fenxi.number(&format!(
            "select max(reads_per_s * dt) / {WINDOW_S} as m from disk where device = '{name}' and {around}"
        ));
        agree(&format!("disk {name} reads"), ours("reads_per_s"), theirs("r/s"), 0.08, most.max(3.0));
        agree(&format!("disk {name} write bytes"), ours("write_bytes_per_s"), theirs("wkB/s") * 1024.0, 0.1, 65_536.0);
        agree(&format!("disk {name} util"), ours("util"), theirs("util"), 0.1, 3.0);
        let weighted = format!(
            "select coalesce(sum(write_await_ms * writes_per_s * dt) / sum(writes_per_s * dt), 0) as m \
             from disk where device = '{name}' and write_await_ms is not null and {during}"
        );
        agree(&format!("disk {name} write await"), fenxi.number(&weighted), theirs("w_await"), 0.15, 0.1);
        seen += usize::from(theirs("w/s") > 10.0);
    }
    assert!(seen > 0, "the load did not reach any disk that iostat shows");
}

fn net_agrees(fenxi: &Fenxi, during: &str, sar: &str) {
    let line = sar.lines().find(|l| l.starts_with("Average:") && l.split_whitespace().nth(1) == Some("lo")).unwrap();
    let fields: Vec<f64> = line.split_whitespace().skip(2).map(|f| f.parse().unwrap()).collect();
    let ours = |column: &str| mean(fenxi, column, "net", &format!("interface = 'lo' and {during}"));
    agree("lo received packets", ours("rx_packets_per_s"), fields[0], 0.06, 3.0);
    agree("lo sent packets", ours("tx_packets_per_s"), fields[1], 0.06, 3.0);
    agree("lo received bytes", ours("rx_bytes_per_s"), fields[2] * 1024.0, 0.06, 4096.0);
    assert!(fields[0] > 100.0, "the load did not reach loopback: {line}");
}

fn vm_agrees(fenxi: &Fenxi, during: &str, vmstat: &str) {
    let last: Vec<f64> = vmstat.lines().last().unwrap().split_whitespace().map(|f| f.parse().unwrap()).collect();
    // r b swpd free buff cache si so bi bo in cs us sy id wa st; free to cache in KiB, bi and bo in KiB/s.
    agree("blocks out", mean(fenxi, "page_out_bytes_per_s", "vm", during), last[9] * 1024.0, 0.1, 65_536.0);
    agree("interrupts", mean(fenxi, "intr_per_s", "sched", during), last[10], 0.08, 20.0);
    agree("context switches", mean(fenxi, "context_switches_per_s", "sched", during), last[11], 0.08, 20.0);
    let at_the_end = format!("select arg_max(free_bytes, t) as f from mem where {during}");
    // One look each, some milliseconds apart: other programs allocate between them.
    agree("free memory", fenxi.number(&at_the_end), last[3] * 1024.0, 0.1, 64e6);
}
