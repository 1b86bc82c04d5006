//! Hand-calculated figures of saved processes, and the truth of the kernel's own accounts about live ones.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
    time::Duration,
};

use fenxi_model::Micros;

use super::SOURCE;
use crate::testing::{Machine, Observed, Session, near, observe};

/// A process to be written into a machine.
#[derive(Clone, Copy)]
struct Fake {
    pid: u32,
    comm: &'static str,
    ppid: u32,
    utime: u64,
    stime: u64,
    children: (u64, u64),
    faults: (u64, u64),
    threads: u64,
    start: u64,
    run: Option<(u64, u64)>,
    io: Option<u64>,
    switches: (u64, u64),
}

const IDLE: Fake = Fake {
    pid: 100,
    comm: "db",
    ppid: 1,
    utime: 1000,
    stime: 500,
    children: (0, 0),
    faults: (40, 2),
    threads: 1,
    start: 77,
    run: None,
    io: None,
    switches: (10, 20),
};

fn put(machine: &Machine, fake: &Fake) {
    let Fake { pid, comm, ppid, utime, stime, children, faults, threads, start, run, io, switches } = *fake;
    let stat = format!(
        "{pid} ({comm}) S {ppid} {pid} {pid} 0 -1 4194560 {} 0 {} 0 {utime} {stime} {} {} 20 0 {threads} 0 {start} \
         8192000 10 18446744073709551615 1 1 0 0 0 0 0 4096 16386 0 0 0 17 3 0 0 0 0 0\n",
        faults.0, faults.1, children.0, children.1
    );
    machine.put(&format!("/proc/{pid}/stat"), stat);
    let status = format!(
        "Name:\t{comm}\nUid:\t1000\t1000\t1000\t1000\nCpus_allowed:\tff,80000001\nCpus_allowed_list:\t0,31-39\nvoluntary_ctxt_switches:\t{}\nnonvoluntary_ctxt_switches:\t{}\n",
        switches.0, switches.1
    );
    machine.put(&format!("/proc/{pid}/status"), status);
    if let Some((run, wait)) = run {
        machine.put(&format!("/proc/{pid}/schedstat"), format!("{run} {wait} 9\n"));
    }
    if let Some(n) = io {
        let text =
            format!("rchar: {n}0\nwchar: {n}00\nsyscr: {n}1\nsyscw: {n}2\nread_bytes: {n}\nwrite_bytes: {n}000\n");
        machine.put(&format!("/proc/{pid}/io"), text);
    }
}

/// A machine with these processes, already sampled once.
fn begin(fakes: &[Fake]) -> Session {
    let machine = Machine::new();
    machine.put("/etc/passwd", "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n");
    fakes.iter().for_each(|f| put(&machine, f));
    let mut session = machine.start(&SOURCE);
    session.tick(None);
    session
}

#[test]
fn figures_of_captured_processes_are_those_worked_out_by_hand() {
    let seen = observe(&SOURCE, "process", 2.0);
    // init and kthreadd slept.
    assert_eq!(seen.keys("process"), [["27120", "bash", "root"]]);
    let get = |column| seen.value("process", column, &["27120", "bash", "root"]);
    // schedstat 2797618 15032 2 -> 54474356 45427 4; utime 0 -> 5 ticks
    near(get("cpu"), 51_676_738.0 / 2e9 * 100.0);
    near(get("usr"), 51_676_738.0 / 2e9 * 100.0);
    near(get("run_queue_wait"), 30_395.0 / 2e9 * 100.0);
    near(get("minor_faults_per_s"), 0.0);
    near(get("voluntary_switches_per_s"), 0.5);
    near(get("involuntary_switches_per_s"), 0.5);
    near(get("read_call_bytes_per_s"), 3.0);
    near(get("write_call_bytes_per_s"), 5.0);
    near(get("rss_bytes"), 742.0 * 4096.0);
    near(get("threads"), 1.0);
}

#[test]
fn what_was_idle_has_no_row_and_what_ran_less_than_a_tick_has_its_nanoseconds() {
    let busy = Fake { run: Some((15_000_000_000, 5)), io: Some(4), ..IDLE };
    let idle = Fake { pid: 200, ..busy };
    let mut session = begin(&[busy, idle]);
    let after = Fake { run: Some((15_003_000_000, 2_000_005)), io: Some(6), switches: (13, 24), ..busy };
    put(&session.machine, &after);
    let seen = session.tick(2.0);
    assert_eq!(seen.keys("process"), [["100", "db", "ann"]]);
    let get = |column| seen.value("process", column, &["100", "db", "ann"]);
    // 3 ms of 2 s, divided as the 1000 and 500 ticks of its life.
    near(get("cpu"), 0.15);
    near(get("usr"), 0.1);
    near(get("sys"), 0.05);
    near(get("run_queue_wait"), 0.1);
    near(get("read_bytes_per_s"), 1.0);
    near(get("write_bytes_per_s"), 1000.0);
    near(get("read_call_bytes_per_s"), 10.0);
    near(get("write_call_bytes_per_s"), 100.0);
    near(get("read_calls_per_s"), 10.0);
    near(get("write_calls_per_s"), 10.0);
    near(get("cpus_allowed"), 10.0);
    near(get("voluntary_switches_per_s"), 1.5);
    near(get("involuntary_switches_per_s"), 2.0);
    near(get("vsz_bytes"), 8_192_000.0);
    near(get("last_cpu"), 3.0);
    near(get("ppid"), 1.0);
    near(get("priority"), 20.0);
    assert_eq!(seen.text("process", "state", &["100", "db", "ann"]).as_deref(), Some("S"));
    assert_eq!(session.tick(1.0).count("process"), 0);
}

#[test]
fn without_nanoseconds_and_accounts_ticks_must_do() {
    for run in [None, Some((0, 0))] {
        let before = Fake { run, ..IDLE };
        let mut session = begin(&[before]);
        put(&session.machine, &Fake { utime: 1030, stime: 520, faults: (44, 3), ..before });
        session.machine.put("/proc/100/schedstat", "0 0 0\n");
        let seen = session.tick(2.0);
        let get = |column| seen.value("process", column, &["100", "db", "ann"]);
        near(get("cpu"), 25.0);
        near(get("usr"), 15.0);
        near(get("sys"), 10.0);
        near(get("minor_faults_per_s"), 2.0);
        near(get("major_faults_per_s"), 0.5);
        assert_eq!((get("run_queue_wait"), get("read_bytes_per_s")), (None, None));
    }
}

#[test]
fn the_nanoseconds_of_all_threads_count() {
    let before = Fake { threads: 3, run: Some((9_000_000_000, 0)), ..IDLE };
    let thread = |machine: &Machine, tid: u32, run: u64, switches: u64| {
        let path = format!("/proc/100/task/{tid}");
        machine.put(&format!("{path}/schedstat"), format!("{run} 0 5\n"));
        let status = format!("voluntary_ctxt_switches:\t{switches}\nnonvoluntary_ctxt_switches:\t0\n");
        machine.put(&format!("{path}/status"), status);
    };
    let machine = Machine::new();
    put(&machine, &before);
    thread(&machine, 100, 9_000_000_000, 0);
    thread(&machine, 101, 4_000_000_000, 6);
    thread(&machine, 102, 2_000_000_000, 6);
    let mut session = machine.start(&SOURCE);
    session.tick(None);
    // The main thread slept, 101 ran 205 ms, 102 ended unseen, 103 is new and ran 105 ms.
    put(&session.machine, &Fake { utime: 1020, stime: 510, ..before });
    thread(&session.machine, 101, 4_205_000_000, 16);
    session.machine.remove("/proc/100/task/102");
    thread(&session.machine, 103, 105_000_000, 3);
    let seen = session.tick(1.0);
    let key = ["100", "db", "1000"];
    near(seen.value("process", "cpu", &key), 31.0);
    near(seen.value("process", "usr", &key).map(f64::round), 21.0);
    near(seen.value("process", "voluntary_switches_per_s", &key), 13.0);

    // A thread that came and went between two samples took its nanoseconds along: the ticks know.
    put(&session.machine, &Fake { utime: 1070, stime: 510, ..before });
    near(session.tick(1.0).value("process", "cpu", &key), 50.0);
}

#[test]
fn a_number_used_again_is_another_process() {
    let old = Fake { run: Some((15_000_000_000, 0)), ..IDLE };
    let mut session = begin(&[old]);
    let new = Fake { comm: "sh", utime: 7, stime: 0, start: 900, run: Some((70_000_000, 0)), faults: (30, 0), ..IDLE };
    put(&session.machine, &new);
    let seen = session.tick(1.0);
    assert_eq!(seen.keys("process"), [["100", "sh", "ann"]]);
    // All that the new one ever used was used in this interval.
    near(seen.value("process", "cpu", &["100", "sh", "ann"]), 7.0);
    near(seen.value("process", "minor_faults_per_s", &["100", "sh", "ann"]), 30.0);
}

#[test]
fn odd_names_are_names() {
    let names = ["(sd-pam)", "a b) S 1", "tmux: server", "näme", "x\ny"];
    let fakes: Vec<_> = names.iter().enumerate().map(|(i, n)| Fake { pid: 10 + i as u32, comm: n, ..IDLE }).collect();
    let mut session = begin(&fakes);
    fakes.iter().for_each(|f| put(&session.machine, &Fake { utime: 1001, ..*f }));
    let mut shown: Vec<_> = session.tick(1.0).keys("process").into_iter().map(|key| key[1].clone()).collect();
    shown.sort();
    assert_eq!(shown, ["(sd-pam)", "a b) S 1", "näme", "tmux: server", "x?y"]);
}

#[test]
fn those_that_ended_are_one_row_and_count_once() {
    let parent = Fake { pid: 50, comm: "make", ..IDLE };
    let child = Fake { pid: 60, ppid: 50, comm: "cc", utime: 80, stime: 10, ..IDLE };
    let mut session = begin(&[parent, child]);
    // The child, 90 ticks old, ended with 100; another, never seen, used 35 in between.
    session.machine.remove("/proc/60");
    put(&session.machine, &Fake { children: (110, 25), ..parent });
    let seen = session.tick(1.0);
    let exited = ["", "(exited)", ""];
    near(seen.value("process", "cpu", &exited), 45.0);
    // usr: 110 - 80 = 30 ticks, sys: 25 - 10 = 15.
    near(seen.value("process", "usr", &exited), 30.0);
    near(seen.value("process", "sys", &exited), 15.0);
    near(seen.value("process", "children_cpu", &["50", "make", "ann"]), 45.0);
    near(seen.value("process", "cpu", &["50", "make", "ann"]), 0.0);
    assert_eq!(session.tick(1.0).count("process"), 0);
}

/// Puts what a process, or its only thread, has read; all other figures follow from it as in [`put`].
fn put_io(machine: &Machine, path: &str, n: u64) {
    let text = format!("rchar: {n}0\nwchar: {n}00\nsyscr: {n}1\nsyscw: {n}2\nread_bytes: {n}\nwrite_bytes: {n}000\n");
    machine.put(path, text);
}

#[test]
fn what_ended_children_read_and_wrote_is_not_their_parents() {
    let parent = Fake { pid: 50, comm: "postgres", children: (100, 20), io: Some(5010), ..IDLE };
    let child = Fake { pid: 60, ppid: 50, comm: "session", utime: 80, stime: 10, io: Some(400), ..IDLE };
    let machine = Machine::new();
    machine.put("/etc/passwd", "ann:x:1000:1000::/home/ann:/bin/sh\n");
    [parent, child].iter().for_each(|fake| put(&machine, fake));
    // Of what it has, 5000 are of children that ended before.
    put_io(&machine, "/proc/50/task/50/io", 10);
    let mut session = machine.start(&SOURCE);
    session.tick(None);
    // The child ended with 450, of which 400 were shown; the parent read 7.
    session.machine.remove("/proc/60");
    put(&session.machine, &Fake { children: (185, 35), io: Some(5467), ..parent });
    put_io(&session.machine, "/proc/50/task/50/io", 17);
    let seen = session.tick(1.0);
    let (parent_key, exited) = (["50", "postgres", "ann"], ["", "(exited)", ""]);
    near(seen.value("process", "read_bytes_per_s", &parent_key), 7.0);
    near(seen.value("process", "write_bytes_per_s", &parent_key), 7000.0);
    near(seen.value("process", "read_bytes_per_s", &exited), 50.0);
    near(seen.value("process", "write_bytes_per_s", &exited), 50_000.0);
    // No child ended: all that is new is its own, and the thread need not be asked.
    session.machine.remove("/proc/50/task");
    put(&session.machine, &Fake { children: (185, 35), utime: 1010, io: Some(5470), ..parent });
    let seen = session.tick(1.0);
    near(seen.value("process", "read_bytes_per_s", &parent_key), 3.0);
    assert_eq!(seen.keys("process"), [parent_key]);
}

#[test]
fn where_children_and_ended_threads_cannot_be_told_apart_nothing_is_said() {
    let parent = Fake { pid: 50, comm: "java", threads: 3, children: (100, 20), io: Some(5000), ..IDLE };
    let mut session = begin(&[parent]);
    put(&session.machine, &Fake { utime: 1100, io: Some(5060), ..parent });
    near(session.tick(1.0).value("process", "read_bytes_per_s", &["50", "java", "ann"]), 60.0);
    put(&session.machine, &Fake { utime: 1200, children: (150, 30), io: Some(9060), ..parent });
    let seen = session.tick(1.0);
    assert_eq!(seen.value("process", "read_bytes_per_s", &["50", "java", "ann"]), None);
    assert_eq!(seen.value("process", "read_bytes_per_s", &["", "(exited)", ""]), None);
    near(seen.value("process", "cpu", &["", "(exited)", ""]), 60.0);
}

/// Samples the live system under `seconds` of nominal interval.
struct Live {
    collector: Box<dyn crate::Collector>,
}

impl Live {
    fn begin() -> Live {
        let collector = crate::Source::start(&SOURCE, &crate::Root::live()).unwrap();
        let mut live = Live { collector };
        live.tick(None);
        live
    }

    /// With an interval of one second a percent is 10 ms.
    fn tick(&mut self, dt: impl Into<Option<f64>>) -> Observed {
        let mut rows = fenxi_model::Rows::new("live");
        self.collector.sample(crate::Tick::new(Micros(1), dt.into()), &mut rows).unwrap();
        Observed::of(rows)
    }
}

/// A shell that counts to a number and prints it, for each line it is given.
fn counting_shell() -> Child {
    let script = "while read n; do i=0; while [ $i -lt $n ]; do i=$((i+1)); done; echo; done";
    Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

#[test]
fn cpu_time_of_a_live_process_is_what_the_kernel_s_clock_of_it_says() {
    let mut live = Live::begin();
    let mut child = counting_shell();
    let id = child.id();
    let clock = fenxi_sys::clock::of_process(id).unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut shown_us = 0.0;
    // Far below and far above a clock tick.
    for n in [500, 50, 20_000, 200, 60_000, 10] {
        writeln!(child.stdin.as_mut().unwrap(), "{n}").unwrap();
        answers.next().unwrap().unwrap();
        // `schedstat` is behind while it runs: it waits for the next line.
        while !fs_err::read_to_string(format!("/proc/{id}/stat")).unwrap().contains(") S ") {
            std::thread::sleep(Duration::from_millis(1));
        }
        let seen = live.tick(1.0);
        let keys = seen.keys("process");
        let pid = id.to_string();
        let key = keys.iter().find(|k| k[0] == pid).expect("a row for each that ran");
        let key: Vec<_> = key.iter().map(String::as_str).collect();
        shown_us += seen.value("process", "cpu", &key).unwrap() * 1e4;
        let truth_us = fenxi_sys::clock::ns(clock).unwrap() as f64 / 1e3;
        assert!((truth_us - shown_us).abs() < 1.0, "{shown_us} us shown of {truth_us}");
    }
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[test]
fn processes_that_no_sample_saw_have_a_row_by_name_and_role() {
    // A user without access to exit records knows their parents' times only.
    if super::Exits::begin(&crate::Root::live()).is_err() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let shell = folder.path().join("counts-alone");
    fs_err::os::unix::fs::symlink("/bin/sh", &shell).unwrap();
    let mut live = Live::begin();
    // Counts long enough to be seen by any clock.
    let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    for _ in 0..3 {
        assert!(Command::new(&shell).args(["-c", script]).status().unwrap().success());
    }
    let seen = live.tick(1.0);
    let keys = seen.keys("process");
    let ours = |key: &&Vec<String>| {
        let key: Vec<&str> = key.iter().map(String::as_str).collect();
        key[1] == "counts-alone" && seen.text("process", "role", &key).as_deref() == Some("command")
    };
    let rows: Vec<_> = keys.iter().filter(ours).collect();
    assert_eq!(rows.len(), 1, "{keys:?}");
    let key: Vec<&str> = rows[0].iter().map(String::as_str).collect();
    assert_eq!(key[0], "", "several have no number together");
    // Three times some milliseconds: a percent is 10 ms.
    let cpu = seen.value("process", "cpu", &key).unwrap();
    assert!(cpu > 0.1 && seen.value("process", "run_queue_wait", &key).is_some(), "{cpu}");
}

#[test]
fn a_live_shell_has_not_written_what_its_child_wrote() {
    let script = "read n; dd if=/dev/zero of=/dev/null bs=1M count=64 2>/dev/null; echo; read n";
    let mut child =
        Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut live = Live::begin();
    writeln!(child.stdin.as_mut().unwrap(), "1").unwrap();
    BufReader::new(child.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    let seen = live.tick(1.0);
    let pid = child.id().to_string();
    let keys = seen.keys("process");
    let key: Vec<_> =
        keys.iter().find(|key| key[0] == pid).expect("a row for each that ran").iter().map(String::as_str).collect();
    let written = seen.value("process", "write_call_bytes_per_s", &key);
    assert!(written.is_some_and(|bytes| bytes < 1e6), "{written:?}");
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[test]
fn a_process_in_a_container_has_its_name_also_where_it_was_moved_there_after_it_began() {
    let id = "d".repeat(64);
    let busy = Fake { run: Some((15_000_000_000, 5)), ..IDLE };
    let machine = Machine::new();
    machine.put("/etc/passwd", "ann:x:1000:1000::/home/ann:/bin/sh\n");
    let config = r#"{"Name": "/web", "Config": {"Image": "nginx:1.27", "Labels": {}}}"#;
    machine.put(&format!("/var/lib/docker/containers/{id}/config.v2.json"), config);
    machine.put("/proc/100/cgroup", "0::/system.slice/docker.service\n");
    put(&machine, &busy);
    let mut session = machine.start(&SOURCE);
    session.tick(None);
    put(&session.machine, &Fake { run: Some((15_003_000_000, 5)), ..busy });
    let text = |seen: &Observed, comm: &str, column| seen.text("process", column, &["100", comm, "ann"]);
    assert_eq!(text(&session.tick(1.0), "db", "container"), None);
    session.machine.put("/proc/100/cgroup", format!("4:memory:/docker/{id}\n0::/\n"));
    put(&session.machine, &Fake { comm: "nginx", run: Some((15_006_000_000, 5)), ..busy });
    let seen = session.tick(1.0);
    assert_eq!(text(&seen, "nginx", "container").as_deref(), Some("web"));
    assert_eq!(text(&seen, "nginx", "image").as_deref(), Some("nginx:1.27"));
    assert_eq!(text(&seen, "nginx", "pod"), None);
}
