//! Threads of known behaviour: each spends its time as it does, and its states add up to the interval.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use fenxi_ebpf::{Tracked, microstates::Microstates};
use fenxi_model::{Rows, catalog::thread as c};
use fenxi_source::Source;

use crate::{
    observed::{Observed, once_right},
    programs::compiled,
};

/// The program of `states.c` at work; ended when dropped.
struct States {
    child: Child,
    has_faults: bool,
}

impl States {
    fn begin() -> Option<States> {
        let program = compiled("states", &["-O1", "-pthread"])?;
        let child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        if ready.trim() != "all" {
            eprintln!("SKIPPED microstates of a page fault: no userfaultfd here");
        }
        // The last thread's name, and its first steps.
        thread::sleep(Duration::from_millis(200));
        Some(States { child, has_faults: ready.trim() == "all" })
    }

    /// Nanoseconds on a CPU and in its queue of each thread, as the scheduler counts them.
    fn schedstat(&self) -> BTreeMap<i64, [f64; 2]> {
        let folder = format!("/proc/{}/task", self.child.id());
        let tids = fs_err::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let of = |tid: String| {
            let text = fs_err::read_to_string(format!("{folder}/{tid}/schedstat")).unwrap();
            let mut numbers = text.split_whitespace().map(|number| number.parse().unwrap());
            (tid.parse().unwrap(), [numbers.next().unwrap(), numbers.next().unwrap()])
        };
        tids.map(of).collect()
    }
}

impl Drop for States {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A thread's states in percent: usr, sys, fault, lock, sleep, latency; then its calls per second.
#[derive(Debug, Clone, Copy)]
struct Seen {
    tid: i64,
    parts: [f64; 6],
    calls: f64,
}

/// Of the rows from `skip` on, by the thread's name.
fn threads(rows: &Rows, skip: usize) -> BTreeMap<String, Seen> {
    let table = rows.of(&c::TABLE).unwrap();
    let of = |row: usize| {
        let parts = [c::usr, c::sys, c::data_fault, c::lock_wait, c::sleep, c::run_queue_wait];
        let parts = parts.map(|place| table.f64(row, place).unwrap());
        let seen =
            Seen { tid: table.i64(row, c::tid).unwrap(), parts, calls: table.f64(row, c::syscalls_per_s).unwrap() };
        (table.str(row, c::comm).unwrap().to_owned(), seen)
    };
    (skip..table.n_rows()).map(of).collect()
}

fn n_rows(rows: &Rows) -> usize {
    rows.of(&c::TABLE).map_or(0, |table| table.n_rows())
}

/// The states that a thread is in, and at least how many percent of the time.
const EXPECTED: [(&str, &[usize], f64); 7] = [
    ("spin", &[0, 5], 99.0),
    ("call", &[0, 1, 5], 99.0),
    ("nap", &[4, 5], 97.0),
    ("lock", &[3], 99.9),
    ("pipe", &[4], 99.9),
    ("fault", &[2], 99.9),
    // The main thread waits for its input.
    ("states", &[4], 99.9),
];

/// States of the threads over two seconds, and by how many percent of them at most they are beyond the scheduler's own
/// sums, which are read before and behind each reading: ours lie between those of both pairs.
fn beside_the_scheduler(observed: &mut Observed, states: &States) -> (BTreeMap<String, Seen>, f64) {
    let (outer_begin, before) = (states.schedstat(), Instant::now());
    let skip = n_rows(observed.read());
    let (inner_begin, began) = (states.schedstat(), Instant::now());
    thread::sleep(Duration::from_secs(2));
    let (shortest_ns, inner_end) = (began.elapsed().as_nanos() as f64, states.schedstat());
    let seen = threads(observed.read(), skip);
    let (longest_ns, outer_end) = (before.elapsed().as_nanos() as f64, states.schedstat());
    let beyond = |thread: &Seen| {
        let ours = [thread.parts[0] + thread.parts[1], thread.parts[5]];
        let of = |at: usize| {
            let least = 100.0 * (inner_end[&thread.tid][at] - inner_begin[&thread.tid][at]) / longest_ns;
            let most = 100.0 * (outer_end[&thread.tid][at] - outer_begin[&thread.tid][at]) / shortest_ns;
            (least - ours[at]).max(ours[at] - most)
        };
        of(0).max(of(1))
    };
    let most = seen.values().map(beyond).fold(0.0, f64::max);
    eprintln!("microstates: {most:.2} % beyond the scheduler's: {seen:#.2?}");
    (seen, most)
}

#[test]
fn states_of_threads_add_up_and_are_what_they_do() {
    let Some(mut observed) = Observed::begin(&Microstates { tracked: Tracked::Children }) else { return };
    let Some(states) = States::begin() else { return };
    let see = || Some(beside_the_scheduler(&mut observed, &states));
    let Some((seen, _)) = once_right("percent beyond the scheduler's sums", see, |(_, off)| *off < 2.0) else { return };
    for (name, states_of_it, percent) in EXPECTED.iter().filter(|(name, ..)| *name != "fault" || states.has_faults) {
        let thread = seen.get(*name).unwrap_or_else(|| panic!("{name} has no row: {seen:#?}"));
        let sum: f64 = thread.parts.iter().sum();
        assert!((99.0..=101.0).contains(&sum), "{name}: {sum} {thread:?}");
        let own: f64 = states_of_it.iter().map(|state| thread.parts[*state]).sum();
        assert!(own >= *percent, "{name}: {own} {thread:?}");
    }
    let call = seen["call"];
    assert!(call.calls > 1000.0 && call.parts[1] > 0.2 * (call.parts[0] + call.parts[1]), "{call:?}");
    assert!(seen["spin"].parts[1] < 1.0, "it makes no calls");
    assert!((10.0..=60.0).contains(&seen["nap"].calls), "50 a second at most: {:?}", seen["nap"]);
}

#[test]
fn threads_that_there_were_before_are_not_counted_from_their_beginning() {
    let Some(states) = States::begin() else { return };
    let Some(mut observed) = Observed::begin(&Microstates { tracked: Tracked::Processes(vec![states.child.id()]) })
    else {
        return;
    };
    let skip = n_rows(observed.read());
    thread::sleep(Duration::from_secs(1));
    let seen = threads(observed.read(), skip);
    for name in ["spin", "call", "nap", "lock", "pipe", "fault", "states"]
        .iter()
        .filter(|name| **name != "fault" || states.has_faults)
    {
        let thread = seen.get(*name).unwrap_or_else(|| panic!("{name} has no row: {seen:#?}"));
        let sum: f64 = thread.parts.iter().sum();
        assert!((99.0..=101.0).contains(&sum), "{name}: {sum} {seen:#?}");
    }
    // These did nothing since.
    assert!(seen["lock"].parts[3] > 99.0 && seen["pipe"].parts[4] > 99.0, "{seen:#?}");
    assert!(!states.has_faults || seen["fault"].parts[2] > 99.0, "{seen:#?}");
}

#[test]
fn all_threads_of_the_machine_are_within_the_interval() {
    let Some(states) = States::begin() else { return };
    let source: &dyn Source = &Microstates::ALL;
    let Some(mut observed) = Observed::begin(source) else { return };
    for _ in 0..3 {
        let skip = n_rows(&observed.rows);
        thread::sleep(Duration::from_millis(500));
        let seen = threads(observed.read(), skip);
        assert!(seen.contains_key("spin") && seen.contains_key("call"), "{seen:#?}");
        assert!(!seen.contains_key("pipe"), "it sleeps throughout");
        for (name, thread) in &seen {
            let sum: f64 = thread.parts.iter().sum();
            assert!(sum <= 101.0, "{name}: {sum} {thread:?}");
        }
    }
    drop(states);
}
