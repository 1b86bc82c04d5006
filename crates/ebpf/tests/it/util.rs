//! Time between switches is what tasks ran, as the kernel's own measure has it.

use std::{
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use fenxi_ebpf::util::Util;
use fenxi_model::catalog::cpu_time as c;

use crate::observed::Observed;

/// A process that does nothing but run, before all others where that is allowed; ended when dropped.
pub struct Hog(Child);

impl Hog {
    /// Begins one that may run on `cpu` only.
    pub fn on(cpu: usize) -> Hog {
        let mut command = Command::new("nice");
        command.args(["-n", "-20", "taskset", "-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"]);
        Hog(command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Nanoseconds that it ran, by its own clock.
    fn ran_ns(&self) -> u64 {
        self.schedstat()[0]
    }

    /// Nanoseconds that it could run and had no CPU, as the scheduler counts them.
    pub fn waited_ns(&self) -> u64 {
        self.schedstat()[1]
    }

    fn schedstat(&self) -> Vec<u64> {
        let text = fs_err::read_to_string(format!("/proc/{}/schedstat", self.pid())).unwrap();
        text.split_whitespace().map(|number| number.parse().unwrap()).collect()
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// CPUs that this process may use.
pub fn cpus() -> Vec<usize> {
    fenxi_procfs::online_cpus(&fenxi_procfs::Root::live()).unwrap().into_iter().collect()
}

/// Nanoseconds that all tasks ran, as the root control group counts them (version 1).
fn all_ran_ns() -> Option<u64> {
    ["cpuacct", "cpu,cpuacct"].iter().find_map(|name| {
        let text = fs_err::read_to_string(format!("/sys/fs/cgroup/{name}/cpuacct.usage")).ok()?;
        text.trim().parse().ok()
    })
}

/// Seconds that the hypervisor took, of all CPUs.
fn stolen_s() -> f64 {
    let text = fs_err::read_to_string("/proc/stat").unwrap();
    text.lines().next().unwrap().split_whitespace().nth(8).map_or(0.0, |ticks| ticks.parse::<f64>().unwrap() / 100.0)
}

#[test]
fn what_switches_say_agrees_with_a_load_s_own_clock() {
    let hogs: Vec<Hog> = cpus().into_iter().map(Hog::on).collect();
    thread::sleep(Duration::from_millis(300));
    let Some(before_all) = all_ran_ns() else {
        eprintln!("SKIPPED util against a load's own clock: no cpuacct group with the CPU time of all others");
        return;
    };
    let (load_before, stolen) = (hogs.iter().map(Hog::ran_ns).sum::<u64>(), stolen_s());
    let Some(mut observed) = Observed::begin(&Util) else { return };
    let inner_before = all_ran_ns().unwrap();
    thread::sleep(Duration::from_secs(3));
    let inner_after = all_ran_ns().unwrap();
    let rows = observed.read();
    let after_all = all_ran_ns().unwrap();
    let load = (hogs.iter().map(Hog::ran_ns).sum::<u64>() - load_before) as f64 / 1e9;
    let stolen = stolen_s() - stolen;
    let table = rows.of(&c::TABLE).unwrap();
    let all = (0..table.n_rows()).find(|row| table.str(*row, c::cpu).is_none()).unwrap();
    assert_eq!(table.str(all, c::run_by), Some("switches"));
    let run = table.f64(all, c::run_cpus).unwrap() * table.f64(all, c::dt).unwrap();
    let (smallest, most) = ((inner_after - inner_before) as f64 / 1e9, (after_all - before_all) as f64 / 1e9);
    eprintln!(
        "switches {run:.4} s; all ran {smallest:.4} to {most:.4} s, of it the load {load:.4} s, stolen {stolen:.2} s"
    );
    // The load's time by events is `run` less that of all others by the kernel's measure, which is up to a tick late.
    let allowed = 0.01 * load + 0.005 * hogs.len() as f64;
    assert!(run >= smallest - allowed && run <= most + allowed + stolen, "{run}, {smallest} to {most}, load {load}");
    let ticks = table.f64(all, c::tick_cpus).unwrap() * table.f64(all, c::dt).unwrap();
    assert!((ticks - run).abs() < 0.1 * run, "a load that does not hide is seen by ticks: {ticks} of {run}");
}
