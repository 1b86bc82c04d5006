//! Hand-calculated figures of saved control groups.

use super::SOURCE;
use crate::{
    SourceError,
    testing::{Machine, Session, near, observe},
};

const TOP: &str = "/sys/fs/cgroup";

#[test]
fn figures_of_a_captured_hybrid_hierarchy_are_those_worked_out_by_hand() {
    // Version 1 holds all controllers here, so version 2 knows CPU time and pressure only.
    let seen = observe(&SOURCE, "cgroup", 2.0);
    assert_eq!(seen.keys("cgroup"), [["/"]]);
    let get = |column| seen.value("cgroup", column, &["/"]);
    // usage 1588511981 -> 1589557164, user 1396476704 -> 1397457887, system 192035276 -> 192099276
    near(get("cpu"), 1_045_183.0 / 2e6 * 100.0);
    near(get("usr"), 981_183.0 / 2e6 * 100.0);
    near(get("sys"), 64_000.0 / 2e6 * 100.0);
    // cpu some 142737272 -> 142826961, io some 15156613 -> 15156767
    near(get("cpu_some"), 89_689.0 / 2e6 * 100.0);
    near(get("io_some"), 154.0 / 2e6 * 100.0);
    near(get("io_full"), 0.0);
    assert_eq!((get("memory_bytes"), get("cpu_limit"), get("read_bytes_per_s")), (None, None, None));
}

/// A unified hierarchy with one service, already sampled once.
fn begin() -> Session {
    let machine = Machine::new();
    let mountinfo =
        "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 22 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n";
    machine.put("/proc/self/mountinfo", mountinfo);
    machine.put(&format!("{TOP}/cgroup.stat"), "nr_descendants 1\nnr_dying_descendants 0\n");
    cpu(&machine, "", 1000);
    service(&machine, "/db.service");
    let mut session = machine.start(&SOURCE);
    session.tick(None);
    session
}

fn cpu(machine: &Machine, path: &str, us: u64) {
    let text = format!("usage_usec {us}\nuser_usec {}\nsystem_usec {}\n", us - us / 4, us / 4);
    machine.put(&format!("{TOP}{path}/cpu.stat"), text);
}

fn service(machine: &Machine, path: &str) {
    let put = |file: &str, text: &str| {
        machine.put(&format!("{TOP}{path}/{file}"), text);
    };
    cpu(machine, path, 1000);
    put("cpu.max", "150000 100000\n");
    put("memory.current", "5000000\n");
    put("memory.max", "8000000\n");
    put("memory.high", "7000000\n");
    put("pids.max", "20\n");
    put("pids.events", "max 3\n");
    put("memory.swap.current", "4096\n");
    put("memory.stat", "anon 3000000\nfile 1500000\nkernel 400000\npgmajfault 10\n");
    put("memory.events", "low 0\nhigh 0\nmax 7\noom 1\noom_kill 1\n");
    put("pids.current", "12\n");
    put(
        "io.stat",
        "8:0 rbytes=1000 wbytes=2000 rios=10 wios=20 dbytes=0 dios=0\n253:0 rbytes=1000 wbytes=2000 rios=9 wios=9\n",
    );
    put(
        "io.pressure",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=100\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=50\n",
    );
    machine.put("/sys/dev/block/253:0/slaves/sda/dev", "8:0");
}

#[test]
fn each_figure_of_a_busy_group_is_right() {
    let mut session = begin();
    let put = |file: &str, text: &str| {
        session.machine.put(&format!("{TOP}/db.service/{file}"), text);
    };
    put(
        "cpu.stat",
        "usage_usec 3001000\nuser_usec 2000750\nsystem_usec 1000250\nnr_periods 20\nnr_throttled 5\nthrottled_usec 500000\n",
    );
    put("memory.stat", "anon 3000001\nfile 1500002\nkernel 400003\npgmajfault 16\n");
    put("memory.events", "low 0\nhigh 4\nmax 9\noom 1\noom_kill 2\n");
    put("pids.events", "max 8\n");
    put(
        "io.stat",
        "8:0 rbytes=5000 wbytes=2000 rios=14 wios=20 dbytes=0 dios=0\n253:0 rbytes=5000 wbytes=2000 rios=9 wios=9\n",
    );
    put(
        "io.pressure",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=400100\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=200050\n",
    );
    let seen = session.tick(2.0);
    assert_eq!(seen.keys("cgroup"), [["/db.service"]], "the root did nothing");
    for (column, expected) in [
        ("cpu", 150.0),
        ("usr", 100.0),
        ("sys", 50.0),
        ("cpu_limit", 150.0),
        ("memory_bytes", 5_000_000.0),
        ("memory_limit_bytes", 8_000_000.0),
        ("anon_bytes", 3_000_001.0),
        ("file_bytes", 1_500_002.0),
        ("kernel_bytes", 400_003.0),
        ("swap_bytes", 4096.0),
        ("major_faults_per_s", 3.0),
        ("memory_limit_hits", 2.0),
        ("memory_high_bytes", 7_000_000.0),
        ("memory_high_hits", 4.0),
        ("task_limit", 20.0),
        ("task_limit_hits", 5.0),
        ("oom_kills", 1.0),
        // dm-0 (253:0) is stacked on sda, so its I/O is not counted again.
        ("read_bytes_per_s", 2000.0),
        ("write_bytes_per_s", 0.0),
        ("reads_per_s", 2.0),
        ("tasks", 12.0),
        ("io_some", 20.0),
        ("io_full", 10.0),
    ] {
        near(seen.value("cgroup", column, &["/db.service"]), expected);
    }
    // The quota's counters appeared with this sample: they have a growth from the next on.
    assert_eq!(seen.value("cgroup", "throttled", &["/db.service"]), None);
    session.machine.put(
        &format!("{TOP}/db.service/cpu.stat"),
        "usage_usec 3002000\nuser_usec 2000750\nsystem_usec 1000250\nnr_periods 40\nnr_throttled 10\nthrottled_usec 700000\n",
    );
    let seen = session.tick(2.0);
    near(seen.value("cgroup", "throttled", &["/db.service"]), 25.0);
    near(seen.value("cgroup", "throttled_time", &["/db.service"]), 10.0);
}

#[test]
fn an_idle_group_has_no_row_and_its_pressure_is_a_mean_since_it_was_busy() {
    let mut session = begin();
    assert_eq!(session.tick(1.0).count("cgroup"), 0);
    cpu(&session.machine, "/db.service", 2000);
    let text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000100\n";
    session.machine.put(&format!("{TOP}/db.service/io.pressure"), text);
    let seen = session.tick(1.0);
    near(seen.value("cgroup", "io_some", &["/db.service"]), 50.0);
    near(seen.value("cgroup", "cpu", &["/db.service"]), 0.1);
}

#[test]
fn groups_come_and_go_with_events_and_a_reset_gives_null() {
    let mut session = begin();
    service(&session.machine, "/app.slice/web.service");
    cpu(&session.machine, "/app.slice", 500);
    session.machine.put(&format!("{TOP}/cgroup.stat"), "nr_descendants 3\n");
    let seen = session.tick(1.0);
    assert_eq!(seen.events(), ["appeared /app.slice: control group", "appeared /app.slice/web.service: control group"]);
    assert_eq!(seen.count("cgroup"), 0);
    cpu(&session.machine, "/app.slice/web.service", 11_000);
    near(session.tick(1.0).value("cgroup", "cpu", &["/app.slice/web.service"]), 1.0);
    cpu(&session.machine, "/db.service", 10);
    session.machine.remove(&format!("{TOP}/app.slice"));
    session.machine.put(&format!("{TOP}/cgroup.stat"), "nr_descendants 1\n");
    let seen = session.tick(1.0);
    assert_eq!(seen.value("cgroup", "cpu", &["/db.service"]), None);
    let mut kinds: Vec<_> = seen.events().iter().map(|e| e.split(':').next().unwrap().to_owned()).collect();
    kinds.sort();
    assert_eq!(kinds, ["counter reset /db.service", "gone /app.slice", "gone /app.slice/web.service"]);
}

#[test]
fn too_many_groups_are_cut_off_with_a_note() {
    let session = begin();
    for i in 0..600 {
        cpu(&session.machine, &format!("/many-{i}"), 5);
    }
    let mut session = session.machine.start(&SOURCE);
    let notes = session.tick(None).notes();
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains("only the 512 groups"), "{notes:?}");
}

/// Version 1, as systemd mounted it: `cpu` and `cpuacct` together.
const ONE: &str = "30 22 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
31 22 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
32 22 0:28 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n\
33 22 0:29 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n";

fn put_one(machine: &Machine, file: &str, text: &str) {
    let (controller, name) = file.split_once('/').unwrap();
    machine.put(&format!("{TOP}/{controller}/db.service/{name}"), text);
}

fn set_one(machine: &Machine, round: u64) {
    let put = |file: &str, text: &str| put_one(machine, file, text);
    put("cpu,cpuacct/cpuacct.usage", &format!("{}\n", 1_000_000_000 * round));
    put("cpu,cpuacct/cpuacct.usage_user", &format!("{}\n", 600_000_000 * round));
    put("cpu,cpuacct/cpuacct.usage_sys", &format!("{}\n", 400_000_000 * round));
    let stat =
        format!("nr_periods {}\nnr_throttled {}\nthrottled_time {}\n", 10 * round, 4 * round, 300_000_000 * round);
    put("cpu,cpuacct/cpu.stat", &stat);
    put(
        "memory/memory.stat",
        &format!("rss 1\ntotal_rss 3000\ntotal_cache 2000\ntotal_swap 7\ntotal_pgmajfault {}\n", 6 * round),
    );
    put("pids/pids.events", &format!("max {}\n", 2 * round));
    put("memory/memory.failcnt", &format!("{}\n", 5 * round));
    put("memory/memory.oom_control", &format!("oom_kill_disable 0\nunder_oom 0\noom_kill {round}\n"));
    let of =
        |n: u64| format!("8:0 Read {}\n8:0 Write 10\n253:0 Read {}\n8:0 Total 99\nTotal 99\n", n * round, n * round);
    put("blkio/blkio.throttle.io_service_bytes_recursive", &of(4096));
    put("blkio/blkio.throttle.io_serviced_recursive", &of(2));
}

#[test]
fn groups_of_version_1_have_one_row_with_what_all_controllers_know() {
    let machine = Machine::new();
    machine.put("/proc/self/mountinfo", ONE);
    machine.put("/proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t4\t2\t1\n");
    machine.put("/sys/dev/block/253:0/slaves/sda/dev", "8:0");
    put_one(&machine, "cpu,cpuacct/cpu.cfs_quota_us", "150000\n");
    put_one(&machine, "cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    put_one(&machine, "memory/memory.usage_in_bytes", "5000\n");
    put_one(&machine, "memory/memory.limit_in_bytes", "9223372036854771712\n");
    put_one(&machine, "pids/pids.current", "12\n");
    put_one(&machine, "pids/pids.max", "40\n");
    machine.put(&format!("{TOP}/cpu,cpuacct/cpuacct.usage"), "1000\n");
    set_one(&machine, 1);
    let mut session = machine.start(&SOURCE);
    session.tick(None);
    set_one(&session.machine, 3);
    let seen = session.tick(2.0);
    assert_eq!(seen.keys("cgroup"), [["/db.service"]]);
    let get = |column: &str| seen.value("cgroup", column, &["/db.service"]);
    for (column, expected) in [
        ("cpu", 100.0),
        ("usr", 60.0),
        ("sys", 40.0),
        ("throttled", 40.0),
        ("throttled_time", 30.0),
        ("cpu_limit", 150.0),
        ("memory_bytes", 5000.0),
        ("anon_bytes", 3000.0),
        ("file_bytes", 2000.0),
        ("swap_bytes", 7.0),
        ("major_faults_per_s", 6.0),
        ("memory_limit_hits", 10.0),
        ("oom_kills", 2.0),
        ("read_bytes_per_s", 4096.0),
        ("write_bytes_per_s", 0.0),
        ("reads_per_s", 2.0),
        ("tasks", 12.0),
        ("task_limit", 40.0),
        ("task_limit_hits", 4.0),
    ] {
        near(get(column), expected);
    }
    assert_eq!((get("memory_limit_bytes"), get("cpu_some"), get("kernel_bytes")), (None, None, None));
    put_one(&session.machine, "cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    set_one(&session.machine, 4);
    assert_eq!(session.tick(1.0).value("cgroup", "cpu_limit", &["/db.service"]), None);
    for controller in ["cpu,cpuacct", "memory", "blkio", "pids"] {
        session.machine.remove(&format!("{TOP}/{controller}/db.service"));
    }
    session.machine.put("/proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t4\t1\t1\n");
    assert_eq!(session.tick(1.0).events(), ["gone /db.service: control group"]);
}

#[test]
fn without_control_groups_the_source_is_not_available() {
    let machine = Machine::new();
    machine.put("/proc/self/mountinfo", "30 22 0:26 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n");
    assert!(matches!(machine.try_start(&SOURCE), Err(SourceError::Unavailable { .. })));
}

#[test]
fn the_group_of_a_container_has_its_name_and_others_have_none() {
    let mut session = begin();
    let id = "c".repeat(64);
    let path = format!("/docker/{id}");
    session.machine.put(&format!("{TOP}/cgroup.stat"), "nr_descendants 3\nnr_dying_descendants 0\n");
    let config =
        r#"{"Name": "/web", "Config": {"Image": "nginx:1.27", "Labels": {"io.kubernetes.pod.name": "shop-0"}}}"#;
    session.machine.put(&format!("/var/lib/docker/containers/{id}/config.v2.json"), config);
    cpu(&session.machine, "/docker", 1000);
    service(&session.machine, &path);
    session.tick(1.0);
    cpu(&session.machine, &path, 5000);
    service(&session.machine, "/db.service");
    cpu(&session.machine, "/db.service", 9000);
    let seen = session.tick(1.0);
    let text = |group: &str, column: &str| seen.text("cgroup", column, &[group]);
    assert_eq!(text(&path, "container").as_deref(), Some("web"));
    assert_eq!(text(&path, "pod").as_deref(), Some("shop-0"));
    assert_eq!(text(&path, "image").as_deref(), Some("nginx:1.27"));
    assert_eq!((text(&path, "namespace"), text("/db.service", "container")), (None, None));
}
