//! `fenxi watch util` on the real kernel: against a thread that hides from the clock, against perf, and saved.

use std::{
    fmt::Write,
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread,
    time::Duration,
};

use fenxi_model::Micros;
use rustix::{
    process::Signal,
    time::{ClockId, clock_gettime},
};
use serde_json::Value;

use crate::support::{Fenxi, signal, skipped, text};

/// The rows for all CPUs that `--json` printed.
pub fn rows_of_all(output: &Output) -> Vec<Value> {
    let text = text(&output.stdout);
    let rows = text.lines().map(|l| serde_json::from_str::<Value>(l).unwrap());
    rows.filter(|row| row.get("cpu").is_none()).collect()
}

pub fn number(row: &Value, column: &str) -> Option<f64> {
    row.get(column).and_then(Value::as_f64)
}

/// CPU seconds of `column` in all rows.
pub fn sum(rows: &[Value], column: &str) -> Option<f64> {
    rows.iter().map(|row| Some(number(row, column)? * number(row, "dt")?)).sum()
}

pub fn ticks(rows: &[Value]) -> f64 {
    ["usr_cpus", "sys_cpus", "irq_cpus"].iter().map(|column| sum(rows, column).unwrap()).sum()
}

/// Seconds that the hiding thread ran as measured, and as usr and sys of the kernel count it.
pub fn told_by_demo(output: &Output) -> (f64, f64) {
    let message = text(&output.stderr);
    let line = message.lines().find(|l| l.starts_with("demo:")).unwrap_or_else(|| panic!("no verdict in {message}"));
    let seconds: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    (seconds[0], seconds[1])
}

#[test]
fn what_hides_from_the_clock_is_missed_by_the_tick_and_not_by_the_measure() {
    let fenxi = Fenxi::new();
    let mut hid = false;
    for attempt in 0..8 {
        let output = fenxi.run(&["util", "--demo", "1", "2", "--json"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let (measured, counted) = told_by_demo(&output);
        let rows = rows_of_all(&output);
        let Some(run) = sum(&rows, "run_cpus") else {
            return skipped("hiding from the clock", "nothing here measures what all tasks run");
        };
        let (hidden, idle) = (run - ticks(&rows), sum(&rows, "idle_cpus").unwrap());
        eprintln!(
            "attempt {attempt}: thread {measured:.3} s, counted {counted:.3} s; machine {run:.3} s, hidden {hidden:.3} s, idle {idle:.3} s"
        );
        match rows[0].get("accounting").and_then(Value::as_str) {
            Some("tick") => {
                // Whatever else runs: when the tick comes, this thread does not, unless the hypervisor takes
                // the CPU away just then.
                if measured >= 0.2 && counted > 0.2 * measured {
                    continue;
                }
                hid = true;
                // Others would run while it sleeps, and the tick would charge them for its work.
                if measured >= 0.8 && run - measured < 0.6 && idle > 0.4 {
                    assert!(hidden >= 0.5 * measured, "hidden {hidden}, of {measured} that the thread ran");
                    assert!(run >= 0.95 * measured, "the measure missed the thread: {run} of {measured}");
                    return;
                }
            }
            Some("exact") => {
                eprintln!("THIS KERNEL'S ACCOUNTING IS EXACT: nothing must hide");
                assert!(counted >= 0.9 * measured, "an exact kernel missed {measured} s: {counted}");
                assert!(hidden <= 0.1 * run + 0.1, "hidden {hidden} of {run}");
                return;
            }
            other => eprintln!("the kernel's accounting is not known: {other:?}"),
        }
    }
    assert!(hid, "the tick saw the thread that hides, eight times");
    skipped("what the machine's figures hide", "others kept the CPUs too busy; only the thread's own were checked");
}

/// Nanoseconds of a clock.
fn now_ns(clock: ClockId) -> i64 {
    let now = clock_gettime(clock);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// `perf` tracing every switch of every CPU into `file`, by the monotonic clock.
fn trace_switches(file: &Path) -> Option<Child> {
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-k", "mono", "-a", "-m", "16M", "-e", "sched:sched_switch", "-o"]).arg(file);
    perf.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
}

/// CPU seconds between two moments of the monotonic clock in which another than the idle task ran, as
/// the trace shows; None when it does not reach over the whole time, or has lost switches: then a task is
/// taken off a CPU on which another was put.
fn busy_in_trace(file: &Path, from_s: f64, to_s: f64) -> Option<f64> {
    let mut perf = Command::new("perf");
    perf.args(["script", "--ns", "-F", "cpu,time,event,trace", "-i"]).arg(file);
    let output = perf.stderr(Stdio::null()).output().ok()?;
    let mut last: std::collections::BTreeMap<u32, (f64, u32)> = std::collections::BTreeMap::new();
    let (mut busy, mut covered) = (0.0, false);
    let mut add = |begin: f64, end: f64, is_task: bool| {
        if is_task {
            busy += (end.min(to_s) - begin.max(from_s)).max(0.0);
        }
    };
    for line in text(&output.stdout).lines() {
        let pid = |key: &str| line.split_once(key)?.1.split_whitespace().next()?.parse::<u32>().ok();
        let mut words = line.split_whitespace();
        let cpu = words.next()?.trim_matches(['[', ']']).parse().ok()?;
        let t: f64 = words.next()?.trim_end_matches(':').parse().ok()?;
        covered |= t < from_s;
        // Before its first switch in the trace a CPU ran what it left then.
        let previous = pid("prev_pid=")?;
        let (since, running) = last.get(&cpu).copied().unwrap_or((from_s, previous));
        if running != previous {
            eprintln!("perf lost switches of CPU {cpu} before {t}");
            return None;
        }
        add(since, t, previous != 0);
        last.insert(cpu, (t, pid("next_pid=")?));
    }
    for (since, pid) in last.values() {
        add(*since, to_s, *pid != 0);
    }
    covered.then_some(busy)
}

/// perf counts wall time in `cpu-clock`, and in `task-clock` too when it watches CPUs and not tasks (`-a`):
/// neither measures how busy a machine is. What is comparable is its trace of the scheduler: the time
/// between two switches on each CPU in which another than the idle task ran. It includes what the
/// hypervisor stole meanwhile, which the scheduler takes off; that is allowed for.
#[test]
fn the_measure_agrees_with_perf_s_trace_of_the_scheduler() {
    let fenxi = Fenxi::new();
    let dir = tempfile::tempdir().unwrap();
    for attempt in 0..3 {
        let file = dir.path().join(format!("perf.{attempt}"));
        let Some(mut perf) = trace_switches(&file) else {
            return skipped("util against perf", "perf is not installed");
        };
        thread::sleep(Duration::from_secs(1 + attempt));
        if perf.try_wait().unwrap().is_some() {
            return skipped("util against perf", "perf may not trace the scheduler here");
        }
        // The load that ticks would miss, beside whatever else runs.
        let output = fenxi.run(&["util", "--demo", "1", "4", "--json"]);
        let ahead_ns = now_ns(ClockId::Realtime) - now_ns(ClockId::Monotonic);
        thread::sleep(Duration::from_millis(200));
        signal(&perf, Signal::INT);
        perf.wait().unwrap();
        let rows = rows_of_all(&output);
        let Some(run) = sum(&rows, "run_cpus") else {
            return skipped("util against perf", "nothing here measures what all tasks run");
        };
        let end = |row: &Value| {
            let t = Micros::parse(row["t"].as_str().unwrap()).unwrap();
            (t.0 as f64 * 1e3 - ahead_ns as f64) / 1e9
        };
        let from = end(&rows[0]) - number(&rows[0], "dt").unwrap();
        let to = end(&rows[rows.len() - 1]);
        let Some(busy) = busy_in_trace(&file, from, to) else { continue };
        let steal = sum(&rows, "steal_cpus").unwrap_or(0.0);
        // The measure may be a tick late on each CPU at both ends, a tick being 10 ms at most.
        let late = 0.02 * std::thread::available_parallelism().map_or(1.0, |n| n.get() as f64);
        eprintln!(
            "util {run:.4} s, perf {busy:.4} s ({:+.2}%), ticks {:.4} s, steal {steal:.4} s",
            100.0 * (run / busy - 1.0),
            ticks(&rows)
        );
        assert!(
            (run - busy).abs() <= 0.01 * busy + late.min(0.02 * busy) + steal,
            "util {run}, perf {busy}, steal {steal}"
        );
        return;
    }
    skipped("util against perf", "perf was too late, or lost switches, three times");
}

/// perf's `task-clock` of a command is the command's own time. The machine's time while it ran is that
/// and what all others ran, so it cannot be less; on a quiet machine it is the same to within 1 %.
#[test]
fn a_command_s_machine_time_holds_its_task_clock() {
    let fenxi = Fenxi::new();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("stat");
    let path = file.to_str().unwrap();
    let spin = "i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done";
    let command =
        ["util", "--json", "--", "perf", "stat", "-x,", "-e", "task-clock", "-o", path, "--", "sh", "-c", spin];
    let output = fenxi.run(&command);
    let stat = fs_err::read_to_string(&file).unwrap_or_default();
    let Some(task_s) = stat.lines().find_map(|l| l.split_once(',')?.0.parse::<f64>().ok()).map(|ms| ms / 1e3) else {
        return skipped("util against task-clock", "perf does not count it here");
    };
    let Some(run) = sum(&rows_of_all(&output), "run_cpus") else {
        return skipped("util against task-clock", "nothing here measures what all tasks run");
    };
    eprintln!("util {run:.4} s, task-clock {task_s:.4} s ({:+.2}%)", 100.0 * (run / task_s - 1.0));
    assert!(run >= 0.99 * task_s - 0.02, "the machine ran {run} s, the command alone {task_s} s");
}

#[test]
fn a_command_has_its_output_its_status_and_sums_to_its_end() {
    let fenxi = Fenxi::new();
    let output = fenxi.run(&["util", "--", "sh", "-c", "echo from the command; exit 3"]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{shown}{}", text(&output.stderr));
    assert!(
        shown.contains("from the command\n") && shown.contains(" s elapsed, ") && shown.contains("\nHIDDEN "),
        "{shown}"
    );
    let shown = fenxi.ok(&["util", "100ms", "--", "sleep", "0.35"]);
    let elapsed: f64 =
        shown.lines().find(|l| l.contains("elapsed")).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(elapsed >= 0.35, "the rest after the last interval is in it: {shown}");
    fenxi.fails(2, &["util", "--run", "x", "--demo"]);
    fenxi.fails(2, &["util", "0"]);
    fenxi.fails(2, &["util", "1", "2", "--", "true"]);
    fenxi.fails(1, &["util", "--", "/nonexistent/program"]);
}

#[test]
fn a_saved_run_shows_the_same_lines_again() {
    let fenxi = Fenxi::new();
    let live = fenxi.ok(&["util", "200ms", "3", "--save", "kept", "--totals", "--each-cpu"]);
    let again = fenxi.ok(&["util", "--run", "kept", "--totals", "--each-cpu"]);
    // The first line and the verdict also say how often this kernel's timer ticks, which a run does not.
    let lines =
        |text: &str| text.lines().skip(1).filter(|l| !l.starts_with("HIDDEN")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(lines(&live), lines(&again));
    assert!(live.lines().count() > 10, "{live}");
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let fenxi = Fenxi::new();
    let mut child = fenxi.spawn(&["util", "50ms"]);
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn a_saved_machine_of_256_cpus_is_shown() {
    let fenxi = Fenxi::new();
    let root = tempfile::tempdir().unwrap();
    let put = |path: &str, content: &str| {
        let path = root.path().join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, content).unwrap();
    };
    let mut stat = "cpu  0 0 0 0\n".to_owned();
    let mut usage = String::new();
    for cpu in 0..256 {
        writeln!(stat, "cpu{cpu} 5000 0 1000 4000 0 0 0 0 0 0").unwrap();
        usage.push_str("70000000000 ");
    }
    put("proc/stat", &stat);
    put("proc/uptime", "100.00 10240.00\n");
    put("proc/self/mountinfo", "33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n");
    put("sys/fs/cgroup/cpuacct/release_agent", "");
    put("sys/fs/cgroup/cpuacct/cpuacct.usage_percpu", &usage);
    let shown = fenxi.ok(&["util", "--each-cpu", "--root", root.path().to_str().unwrap()]);
    assert!(shown.starts_with("256 CPUs; USR SYS IRQ as the kernel counts them; RUN measured (cpuacct)\n"), "{shown}");
    let lines: Vec<_> = shown.lines().map(|l| l.split_whitespace().collect::<Vec<_>>()).collect();
    // 5,000 and 1,000 ticks in 100 s; 70 s measured.
    let of = |cpu: &str| lines.iter().find(|l| l.get(1) == Some(&cpu)).unwrap();
    assert_eq!(of("255")[2..], ["0.500", "0.100", "0.000", "0.000", "0.400", "0.600", "0.700", "0.600", "0.100"]);
    assert_eq!(of("all")[2..], ["128.0", "25.600", "0.000", "0.000", "102.4", "153.6", "179.2", "153.6", "25.600"]);
}
