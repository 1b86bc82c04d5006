//! The `cpu_time` collector on captured and made-up machines.

use std::fmt::Write;

use fenxi_model::{Micros, Rows, catalog::cpu_time};

use super::{SOURCE, parse};
use crate::{
    Source, Tick,
    testing::{Machine, Observed, Session, near, observe},
};

const MOUNTS: &str = "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n";
const GROUP: &str = "/sys/fs/cgroup/cpu,cpuacct";

fn machine(stat: &str, usage: &str) -> Machine {
    let machine = Machine::new();
    machine.put("/proc/self/mountinfo", MOUNTS).put("/proc/stat", stat);
    machine.put(&format!("{GROUP}/release_agent"), "").put(&format!("{GROUP}/cpuacct.usage_percpu"), usage);
    machine
}

fn next(session: &mut Session, stat: &str, usage: &str, dt: f64) -> Observed {
    session.machine.put("/proc/stat", stat).put(&format!("{GROUP}/cpuacct.usage_percpu"), usage);
    session.tick(dt)
}

#[test]
fn states_of_proc_stat_become_accounts_and_guests_are_not_counted_twice() {
    let (cpu, amounts) = parse(b"cpu3 1 2 3 4 5 6 7 8 1 2").unwrap();
    let ticks: Vec<_> = amounts.iter().map(|ns| ns.map(|ns| ns / 10_000_000)).collect();
    // usr 1+2, sys 3, irq 6+7, steal 8, idle 4+5.
    assert_eq!((cpu, &ticks[..]), (3, &[Some(3), Some(3), Some(13), Some(8), Some(9), None, None, None][..]));
    assert!(parse(b"cpu 1 2 3 4").is_none() && parse(b"cpu0 1 2 3").is_none() && parse(b"cpu0 1 x 3 4").is_none());
    let (_, old) = parse(b"cpu0 1 2 3 4").unwrap();
    assert_eq!((old[2], old[3]), (None, None), "a kernel without them does not say 0");
}

/// Captured on a VM of 2 CPUs (Linux 6.18) that others kept busy, about 2 s apart.
#[test]
fn two_captured_moments_give_each_account() {
    let seen = observe(&SOURCE, "cpu_time", 2.0);
    let value = |column, cpu| seen.value("cpu_time", column, &[cpu]);
    // cpu0: user +169, system +37, steal +1 ticks of 10 ms, nothing else; usage +2,078,105,533 ns.
    near(value("usr_cpus", "0"), 1.69 / 2.0);
    near(value("sys_cpus", "0"), 0.37 / 2.0);
    near(value("steal_cpus", "0"), 0.01 / 2.0);
    near(value("idle_cpus", "0"), 0.0);
    near(value("run_cpus", "0"), 2.078_105_533 / 2.0);
    // cpu1: user +199, system +7, steal +1; usage +2,075,260,872 ns; its idle states did not change.
    near(value("usr_cpus", ""), (1.69 + 1.99) / 2.0);
    near(value("run_cpus", ""), (2.078_105_533 + 2.075_260_872) / 2.0);
    near(value("idle_states_cpus", "1"), 0.0);
    assert!(seen.notes().is_empty() && seen.events().is_empty());
}

#[test]
fn ticks_and_measured_time_are_cpu_seconds_per_second() {
    let mut session = machine("cpu0 100 0 0 0 0 0 0 0\ncpu1 0 0 0 50 0 0 0 0\n", "5000000000 7 \n").start(&SOURCE);
    assert_eq!(session.tick(None).count("cpu_time"), 0);
    let stat = "cpu0 110 0 20 140 0 0 0 10\ncpu1 0 0 0 250 0 0 0 0\n";
    let seen = next(&mut session, stat, "6500000000 500000007 0 \n", 2.0);
    let value = |column, cpu| seen.value("cpu_time", column, &[cpu]);
    near(value("usr_cpus", "0"), 0.05);
    near(value("sys_cpus", "0"), 0.1);
    near(value("idle_cpus", "0"), 0.7);
    near(value("steal_cpus", "0"), 0.05);
    near(value("run_cpus", "0"), 0.75);
    near(value("run_cpus", "1"), 0.25);
    near(value("run_cpus", ""), 1.0);
    near(value("idle_cpus", ""), 1.7);
    assert_eq!(seen.text("cpu_time", "run_by", &[""]).as_deref(), Some("cpuacct"));
    assert_eq!(seen.text("cpu_time", "accounting", &[""]), None, "a saved machine cannot be watched");
    assert_eq!(value("idle_states_cpus", ""), None);
}

#[test]
fn a_reset_is_null_and_an_event_and_a_small_step_back_of_idle_is_neither() {
    let mut session = machine("cpu0 100 0 0 500 0 0 0 0\n", "5000000000\n").start(&SOURCE);
    session.tick(None);
    let seen = next(&mut session, "cpu0 100 0 0 490 0 0 0 0\n", "4000000000\n", 1.0);
    assert_eq!(seen.value("cpu_time", "run_cpus", &["0"]), None);
    assert_eq!(seen.value("cpu_time", "run_cpus", &[""]), None);
    assert_eq!(seen.text("cpu_time", "run_by", &[""]), None);
    near(seen.value("cpu_time", "idle_cpus", &["0"]), 0.0);
    assert_eq!(seen.events(), ["counter reset cpu_time: counter went back: run of cpu0"]);
    let seen = next(&mut session, "cpu0 3 0 0 590 0 0 0 0\n", "4250000000\n", 1.0);
    assert_eq!(seen.value("cpu_time", "usr_cpus", &["0"]), None);
    near(seen.value("cpu_time", "run_cpus", &[""]), 0.25);
    assert_eq!(seen.events(), ["counter reset cpu_time: counter went back: usr of cpu0"]);
}

#[test]
fn a_cpu_that_was_offline_begins_anew() {
    let two = "cpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\n";
    let mut session = machine(two, "0 0\n").start(&SOURCE);
    session.tick(None);
    let seen = next(&mut session, "cpu0 50 0 0 50 0 0 0 0\n", "500000000 0\n", 1.0);
    assert_eq!(seen.keys("cpu_time"), [["0"], [""]]);
    near(seen.value("cpu_time", "usr_cpus", &[""]), 0.5);
    let seen = next(&mut session, two, "600000000 900000000\n", 1.0);
    assert_eq!(seen.value("cpu_time", "run_cpus", &["1"]), None);
    assert_eq!(seen.value("cpu_time", "run_cpus", &[""]), None, "what is not known of one CPU is not known of all");
}

#[test]
fn idle_states_are_added_up() {
    let machine = machine("cpu0 0 0 0 0\n", "0\n");
    let state = |n: u32| format!("/sys/devices/system/cpu/cpu0/cpuidle/state{n}/time");
    machine.put(&state(0), "10\n").put(&state(1), "2000000\n");
    let mut session = machine.start(&SOURCE);
    session.tick(None);
    session.machine.put(&state(0), "500010\n").put(&state(1), "2250000\n");
    near(session.tick(1.0).value("cpu_time", "idle_states_cpus", &["0"]), 0.75);
}

#[test]
fn the_group_of_a_container_is_not_taken_for_the_machine() {
    let machine = machine("cpu0 0 0 0 0\n", "0\n");
    machine.remove(&format!("{GROUP}/release_agent"));
    machine.put("/proc/schedstat", "version 16\ncpu0 0 0 0 0 0 0 1000 5 6\n");
    let process = |ticks: u64| {
        let rest =
            "0 0 20 0 1 0 100 4096 1 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0";
        format!("7 (work) R 1 7 7 0 -1 0 0 0 0 0 {ticks} 0 {rest}\n")
    };
    machine.put("/proc/7/stat", process(100));
    let mut session = machine.start(&SOURCE);
    session.tick(None);
    session.machine.put("/proc/7/stat", process(130));
    session.machine.put("/proc/schedstat", "version 16\ncpu0 0 0 0 0 0 0 250001000 5 6\n");
    let seen = session.tick(1.0);
    near(seen.value("cpu_time", "run_cpus", &["0"]), 0.25);
    near(seen.value("cpu_time", "run_cpus", &[""]), 0.3);
    assert_eq!(seen.text("cpu_time", "run_by", &["0"]).as_deref(), Some("schedstat"));
    assert_eq!(seen.text("cpu_time", "run_by", &[""]).as_deref(), Some("processes"));
}

#[test]
fn averages_since_boot_are_whole_counters_over_the_uptime() {
    let machine = machine("cpu0 1000 0 0 9000 0 0 0 0\n", "20000000000\n");
    let mut collector = SOURCE.start(&machine.root()).unwrap();
    let mut rows = Rows::new("h");
    collector.sample(Tick::since_boot(Micros(0), 100.0), &mut rows).unwrap();
    let table = rows.of(&cpu_time::TABLE).unwrap();
    assert_eq!(table.f64(1, cpu_time::usr_cpus), Some(0.1));
    assert_eq!(table.f64(1, cpu_time::run_cpus), Some(0.2));
}

#[test]
fn two_hundred_and_fifty_six_cpus_add_up() {
    let write = |ticks: u64, ns: u64| {
        let (mut stat, mut usage) = ("cpu 1 1 1 1\n".to_owned(), String::new());
        for cpu in 0..256 {
            writeln!(stat, "cpu{cpu} {ticks} 0 0 {ticks} 0 0 0 0 0 0").unwrap();
            write!(usage, "{} ", ns + cpu).unwrap();
        }
        (stat, usage + "\n")
    };
    let (stat, usage) = write(1, 100);
    let mut session = machine(&stat, &usage).start(&SOURCE);
    session.tick(None);
    let (stat, usage) = write(51, 600_000_100);
    let seen = next(&mut session, &stat, &usage, 1.0);
    assert_eq!(seen.count("cpu_time"), 257);
    near(seen.value("cpu_time", "usr_cpus", &[""]), 128.0);
    near(seen.value("cpu_time", "idle_cpus", &[""]), 128.0);
    near(seen.value("cpu_time", "run_cpus", &[""]), 256.0 * 0.6);
    near(seen.value("cpu_time", "run_cpus", &["255"]), 0.6);
}
