//! Facts of a captured machine and of written ones.

use super::SOURCE;
use crate::testing::{Machine, Observed, fixture};

fn fact(seen: &Observed, topic: &str, name: &str) -> Option<String> {
    seen.has("text", &[topic, name]).then(|| seen.text("text", "value", &[topic, name]).unwrap())
}

/// The facts at the start on a machine with these files.
fn facts(files: &[(&str, &str)]) -> Observed {
    let machine = Machine::new();
    files.iter().for_each(|(path, text)| {
        machine.put(path, text);
    });
    machine.start(&SOURCE).tick(None)
}

#[test]
fn the_captured_machine_is_described() {
    let machine = Machine::new();
    machine.copy(&fixture("facts"));
    let seen = machine.start(&SOURCE).tick(None);
    let get =
        |topic, name| fact(&seen, topic, name).unwrap_or_else(|| panic!("no {topic} {name}: {:?}", seen.keys("text")));
    assert!(get("kernel", "release").starts_with("6.18"));
    assert_eq!(get("kernel", "hostname"), "vm");
    assert_eq!(get("cpu", "processors"), "2");
    assert_eq!(get("cpu", "online"), "0-1");
    assert_eq!(get("virtualisation", "hypervisor flag"), "yes");
    assert!(get("cpu", "flags").contains(" avx2 "));
    assert!(get("vulnerability", "meltdown").len() > 3);
    assert!(get("block", "vda scheduler").contains('['));
    assert!(get("mount", "/").starts_with("/dev/vda ext4 rw,"));
    assert_eq!(get("sysctl", "vm.swappiness"), "60");
    assert_eq!(get("sysctl", "net.ipv4.tcp_rmem").split(' ').count(), 3);
    assert!(get("ulimit", "open files").ends_with("files"));
    assert!(get("thp", "enabled").contains('['));
    // Amounts in use, counters and loop devices without a file are no facts.
    for (topic, name) in [("memory", "MemFree"), ("sysctl", "fs.file-nr"), ("block", "loop0 scheduler")] {
        assert_eq!(fact(&seen, topic, name), None, "{topic} {name}");
    }
    assert!(seen.keys("text").len() > 100);
}

#[test]
fn what_changed_between_start_and_end_is_an_event() {
    let machine = Machine::new();
    machine.put("/proc/sys/vm/swappiness", "60\n").put("/proc/sys/vm/laptop_mode", "0\n");
    machine.put("/proc/sys/fs/file-nr", "100 0 9\n").put("/proc/self/mounts", "/dev/sda1 / ext4 rw 0 0\n");
    let mut session = machine.start(&SOURCE);
    assert_eq!(session.tick(None).text("text", "phase", &["sysctl", "vm.swappiness"]).as_deref(), Some("start"));
    session.machine.put("/proc/sys/vm/swappiness", "10\n").put("/proc/sys/fs/file-nr", "200 0 9\n");
    session.machine.remove("/proc/sys/vm/laptop_mode");
    session.machine.put("/proc/self/mounts", "/dev/sda1 / ext4 ro 0 0\n/dev/sdb1 /my\\040data xfs rw 0 0\n");
    let seen = session.tick(60.0);
    assert_eq!(seen.text("text", "phase", &["sysctl", "vm.swappiness"]).as_deref(), Some("end"));
    let mut events = seen.events();
    events.sort();
    assert_eq!(
        events,
        [
            "fact changed mount./: /dev/sda1 ext4 rw -> /dev/sda1 ext4 ro",
            "fact changed mount./my data: (none) -> /dev/sdb1 xfs rw",
            "fact changed sysctl.vm.laptop_mode: 0 -> (none)",
            "fact changed sysctl.vm.swappiness: 60 -> 10",
        ]
    );
}

#[test]
fn topology_is_counted_by_socket_die_and_core() {
    let mut files = Vec::new();
    for (cpu, socket, core) in [(0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1), (4, 0, 0), (5, 0, 1), (6, 1, 0), (7, 1, 1)]
    {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/topology");
        files.push((format!("{folder}/physical_package_id"), socket.to_string()));
        files.push((format!("{folder}/core_id"), core.to_string()));
    }
    for cpu in 0..8 {
        let governor = if cpu == 3 { "powersave" } else { "performance" };
        let path = format!("/sys/devices/system/cpu/cpufreq/policy{cpu}/scaling_governor");
        files.push((path, governor.to_owned()));
    }
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let seen = facts(&files);
    let get = |name| fact(&seen, "cpu", name).unwrap();
    assert_eq!((get("sockets"), get("cores"), get("threads")), ("2".into(), "4".into(), "8".into()));
    assert_eq!(get("threads per core"), "2");
    assert_eq!(get("threads of cores"), "0,4 1,5 2,6 3,7");
    let governor = fact(&seen, "cpufreq", "scaling_governor").unwrap();
    assert_eq!(governor, "performance (CPU 0,1,2,4,5,6,7); powersave (CPU 3)");
}

#[test]
fn limits_of_the_own_groups_are_found_in_both_versions() {
    let seen = facts(&[
        ("/proc/self/mounts", "c /cg/cpu cgroup rw,cpu,cpuacct 0 0\nc2 /cg/unified cgroup2 rw 0 0\n"),
        ("/proc/self/cgroup", "4:cpu,cpuacct:/job\n0::/user.slice\n"),
        ("/cg/cpu/job/cpu.cfs_quota_us", "50000\n"),
        ("/cg/unified/user.slice/memory.max", "1073741824\n"),
    ]);
    assert_eq!(fact(&seen, "cgroup", "cpu.cfs_quota_us").as_deref(), Some("50000"));
    assert_eq!(fact(&seen, "cgroup", "memory.max").as_deref(), Some("1073741824"));
    assert_eq!(fact(&seen, "cgroup", "version 2").as_deref(), Some("/user.slice"));
}

#[test]
fn settings_of_single_interfaces_and_secrets_are_left_out() {
    let seen = facts(&[
        ("/proc/sys/net/ipv4/conf/all/rp_filter", "1\n"),
        ("/proc/sys/net/ipv4/conf/eth0/rp_filter", "1\n"),
        ("/proc/sys/net/ipv4/tcp_fastopen_key", "secret\n"),
        ("/proc/sys/kernel/random/uuid", "different each time\n"),
    ]);
    assert_eq!(seen.keys("text"), [["sysctl", "net.ipv4.conf.all.rp_filter"]]);
}

#[test]
fn a_long_fact_is_cut_and_marked() {
    let seen = facts(&[("/proc/cmdline", "ä".repeat(9000).as_str())]);
    let value = fact(&seen, "kernel", "command line").unwrap();
    assert!(value.ends_with("ä…") && value.len() <= 8192 + 3);
}

/// Pairs of what is asked for and in effect, those that differ.
fn not_in_effect(seen: &Observed) -> Vec<(String, String, String)> {
    let names = seen.keys("text").into_iter().filter(|key| key[0] == "asked").map(|key| key[1].clone());
    let pair = |name: String| {
        let [wanted, actual] = ["asked", "in effect"].map(|topic| fact(seen, topic, &name).unwrap());
        (name, wanted, actual)
    };
    names.map(pair).filter(|(_, wanted, actual)| wanted != actual).collect()
}

/// Files of a machine on which ten settings are asked for, and what must be in effect for them not to be.
const ASKED: &[(&str, &str)] = &[
    (
        "/etc/sysctl.d/50-db.conf",
        "# our database\nvm.swappiness = 1\nvm/dirty_ratio=10\nnet.ipv4.tcp_rmem=4096 87380 6291456\n",
    ),
    ("/etc/sysctl.d/90-later.conf", "vm.dirty_ratio = 10\n"),
    (
        "/proc/cmdline",
        "quiet transparent_hugepage=never isolcpus=managed_irq,2,3 clocksource=tsc hugepages=512 nohz_full=2-3",
    ),
    ("/etc/default/cpufrequtils", "GOVERNOR=\"performance\"\n"),
    ("/etc/fstab", "UUID=1 /data xfs defaults,noatime,nofail 0 2\n"),
    ("/proc/self/cgroup", "0::/a/b\n"),
    ("/sys/fs/cgroup/a/b/memory.max", "4294967296\n"),
    ("/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n"),
];
const IN_EFFECT: &[(&str, &str)] = &[
    ("/proc/sys/vm/swappiness", "1\n"),
    ("/proc/sys/vm/dirty_ratio", "10\n"),
    ("/proc/sys/net/ipv4/tcp_rmem", "4096\t87380\t6291456\n"),
    ("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n"),
    ("/sys/devices/system/cpu/isolated", "2-3\n"),
    ("/sys/devices/system/cpu/nohz_full", "2,3\n"),
    ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("/proc/sys/vm/nr_hugepages", "512\n"),
    ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
    ("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n"),
    ("/proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n/dev/sda /data xfs rw,noatime,attr2 0 0\n"),
    ("/sys/fs/cgroup/a/memory.max", "max\n"),
    ("/sys/fs/cgroup/a/cpu.max", "max 100000\n"),
];

#[test]
fn settings_that_are_in_effect_are_not_reported() {
    let files: Vec<_> = ASKED.iter().chain(IN_EFFECT).copied().collect();
    let seen = facts(&files);
    assert_eq!(not_in_effect(&seen), []);
    let asked = seen.keys("text").into_iter().filter(|key| key[0] == "asked").count();
    assert_eq!(asked, 12, "{:?}", seen.keys("text"));
    // Of what cannot be read, nothing is known.
    assert_eq!(not_in_effect(&facts(ASKED)), []);
}

#[test]
fn each_setting_that_is_asked_for_and_not_in_effect_is_found_alone() {
    let changes: &[(&str, &str, &str, &str, &str)] = &[
        ("/proc/sys/vm/swappiness", "60\n", "sysctl vm.swappiness", "1", "60"),
        (
            "/proc/sys/net/ipv4/tcp_rmem",
            "4096 131072 6291456\n",
            "sysctl net.ipv4.tcp_rmem",
            "4096 87380 6291456",
            "4096 131072 6291456",
        ),
        (
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "[always] madvise never\n",
            "kernel parameter transparent_hugepage",
            "never",
            "always",
        ),
        ("/sys/devices/system/cpu/isolated", "\n", "kernel parameter isolcpus", "2-3", "none"),
        ("/sys/devices/system/cpu/nohz_full", "3\n", "kernel parameter nohz_full", "2-3", "3"),
        (
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            "hpet\n",
            "kernel parameter clocksource",
            "tsc",
            "hpet",
        ),
        ("/proc/sys/vm/nr_hugepages", "300\n", "kernel parameter hugepages", "512", "300"),
        (
            "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
            "powersave\n",
            "CPU frequency governor",
            "performance",
            "performance, powersave",
        ),
        (
            "/proc/self/mounts",
            "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n/dev/sda /data xfs rw,relatime 0 0\n",
            "mount options of /data",
            "noatime",
            "none of them",
        ),
        ("/sys/fs/cgroup/a/memory.max", "1073741824\n", "memory.max of /a/b, in bytes", "4294967296", "1073741824"),
        ("/sys/fs/cgroup/a/cpu.max", "200000 100000\n", "cpu.max of /a/b, in CPUs", "4", "2"),
        ("/etc/sysctl.d/90-later.conf", "vm.dirty_ratio=20\n", "sysctl vm.dirty_ratio", "20", "10"),
    ];
    for (path, text, name, wanted, actual) in changes {
        let files: Vec<_> = ASKED.iter().chain(IN_EFFECT).copied().chain([(*path, *text)]).collect();
        let found = not_in_effect(&facts(&files));
        assert_eq!(found, [((*name).to_owned(), (*wanted).to_owned(), (*actual).to_owned())], "{path}");
    }
    // A later file that reverses an earlier one is in effect: the earlier one is not.
    let reversed = [("/etc/sysctl.d/90-later.conf", "vm.dirty_ratio=20\n"), ("/proc/sys/vm/dirty_ratio", "20\n")];
    let files: Vec<_> = ASKED.iter().chain(IN_EFFECT).copied().chain(reversed).collect();
    let found = not_in_effect(&facts(&files));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].0.ends_with("which /etc/sysctl.d/90-later.conf reverses"), "{found:?}");
    // Settings in an image's files are not asked of the machine.
    let files: Vec<_> =
        files.into_iter().chain([("/.dockerenv", ""), ("/etc/sysctl.d/95.conf", "vm.swappiness=7\n")]).collect();
    assert_eq!(not_in_effect(&facts(&files)), []);
}

#[test]
fn a_btrfs_has_its_devices_and_layouts() {
    let seen = facts(&[
        ("/sys/fs/btrfs/features/raid56", "0"),
        ("/sys/fs/btrfs/1f-2a/devices/loop0/size", "1"),
        ("/sys/fs/btrfs/1f-2a/devices/loop1/size", "1"),
        ("/sys/fs/btrfs/1f-2a/allocation/data/raid0/used_bytes", "1"),
        ("/sys/fs/btrfs/1f-2a/allocation/data/flags", "1"),
        ("/sys/fs/btrfs/1f-2a/allocation/metadata/raid1/used_bytes", "1"),
    ]);
    assert_eq!(fact(&seen, "block", "btrfs 1f-2a devices").as_deref(), Some("loop0 loop1"));
    assert_eq!(fact(&seen, "block", "btrfs 1f-2a data profile").as_deref(), Some("raid0"));
    assert_eq!(fact(&seen, "block", "btrfs 1f-2a metadata profile").as_deref(), Some("raid1"));
    assert_eq!(fact(&seen, "block", "btrfs features devices"), None);
}

#[test]
fn idle_states_are_known_with_what_leaving_them_costs() {
    let state = |n: u32| format!("/sys/devices/system/cpu/cpu0/cpuidle/state{n}");
    let seen = facts(&[
        (&format!("{}/name", state(0)), "POLL"),
        (&format!("{}/latency", state(0)), "0"),
        (&format!("{}/name", state(1)), "C6"),
        (&format!("{}/latency", state(1)), "133"),
        (&format!("{}/disable", state(1)), "1"),
    ]);
    assert_eq!(fact(&seen, "cpu", "idle state 0").as_deref(), Some("POLL, exit latency 0 us"));
    assert_eq!(fact(&seen, "cpu", "idle state 1").as_deref(), Some("C6, exit latency 133 us, disabled"));
}
