//! Threads of a made-up /proc, by what they wait for.

use super::{SOURCE, Waits};
use crate::{
    Collector, Root, Source, SourceError, Spec,
    testing::{Machine, near},
};

/// The source of a recorder that is process 1.
struct OfProcessOne;

impl Source for OfProcessOne {
    fn spec(&self) -> &'static Spec {
        SOURCE.spec()
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        Ok(Box::new(Waits::start(root, Some(1), true)?))
    }
}

fn stat(id: u32, comm: &str, ppid: u32, threads: u32) -> String {
    format!(
        "{id} ({comm}) S {ppid} 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 77 1 1 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0\n"
    )
}

fn thread(machine: &Machine, (pid, tid): (u32, u32), slices: u64, function: &str) {
    machine.put(&format!("/proc/{pid}/task/{tid}/schedstat"), format!("{slices}00000 0 {slices}\n"));
    machine.put(&format!("/proc/{pid}/task/{tid}/wchan"), function);
    let state = if function == "0" { ") R " } else { ") S " };
    machine.put(&format!("/proc/{pid}/task/{tid}/stat"), stat(tid, "app", 1, 1).replace(") S ", state));
}

#[test]
fn threads_that_ran_are_counted_by_what_they_wait_for() {
    let machine = Machine::new();
    machine.put("/proc/7/stat", stat(7, "app", 1, 4)).put("/proc/7/wchan", "futex_do_wait");
    for tid in [7, 71, 72, 73] {
        thread(&machine, (7, tid), 5, "futex_do_wait");
    }
    machine.put("/proc/30/stat", stat(30, "kworker", 2, 1)).put("/proc/30/wchan", "worker_thread");
    thread(&machine, (30, 30), 5, "worker_thread");
    let mut session = machine.start(&SOURCE);
    assert_eq!(session.tick(None).count("thread_wait"), 0, "the first look only learns");
    // Two wait for a lock, one runs, one only woke up twice; threads of the kernel are none of a program.
    thread(&session.machine, (7, 7), 7, "futex_wait_queue");
    thread(&session.machine, (7, 71), 60, "futex_wait_queue.isra.0");
    thread(&session.machine, (7, 72), 90, "futex_wait_queue");
    thread(&session.machine, (7, 73), 90, "0");
    thread(&session.machine, (30, 30), 9, "worker_thread");
    let seen = session.tick(1.0);
    assert_eq!(seen.count("thread_wait"), 2);
    near(seen.value("thread_wait", "threads", &["7", "app", "lock", "futex_wait_queue"]), 2.0);
    near(seen.value("thread_wait", "threads", &["7", "app", "run", ""]), 1.0);
    assert_eq!(session.tick(1.0).count("thread_wait"), 0, "none ran");
    // Of a process that may not be traced the kernel prints `0` whatever its threads do.
    thread(&session.machine, (7, 72), 190, "0");
    session.machine.put("/proc/7/task/72/stat", stat(72, "app", 1, 1));
    assert_eq!(session.tick(1.0).count("thread_wait"), 0, "it sleeps");
}

#[test]
fn several_threads_at_one_address_wait_for_a_mutex() {
    let machine = Machine::new();
    machine.put("/proc/7/stat", stat(7, "app", 1, 5)).put("/proc/7/wchan", "futex_do_wait");
    let tids = [7, 71, 72, 73, 74];
    let wait = |machine: &Machine, slices, calls: [&str; 5]| {
        for (tid, call) in tids.iter().zip(calls) {
            thread(machine, (7, *tid), slices, "futex_do_wait");
            machine.put(
                &format!("/proc/7/task/{tid}/syscall"),
                format!("{} {call} 0x0 0x0 0x7ffd 0x7f01\n", libc::SYS_futex),
            );
        }
    };
    let [mutex, other, condition] = ["0x7f10 0x80 0x2 0x0", "0x7f50 0x80 0x2 0x0", "0x7f90 0x189 0x0 0x0"];
    wait(&machine, 5, [condition; 5]);
    let mut session = machine.start(&SOURCE);
    session.tick(None);
    wait(&session.machine, 90, [mutex, mutex, mutex, other, condition]);
    let lock = ["7", "app", "lock", "futex_do_wait"];
    let seen = session.tick(1.0);
    near(seen.value("thread_wait", "threads", &lock), 5.0);
    near(seen.value("thread_wait", "mutex", &lock), 3.0);
    wait(&session.machine, 190, [condition; 5]);
    near(session.tick(1.0).value("thread_wait", "mutex", &lock), 0.0);
    wait(&session.machine, 290, [mutex; 5]);
    session.machine.remove("/proc/7/task/73/syscall");
    let seen = session.tick(1.0);
    near(seen.value("thread_wait", "threads", &lock), 5.0);
    assert_eq!(seen.value("thread_wait", "mutex", &lock), None, "of one it is not known what it waits for");
}

#[test]
fn of_the_command_a_thread_counts_that_is_held_up_for_long() {
    let machine = Machine::new();
    machine.put("/proc/1/stat", stat(1, "fenxi", 0, 1)).put("/proc/1/wchan", "do_epoll_wait");
    machine.put("/proc/7/stat", stat(7, "app", 1, 3)).put("/proc/7/wchan", "futex_do_wait");
    for (tid, function) in [(7, "futex_do_wait"), (71, "sk_stream_wait_memory"), (72, "futex_do_wait")] {
        thread(&machine, (7, tid), 5, function);
    }
    let mut session = machine.start(&OfProcessOne);
    session.tick(None);
    // None of its threads ran: one is held up by its peer, the main thread waits for it, the third may have nothing to do.
    let seen = session.tick(1.0);
    assert_eq!(seen.count("thread_wait"), 1);
    near(seen.value("thread_wait", "threads", &["7", "app", "send", "sk_stream_wait_memory"]), 1.0);
    assert_eq!(
        seen.text("thread_wait", "role", &["7", "app", "send", "sk_stream_wait_memory"]).as_deref(),
        Some("command")
    );
    // When no other is at anything, the main thread shows what the program waits for.
    thread(&session.machine, (7, 71), 5, "futex_do_wait");
    let seen = session.tick(1.0);
    assert_eq!(seen.count("thread_wait"), 1);
    near(seen.value("thread_wait", "threads", &["7", "app", "lock", "futex_do_wait"]), 1.0);
}

#[test]
fn helpers_that_park_are_not_at_a_lock_and_threads_that_take_turns_are() {
    let machine = Machine::new();
    machine.put("/proc/7/stat", stat(7, "app", 1, 5)).put("/proc/7/wchan", "futex_do_wait");
    let run = |machine: &Machine, slices: [u64; 5]| {
        for (tid, slices) in [7, 71, 72, 73, 74].into_iter().zip(slices) {
            thread(machine, (7, tid), slices, if tid == 7 { "0" } else { "futex_do_wait" });
        }
    };
    run(&machine, [1; 5]);
    let mut session = machine.start(&SOURCE);
    session.tick(None);
    // The main thread runs; its helpers wake up often, and run for a hundredth of that.
    run(&session.machine, [9001, 91, 91, 91, 91]);
    let seen = session.tick(1.0);
    assert_eq!(seen.count("thread_wait"), 1);
    near(seen.value("thread_wait", "threads", &["7", "app", "run", ""]), 1.0);
    // Each had its turn.
    run(&session.machine, [9401, 491, 691, 391, 491]);
    let seen = session.tick(1.0);
    near(seen.value("thread_wait", "threads", &["7", "app", "lock", "futex_do_wait"]), 4.0);
}

/// A process of one thread that another one started.
fn process(machine: &Machine, (pid, ppid): (u32, u32), slices: u64, function: &str) {
    machine.put(&format!("/proc/{pid}/stat"), stat(pid, "app", ppid, 1)).put(&format!("/proc/{pid}/wchan"), function);
    thread(machine, (pid, pid), slices, function);
}

#[test]
fn between_two_ticks_only_what_the_recorder_started_is_looked_at() {
    let machine = Machine::new();
    machine.put("/proc/1/stat", stat(1, "fenxi", 0, 1)).put("/proc/1/wchan", "do_epoll_wait");
    process(&machine, (5, 3), 5, "0");
    let mut session = machine.start(&OfProcessOne);
    session.tick(None);
    process(&session.machine, (7, 1), 5, "0");
    process(&session.machine, (5, 3), 500, "0");
    let seen = session.between(0.01);
    assert_eq!(seen.keys("thread_wait"), [["7", "app", "run", ""]]);
    near(seen.value("thread_wait", "dt", &["7", "app", "run", ""]), 0.01);
    // The tick has the time since the look of the one, and all the interval of the other.
    process(&session.machine, (7, 1), 9, "hrtimer_nanosleep");
    let seen = session.tick(0.99);
    near(seen.value("thread_wait", "dt", &["7", "app", "sleep", "hrtimer_nanosleep"]), 0.99);
    near(seen.value("thread_wait", "dt", &["5", "app", "run", ""]), 1.0);
    session.machine.remove("/proc/7");
    assert_eq!(session.between(0.01).count("thread_wait"), 0, "it has ended");
}

#[test]
fn threads_that_take_turns_are_at_the_lock_at_every_look_however_short() {
    let machine = Machine::new();
    machine.put("/proc/1/stat", stat(1, "fenxi", 0, 1)).put("/proc/1/wchan", "do_epoll_wait");
    machine.put("/proc/7/stat", stat(7, "app", 1, 4)).put("/proc/7/wchan", "futex_do_wait");
    let run = |machine: &Machine, slices: [u64; 4]| {
        for (tid, slices) in [7, 71, 72, 73].into_iter().zip(slices) {
            thread(machine, (7, tid), slices, if tid == 7 { "0" } else { "futex_do_wait" });
        }
    };
    run(&machine, [1; 4]);
    let mut session = machine.start(&OfProcessOne);
    session.tick(None);
    run(&session.machine, [401, 401, 401, 41]);
    session.tick(1.0);
    // None ran since the tick: that they work is known from before it. The last thread only helps.
    let seen = session.between(0.01);
    let (at_lock, running) = (["7", "app", "lock", "futex_do_wait"], ["7", "app", "run", ""]);
    near(seen.value("thread_wait", "threads", &at_lock), 2.0);
    near(seen.value("thread_wait", "progress", &at_lock), 2.0);
    near(seen.value("thread_wait", "progress", &running), 1.0);
}

#[test]
fn a_child_that_nobody_waits_for_idles_and_one_that_is_waited_for_tells_what_for() {
    let machine = Machine::new();
    machine.put("/proc/1/stat", stat(1, "fenxi", 0, 1)).put("/proc/1/wchan", "do_epoll_wait");
    process(&machine, (7, 1), 5, "hrtimer_nanosleep");
    process(&machine, (8, 7), 5, "inet_csk_accept");
    let mut session = machine.start(&OfProcessOne);
    session.tick(None);
    session.tick(1.0);
    assert_eq!(session.tick(1.0).keys("thread_wait"), [["7", "app", "sleep", "hrtimer_nanosleep"]]);
    process(&session.machine, (7, 1), 6, "do_wait");
    session.tick(1.0);
    let seen = session.tick(1.0);
    assert!(seen.has("thread_wait", &["8", "app", "accept", "inet_csk_accept"]), "{:?}", seen.keys("thread_wait"));
    near(seen.value("thread_wait", "progress", &["8", "app", "accept", "inet_csk_accept"]), 0.0);
}

#[test]
fn where_the_kernel_tells_nothing_it_is_refused() {
    let machine = Machine::new();
    machine.put("/proc/7/stat", stat(7, "app", 1, 1)).put("/proc/7/wchan", "0");
    assert!(machine.try_start(&SOURCE).is_err());
}

#[test]
fn threads_of_what_the_recorder_started_have_rows_with_their_names() {
    let machine = Machine::new();
    machine.put("/proc/1/stat", stat(1, "fenxi", 0, 1)).put("/proc/1/wchan", "do_epoll_wait");
    machine.put("/proc/7/stat", stat(7, "java", 1, 3)).put("/proc/7/wchan", "futex_do_wait");
    process(&machine, (5, 3), 5, "0");
    let run = |machine: &Machine, slices: [u64; 3]| {
        for (tid, slices) in [7, 71, 72].into_iter().zip(slices) {
            thread(machine, (7, tid), slices, "0");
        }
        machine.put("/proc/7/task/71/stat", stat(71, "GC Thread#0", 1, 3));
    };
    run(&machine, [1; 3]);
    let mut session = machine.start(&OfProcessOne);
    session.tick(None);
    run(&session.machine, [1, 401, 2]);
    process(&session.machine, (5, 3), 500, "0");
    let seen = session.tick(1.0);
    assert_eq!(
        seen.keys("thread"),
        [["7", "71", "GC Thread#0", ""]],
        "who did next to nothing has no row, nor has what others started"
    );
    near(seen.value("thread", "cpu", &["7", "71", "GC Thread#0", ""]), 4.0);
    assert_eq!(session.between(0.01).count("thread"), 0, "a row covers a whole interval");
}
