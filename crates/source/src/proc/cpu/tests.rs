//! The `cpu` collector on captured and made-up contents of /proc/stat.

use super::SOURCE;
use crate::testing::{Machine, Observed, Session, near, observe};

const STATES: [&str; 10] = ["usr", "nice", "sys", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"];

fn sum(seen: &Observed, cpu: &str) -> f64 {
    STATES.iter().filter_map(|s| seen.value("cpu", s, &[cpu])).sum()
}

fn machine(stat: &str) -> Session {
    let machine = Machine::new();
    machine.put("/proc/stat", stat);
    let mut session = machine.start(&SOURCE);
    session.tick(None);
    session
}

fn next(session: &mut Session, stat: &str, dt: f64) -> Observed {
    session.machine.put("/proc/stat", stat);
    session.tick(dt)
}

#[test]
fn two_captured_moments_give_shares_of_each_cpu_s_own_ticks() {
    let seen = observe(&SOURCE, "cpu", 1.6);
    assert_eq!(seen.keys("cpu"), [["0"], ["1"], [""]]);
    // cpu1: user +147, system +13, idle +3, iowait +1, softirq +1.
    let total = 147.0 + 13.0 + 3.0 + 1.0 + 1.0;
    near(seen.value("cpu", "usr", &["1"]), 147.0 * 100.0 / total);
    near(seen.value("cpu", "sys", &["1"]), 13.0 * 100.0 / total);
    near(seen.value("cpu", "iowait", &["1"]), 100.0 / total);
    near(seen.value("cpu", "softirq", &["1"]), 100.0 / total);
    // cpu0: user +1, system +3, idle +159; both together: user 148 of 328.
    near(seen.value("cpu", "idle", &["0"]), 159.0 * 100.0 / 163.0);
    near(seen.value("cpu", "usr", &[""]), 148.0 * 100.0 / (163.0 + total));
    near(Some(sum(&seen, "0")), 100.0);
    near(Some(sum(&seen, "")), 100.0);
    assert!(seen.notes().is_empty() && seen.events().is_empty());
}

#[test]
fn a_guest_is_not_counted_twice() {
    let mut session = machine("cpu0 100 100 0 100 0 0 0 0 50 50\n");
    let seen = next(&mut session, "cpu0 140 120 0 140 0 0 0 0 80 60\n", 1.0);
    let all: Vec<_> = STATES.iter().map(|s| seen.value("cpu", s, &["0"]).unwrap()).collect();
    assert_eq!(all, [10.0, 10.0, 0.0, 40.0, 0.0, 0.0, 0.0, 0.0, 30.0, 10.0]);
}

#[test]
fn idle_and_iowait_may_step_back_a_little_but_not_far() {
    let mut session = machine("cpu0 0 0 0 1000 500 0 0 0 0 0\ncpu1 0 0 0 9000 0 0 0 0 0 0\n");
    let seen = next(&mut session, "cpu0 50 0 0 1050 498 0 0 0 0 0\ncpu1 10 0 0 10 0 0 0 0 0 0\n", 1.0);
    assert_eq!(seen.value("cpu", "usr", &["0"]), Some(50.0));
    assert_eq!(seen.value("cpu", "iowait", &["0"]), Some(0.0));
    assert_eq!(seen.value("cpu", "usr", &["1"]), None);
    assert_eq!(seen.value("cpu", "usr", &[""]), Some(50.0), "only what is known is added up");
    assert_eq!(seen.events(), ["counter reset cpu: counter went back: cpu1"]);
    let seen = next(&mut session, "cpu0 50 0 0 1150 498 0 0 0 0 0\ncpu1 60 0 0 60 0 0 0 0 0 0\n", 1.0);
    assert_eq!(seen.value("cpu", "usr", &["1"]), Some(50.0));
    assert!(seen.events().is_empty());
}

#[test]
fn ticks_of_32_bits_wrap() {
    let mut session = machine("cpu0 4294967270 0 0 0\n");
    let seen = next(&mut session, "cpu0 4 0 0 70\n", 1.0);
    assert_eq!(seen.value("cpu", "usr", &["0"]), Some(30.0));
    assert_eq!(seen.value("cpu", "iowait", &["0"]), None, "a kernel with four states");
}

#[test]
fn a_cpu_that_was_off_and_on_between_two_samples_is_no_wrap() {
    let mut session = machine("cpu0 5 0 0 3000000000\n");
    let seen = next(&mut session, "cpu0 6 0 0 12\n", 1.0);
    assert_eq!(seen.value("cpu", "idle", &["0"]), None);
    assert_eq!(seen.events(), ["counter reset cpu: counter went back: cpu0"]);
}

#[test]
fn a_cpu_that_goes_offline_and_returns_gives_events_and_no_bogus_shares() {
    let both = |a, b| format!("cpu {a} 0 0 0\ncpu0 {a} 0 0 {a}\ncpu1 {b} 0 0 0\nintr 5\n");
    let mut session = machine(&both(100, 100));
    let seen = next(&mut session, "cpu 0 0 0 0\ncpu0 150 0 0 150\nintr 5\n", 1.0);
    assert_eq!(seen.keys("cpu"), [["0"], [""]]);
    assert_eq!(seen.value("cpu", "usr", &[""]), Some(50.0), "the kernel's own sum went back");
    assert_eq!(seen.events(), ["gone cpu1: the CPU went offline"]);
    let seen = next(&mut session, &both(200, 7), 1.0);
    assert_eq!(seen.value("cpu", "usr", &["1"]), None);
    assert_eq!(seen.value("cpu", "usr", &[""]), Some(50.0));
    assert_eq!(seen.events(), ["appeared cpu1: the CPU went online"]);
    let seen = next(&mut session, &both(200, 107), 1.0);
    assert_eq!(seen.value("cpu", "usr", &["1"]), Some(100.0));
    assert!(seen.events().is_empty());
}

#[test]
fn a_cpu_without_ticks_slept_when_there_was_room_for_some() {
    let mut session = machine("cpu0 100 0 0 100\ncpu1 100 0 0 100\n");
    let seen = next(&mut session, "cpu0 200 0 0 100\ncpu1 100 0 0 100\n", 1.0);
    assert_eq!((seen.value("cpu", "idle", &["1"]), seen.value("cpu", "usr", &["1"])), (Some(100.0), Some(0.0)));
    assert_eq!(seen.value("cpu", "idle", &[""]), Some(50.0));
    let seen = next(&mut session, "cpu0 201 0 0 100\ncpu1 100 0 0 100\n", 0.01);
    assert_eq!(seen.value("cpu", "idle", &["1"]), None);
    assert_eq!(seen.value("cpu", "usr", &[""]), Some(100.0));
}

#[test]
fn a_machine_of_1024_cpus_is_read_whole() {
    let stat = |n: u64| {
        let line = |i: u64| format!("cpu{i} {} 0 {} {} 0 0 0 0 0 0\n", n * i, n * (1024 - i), n * 1024);
        let mut text = "cpu  0 0 0 0 0 0 0 0 0 0\n".to_owned();
        text.extend((0..1024).map(line));
        text + "intr 99 0 0\n"
    };
    let mut session = machine(&stat(1));
    let seen = next(&mut session, &stat(3), 1.0);
    assert_eq!(seen.count("cpu"), 1025);
    near(seen.value("cpu", "usr", &["512"]), 25.0);
    near(seen.value("cpu", "sys", &["0"]), 50.0);
    near(seen.value("cpu", "idle", &[""]), 50.0);
    near(seen.value("cpu", "usr", &[""]), 100.0 * (1023.0 / 2.0) / 2048.0);
}

#[test]
fn a_damaged_line_is_noted_once() {
    let mut session = machine("cpu0 1 2 3 4\ncpu1 1 x 3 4\n");
    let seen = next(&mut session, "cpu0 2 2 3 4\ncpu1 1 x 3 4\n", 1.0);
    assert_eq!(seen.keys("cpu"), [["0"], [""]]);
    assert!(seen.notes().is_empty(), "reported at the first sample");
}

#[test]
fn interrupts_are_added_up_by_cpu_and_null_when_a_line_came() {
    let machine = Machine::new();
    machine.put("/proc/stat", "cpu0 1 0 0 1\ncpu1 1 0 0 1\n");
    let lines = |a, b| format!("  CPU0 CPU1\n 24: {a} 5 edge eth0\nRES: 7 {b} Rescheduling interrupts\nERR: {a}\n");
    machine.put("/proc/interrupts", lines(100, 50));
    let mut session = machine.start(&SOURCE);
    session.tick(None);
    session.machine.put("/proc/interrupts", lines(300, 60));
    let seen = session.tick(2.0);
    let value = |seen: &Observed, column: &str| ["0", "1", ""].map(|cpu| seen.value("cpu", column, &[cpu]));
    assert_eq!(value(&seen, "intr_per_s"), [Some(100.0), Some(5.0), Some(105.0)]);
    assert_eq!(value(&seen, "cross_calls_per_s"), [Some(0.0), Some(5.0), Some(5.0)]);
    assert_eq!(value(&seen, "migrations_per_s"), [None; 3], "of a saved system nothing is counted");
    session.machine.put("/proc/interrupts", lines(400, 70) + "25: 900 900 edge new\n");
    assert_eq!(value(&session.tick(2.0), "intr_per_s"), [None; 3]);
    session.machine.put("/proc/interrupts", lines(500, 70) + "25: 900 902 edge new\n");
    assert_eq!(value(&session.tick(2.0), "intr_per_s"), [Some(50.0), Some(1.0), Some(51.0)]);
}

#[test]
fn the_frequency_of_all_cpus_is_the_mean() {
    let machine = Machine::new();
    machine.put("/proc/stat", "cpu0 1 0 0 1\ncpu1 1 0 0 1\n").put("/proc/sys/kernel/osrelease", "6.1.0");
    for (cpu, khz) in [(0, "2000000\n"), (1, "3000000\n")] {
        machine.put(&format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"), khz);
    }
    machine.put("/sys/devices/system/cpu/cpufreq/boost", "1\n");
    let mut session = machine.start(&SOURCE);
    session.tick(None);
    let seen = session.tick(1.0);
    assert_eq!(["0", "1", ""].map(|cpu| seen.value("cpu", "freq_hz", &[cpu])), [Some(2e9), Some(3e9), Some(2.5e9)]);
}

mod counted {
    //! On the running kernel, against its other accounts.

    use fenxi_model::{Micros, Rows, catalog::cpu};
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    use crate::{Collector, Root, Source, Tick, perf};

    struct Live {
        collector: Box<dyn Collector>,
        t: i64,
    }

    impl Live {
        fn start() -> Live {
            Live { collector: super::SOURCE.start(&Root::live()).unwrap(), t: 0 }
        }

        /// Counts in the interval, by CPU and then all together.
        fn tick(
            &mut self,
            dt: Option<f64>,
            place: fenxi_model::Place<cpu::Schema, fenxi_model::place::F64>,
        ) -> Vec<(String, f64)> {
            self.t += 1;
            let mut rows = Rows::new("here");
            self.collector.sample(Tick::new(Micros(self.t), dt), &mut rows).unwrap();
            let Some(cpus) = rows.of(&cpu::TABLE) else { return Vec::new() };
            (0..cpus.n_rows())
                .filter_map(|row| Some((cpus.str(row, cpu::cpu).unwrap_or("").to_owned(), cpus.f64(row, place)?)))
                .collect()
        }
    }

    #[expect(clippy::print_stderr, reason = "a skipped test prints it")]
    fn may() -> bool {
        let may = perf::Group::on_cpu(0, &[perf::MIGRATIONS]).is_ok();
        if !may {
            eprintln!("SKIPPED counters of CPUs: this kernel or user may not count all processes");
        }
        may
    }

    /// The CPUs this thread may use, and a way to go to one.
    fn cpus() -> Vec<usize> {
        let allowed = sched_getaffinity(None).unwrap();
        (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect()
    }

    fn go_to(cpu: usize) {
        let mut one = CpuSet::new();
        one.set(cpu);
        sched_setaffinity(None, &one).unwrap();
    }

    #[test]
    fn a_thread_that_is_moved_around_is_counted_where_it_comes_to() {
        let cpus = cpus();
        if !may() || cpus.len() < 2 {
            return;
        }
        std::thread::spawn(move || {
            let mut live = Live::start();
            live.tick(None, cpu::migrations_per_s);
            go_to(cpus[0]);
            live.tick(Some(1.0), cpu::migrations_per_s);
            let rounds = 50;
            for _ in 0..rounds {
                cpus.iter().skip(1).chain(cpus.first()).for_each(|cpu| go_to(*cpu));
            }
            let seen = live.tick(Some(1.0), cpu::migrations_per_s);
            // Others are moved as well meanwhile.
            for cpu in &cpus {
                let came = seen.iter().find(|(name, _)| *name == cpu.to_string()).unwrap().1;
                assert!(came >= f64::from(rounds), "{came} came to CPU {cpu}: {seen:?}");
            }
            let (all, each): (Vec<_>, Vec<_>) = seen.iter().partition(|(name, _)| name.is_empty());
            assert_eq!(all[0].1, each.iter().map(|(_, n)| n).sum::<f64>());
        })
        .join()
        .unwrap();
    }

    #[test]
    fn context_switches_add_up_to_those_that_proc_stat_has() {
        if !may() {
            return;
        }
        let ctxt = || -> f64 {
            let text = Root::live().read_text("/proc/stat").unwrap();
            let line = text.lines().find(|line| line.starts_with("ctxt ")).unwrap();
            line["ctxt ".len()..].parse().unwrap()
        };
        let mut live = Live::start();
        live.tick(None, cpu::context_switches_per_s);
        let before = ctxt();
        live.tick(Some(1.0), cpu::context_switches_per_s);
        let begin = ctxt();
        for _ in 0..1000 {
            std::thread::sleep(std::time::Duration::from_micros(50));
        }
        let end = ctxt();
        let seen = live.tick(Some(1.0), cpu::context_switches_per_s);
        let after = ctxt();
        let all = seen.iter().find(|(name, _)| name.is_empty()).unwrap().1;
        assert!(all >= end - begin && all <= after - before, "{} ≤ {all} ≤ {}", end - begin, after - before);
        assert!(all >= 1000.0, "{all}");
    }
}
