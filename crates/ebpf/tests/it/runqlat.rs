//! Waits for a CPU are what the scheduler itself counts as a task's delay.

use std::{
    process::Command,
    thread,
    time::{Duration, Instant},
};

use fenxi_ebpf::{Tracked, runqlat::Runqlat};
use fenxi_model::{
    Rows,
    catalog::{histogram as h, run_queue as c},
};
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    observed::Observed,
    util::{Hog, cpus},
};

/// Seconds that a process waited, and how often, on `cpu` or on all; nothing when no wait at all ended.
fn waited(rows: &Rows, pid: u32, cpu: Option<usize>) -> (f64, f64) {
    let Some(table) = rows.of(&c::TABLE) else { return (0.0, 0.0) };
    let of_it = |row: &usize| {
        let cpu = cpu.map(|cpu| cpu.to_string());
        table.i64(*row, c::pid) == Some(i64::from(pid))
            && cpu.is_none_or(|cpu| table.str(*row, c::cpu) == Some(cpu.as_str()))
    };
    let sum = |place| (0..table.n_rows()).filter(of_it).filter_map(|row| table.f64(row, place)).sum();
    (sum(c::waited_s), sum(c::waits))
}

/// Waiting time seen of each hog, and the scheduler's counts before it was read and behind it.
struct Moment(Vec<(f64, [u64; 2])>);

impl Moment {
    fn of(observed: &mut Observed, hogs: &[Hog]) -> Moment {
        let before: Vec<u64> = hogs.iter().map(Hog::waited_ns).collect();
        let rows = observed.read();
        let of = |(hog, before): (&Hog, u64)| (waited(rows, hog.pid(), None).0, [before, hog.waited_ns()]);
        Moment(hogs.iter().zip(before).map(of).collect())
    }

    /// After the waits have ended that had begun before the observer did: it does not see those.
    fn after_the_first_waits(observed: &mut Observed, hogs: &[Hog]) -> Moment {
        let before: Vec<u64> = hogs.iter().map(Hog::waited_ns).collect();
        let began = Instant::now();
        while hogs.iter().zip(&before).any(|(hog, before)| hog.waited_ns() == *before) && began.elapsed().as_secs() < 5
        {
            thread::sleep(Duration::from_millis(10));
        }
        Moment::of(observed, hogs)
    }
}

/// Whether what was seen between two moments is what the scheduler counted meanwhile.
fn agrees(before: &Moment, after: &Moment) {
    for ((seen_before, before), (seen, after)) in before.0.iter().zip(&after.0) {
        let seen = seen - seen_before;
        let (least, most) = (after[0].saturating_sub(before[1]) as f64 / 1e9, (after[1] - before[0]) as f64 / 1e9);
        eprintln!("waited {seen:.4} s, the scheduler counted {least:.4} to {most:.4} s");
        // A wait may end between two readings.
        assert!(seen > 0.99 * least - 0.03 && seen < 1.01 * most + 0.03, "{seen} of {least} to {most}");
    }
}

/// Whether the histogram of what the hogs are called has as many waits as the table has.
fn distribution_is_whole(rows: &Rows) {
    let (table, histogram) = (rows.of(&c::TABLE).unwrap(), rows.of(&h::TABLE).unwrap());
    let waits: f64 = (0..table.n_rows()).filter_map(|row| table.f64(row, c::waits)).sum();
    for family in ["cpu=", "comm="] {
        let of_it = |row: &usize| histogram.str(*row, h::labels).is_some_and(|labels| labels.starts_with(family));
        let counted: f64 = (0..histogram.n_rows()).filter(of_it).filter_map(|row| histogram.f64(row, h::count)).sum();
        assert_eq!(counted, waits, "{family}");
    }
}

#[test]
fn two_that_share_a_cpu_wait_as_long_as_the_scheduler_says() {
    let cpu = cpus()[0];
    let hogs = [Hog::on(cpu), Hog::on(cpu)];
    thread::sleep(Duration::from_millis(300));
    let tracked = Tracked::Processes(hogs.iter().map(Hog::pid).collect());
    let Some(mut observed) = Observed::begin(&Runqlat { tracked }) else { return };
    let before = Moment::after_the_first_waits(&mut observed, &hogs);
    let began = Instant::now();
    thread::sleep(Duration::from_secs(2));
    let after = Moment::of(&mut observed, &hogs);
    let elapsed = began.elapsed().as_secs_f64();
    agrees(&before, &after);
    let both: f64 = before.0.iter().zip(&after.0).map(|(before, after)| after.0 - before.0).sum();
    // One of the two waits at any time; both, while others have the CPU. A wait that goes on is not seen yet.
    assert!(both > 0.9 * elapsed - 0.05 && both < 2.0 * elapsed + 0.05, "{both} s of {elapsed}");
    let rows = &observed.rows;
    let table = rows.of(&c::TABLE).unwrap();
    // Each may have begun to wait where it was made, and be moved in time for the first reading only.
    let outside = (0..table.n_rows()).filter(|row| table.str(*row, c::cpu) != Some(cpu.to_string().as_str()));
    let waits: f64 = outside.filter_map(|row| table.f64(row, c::waits)).sum();
    assert!(waits <= 2.0, "{waits} waits were seen on another CPU");
    distribution_is_whole(rows);
}

#[test]
fn who_is_stopped_does_not_wait_and_who_is_moved_takes_the_wait_along() {
    let cpus = cpus();
    let Some(other) = cpus.get(1) else {
        eprintln!("SKIPPED runqlat of what moves to another CPU: there is one CPU");
        return;
    };
    // This thread is to have its share beside processes of that priority; without the right to it the test takes longer.
    let _ = rustix::process::setpriority_process(None, -20);
    let hogs = [Hog::on(cpus[0]), Hog::on(cpus[0]), Hog::on(*other)];
    thread::sleep(Duration::from_millis(300));
    let tracked = Tracked::Processes(hogs.iter().map(Hog::pid).collect());
    let Some(mut observed) = Observed::begin(&Runqlat { tracked }) else { return };
    let before = Moment::after_the_first_waits(&mut observed, &hogs);
    let first = Pid::from_raw(i32::try_from(hogs[0].pid()).unwrap()).unwrap();
    for turn in 0..10 {
        let cpu = cpus[turn % 2].to_string();
        let moved = Command::new("taskset").args(["-p", "-c", &cpu, &first.to_string()]).output().unwrap();
        assert!(moved.status.success());
        thread::sleep(Duration::from_millis(100));
        kill_process(first, Signal::STOP).unwrap();
        thread::sleep(Duration::from_millis(100));
        kill_process(first, Signal::CONT).unwrap();
    }
    agrees(&before, &Moment::of(&mut observed, &hogs));
    let rows = &observed.rows;
    for cpu in &cpus[..2] {
        let (seconds, waits) = waited(rows, hogs[0].pid(), Some(*cpu));
        assert!(waits > 0.0 && seconds > 0.0, "nothing was seen on CPU {cpu}");
    }
}
