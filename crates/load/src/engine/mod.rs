//! Load engine: one epoll loop per thread runs a compiled workload against a server, and counts by interval.
//!
//! Threads share nothing that changes but a flag to stop: each has its own connections, its own starts of the schedule
//! and its own counts, which it hands over at the end of an interval.

mod connection;
pub(crate) mod gather;
mod pin;
mod sockets;
mod transact;
mod worker;

use std::{
    io,
    ops::ControlFlow,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use self::{
    gather::{Crew, Gatherer},
    worker::Worker,
};
use crate::{policy::Policy, schedule::Schedule, server::Usage, tally::Tally, workload::Program};
use fenxi_wire::{
    Dialect, Mode,
    target::{Endpoint, Target},
};

/// Plan of a load: workload, server, schedule and duration.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Who logs in.
    pub target: Target,
    /// Where.
    pub endpoint: Endpoint,
    /// Program of the workload.
    pub program: Arc<Program>,
    /// Threads; at most as many as connections are used.
    pub threads: usize,
    /// Which part of the load is this process's; None when it makes all of it.
    pub share: Option<Share>,
    /// Settings that all processes of the load share.
    pub run: Settings,
}

/// Settings of a load, the same for all processes that make it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// How statements are sent.
    pub mode: Mode,
    /// When transactions begin.
    pub schedule: Schedule,
    /// Connections of all threads together.
    pub connections: usize,
    /// Processors that the threads are bound to, one after the other; empty for wherever the kernel puts them.
    pub pin: Vec<usize>,
    /// Seconds that are run but not counted in the total.
    pub warmup_s: f64,
    /// Seconds that are.
    pub duration_s: f64,
    /// Seconds between reports.
    pub interval_s: f64,
    /// Seconds that are waited at the end for transactions under way.
    pub drain_s: f64,
    /// Connections made per second by all threads together; None for as fast as they can.
    pub connects_per_s: Option<f64>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Policy for errors.
    pub policy: Policy,
}

/// A process's part of a load that several make. Threads are counted over all of them, and a thread has its own connections
/// and its own starts by its number: so the same seed is the same load, however many processes make it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Threads of the processes before this one.
    pub first: usize,
    /// Threads of all processes.
    pub of: usize,
}

/// Why a run could not begin.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The plan is not possible.
    #[error("{0}")]
    Plan(String),
    /// The system refused what a thread needs.
    #[error("a thread of the load cannot run: {0}")]
    Thread(#[from] io::Error),
}

/// Counts and latencies of an interval.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Seconds after the beginning.
    pub begin_s: f64,
    /// As `begin_s`.
    pub end_s: f64,
    /// True if it is not part of the total.
    pub warmup: bool,
    /// The rate asked for in it.
    pub offered_per_s: Option<f64>,
    /// Counts and latencies.
    pub tally: Tally,
}

impl Interval {
    /// A count as a rate.
    pub fn per_s(&self, count: u64) -> f64 {
        count as f64 / (self.end_s - self.begin_s)
    }
}

/// Outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// All intervals after the warm-up together.
    pub total: Interval,
    /// Transactions that completed or were abandoned while the load drained after its end.
    pub drained: Tally,
    /// Transactions that were still under way when the waiting ended.
    pub unfinished: u64,
    /// Transactions that were due and never begun.
    pub unstarted: u64,
    /// Why the run ended before its time.
    pub stopped: Option<String>,
    /// Processes of the load that were lost, each with when and why: what they did then is in no figure.
    pub lost: Vec<String>,
    /// CPU time and memory of the server, where it runs on this host.
    pub server: Option<Usage>,
}

impl Outcome {
    /// Why the figures are not those of the load that was asked for; empty when they are.
    pub fn doubts(&self) -> Vec<String> {
        let tally = &self.total.tally;
        let mut doubts: Vec<_> = self
            .lost
            .iter()
            .map(|lost| format!("the figures are incomplete: {lost}; its share is missing from then on"))
            .collect();
        if let Some(offered) = self.total.offered_per_s {
            let done = self.total.per_s(tally.transactions + tally.failed);
            let due = offered * (self.total.end_s - self.total.begin_s);
            if self.unstarted as f64 > (0.01 * due).max(1.0) {
                doubts.push(format!(
                    "overload: {done:.1} of {offered:.1} transactions per second were completed; {} were due but never started",
                    self.unstarted
                ));
            }
        }
        let lag_ms = tally.lag.value_at_quantile(0.99) as f64 / 1e6;
        if lag_ms > 1.0 && lag_ms > 0.1 * tally.latency.value_at_quantile(0.5) as f64 / 1e6 {
            doubts.push(format!(
                "the driver was late: 1 % of transactions started more than {lag_ms:.1} ms after they could have; \
                 use more threads, fewer transactions or another host"
            ));
        }
        if tally.busiest > 0.95 {
            doubts.push(format!(
                "the driver was saturated: a thread was busy for {:.0} % of an interval; use more threads or another host",
                100.0 * tally.busiest
            ));
        }
        if self.unfinished > 0 {
            doubts.push(format!(
                "{} transactions were still in flight at the end and are not in the latencies",
                self.unfinished
            ));
        }
        doubts
    }
}

/// State that threads share.
#[derive(Debug)]
struct Shared {
    clock: Instant,
    /// The beginning, in nanoseconds of the clock; 0 until every connection was tried.
    origin: AtomicU64,
    stop: AtomicBool,
    /// Whether who watches has seen the last interval.
    reported: AtomicBool,
    reason: Mutex<Option<String>>,
    /// Ends of the intervals, in nanoseconds after the beginning.
    ends: Vec<u64>,
}

impl Shared {
    fn now(&self) -> u64 {
        // 580 years.
        self.clock.elapsed().as_nanos() as u64
    }

    fn stop(&self, reason: String) {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Crew for Shared {
    fn begin(&self, at: Instant) {
        let origin = at.saturating_duration_since(self.clock).as_nanos() as u64;
        self.origin.store(origin.max(1), Ordering::Release);
    }

    fn stop(&self, reason: &str) {
        Shared::stop(self, reason.to_owned());
    }

    fn reported(&self) {
        self.reported.store(true, Ordering::Relaxed);
    }

    fn reason(&self) -> Option<String> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Who follows a run.
pub trait Watch {
    /// Every connection was tried: when the load begins, a moment from now. None gives it up.
    fn ready(&mut self) -> Option<Instant> {
        Some(Instant::now() + A_MOMENT)
    }

    /// An interval has ended. What comes back may end the run.
    fn interval(&mut self, interval: &Interval) -> ControlFlow<()>;

    /// Asked many times a second: whether the run shall end.
    fn wants_end(&mut self) -> bool {
        false
    }
}

/// So long that all threads see it before it comes.
pub const A_MOMENT: Duration = Duration::from_millis(5);

/// Ends of the intervals in nanoseconds: a multiple of the interval from the beginning, and from the warm-up's end.
pub(crate) fn ends(plan: &Plan) -> Vec<u64> {
    let ns = |s: f64| (s * 1e9).round() as u64;
    let mut ends = Vec::new();
    for (begin, end) in [(0.0, plan.run.warmup_s), (plan.run.warmup_s, plan.run.warmup_s + plan.run.duration_s)] {
        let mut number = 1.0;
        // A rest that is too short for a report belongs to the one before.
        while begin + number * plan.run.interval_s < end - 0.1 * plan.run.interval_s {
            ends.push(ns(begin + number * plan.run.interval_s));
            number += 1.0;
        }
        if end > begin {
            ends.push(ns(end));
        }
    }
    ends
}

/// Raises the number of files that this process may have open to what is needed, as far as it may; how many it may have.
fn allow_files(needed: u64) -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let (current, most) = (limit.current.unwrap_or(u64::MAX), limit.maximum.unwrap_or(u64::MAX));
    let raised = Rlimit { current: Some(needed.min(most)), maximum: limit.maximum };
    if current < needed && setrlimit(Resource::Nofile, raised).is_ok() { needed.min(most) } else { current }
}

fn check(plan: &Plan, share: Share) -> Result<(), EngineError> {
    let wrong = |what: String| Err(EngineError::Plan(what));
    let own: usize =
        (share.first..share.first + plan.threads).map(|n| (n..plan.run.connections).step_by(share.of).len()).sum();
    let needed = own as u64 + 64;
    let limit = allow_files(needed);
    if plan.run.connections == 0 || plan.threads == 0 {
        return wrong("a load needs at least one connection and one thread".to_owned());
    }
    if needed > limit {
        return wrong(format!(
            "{own} connections need {needed} open files and {limit} are allowed; raise it with `ulimit -n`, or share them \
             among processes with `--processes`"
        ));
    }
    if plan.run.mode == Mode::Pipelined && plan.program.dialect == Dialect::Mysql {
        return wrong("MySQL's protocol has no pipelines; use prepared or simple".to_owned());
    }
    let positive = |s: f64| s.is_finite() && s > 0.0;
    if !positive(plan.run.duration_s) || !positive(plan.run.interval_s) || !plan.run.warmup_s.is_finite() {
        return wrong("durations must be positive and finite".to_owned());
    }
    pin::check(&plan.run.pin).map_err(EngineError::Plan)
}

/// Runs the load. `watch` is called at the end of each interval and may end the run.
///
/// # Errors
/// When it cannot begin. Whatever the server does is counted and no error.
pub fn run(plan: &Plan, watch: &mut dyn FnMut(&Interval) -> ControlFlow<()>) -> Result<Outcome, EngineError> {
    /// Only the ends of intervals are of interest.
    struct Ends<'a>(&'a mut dyn FnMut(&Interval) -> ControlFlow<()>);
    impl Watch for Ends<'_> {
        fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
            (self.0)(interval)
        }
    }
    run_watched(plan, &mut Ends(watch))
}

/// As [`run`], for who also has a say in when it begins and ends.
///
/// # Errors
/// As [`run`].
pub fn run_watched(plan: &Plan, watch: &mut dyn Watch) -> Result<Outcome, EngineError> {
    let threads = plan.threads.min(plan.run.connections);
    let share = plan.share.unwrap_or(Share { first: 0, of: threads });
    check(plan, share)?;
    let shared = Shared {
        clock: Instant::now(),
        origin: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        reported: AtomicBool::new(false),
        reason: Mutex::new(None),
        ends: ends(plan),
    };
    let (sender, words) = mpsc::channel();
    let workers =
        (0..threads).map(|n| Worker::new(plan, &shared, share, n, sender.clone())).collect::<Result<Vec<_>, _>>()?;
    drop(sender);
    std::thread::scope(|scope| {
        for (number, worker) in workers.into_iter().enumerate() {
            let thread = std::thread::Builder::new().name(format!("load-{number}"));
            let work = move || {
                pin::this_thread(&plan.run.pin, share.first + number);
                worker.run();
            };
            if let Err(error) = thread.spawn_scoped(scope, work) {
                shared.stop.store(true, Ordering::Relaxed);
                return Err(error.into());
            }
        }
        Gatherer::new(plan, &shared, threads).gather(&words, watch)
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::workload::Workload;
    use fenxi_wire::target::Surroundings;

    /// A plan that is not run: three intervals of a second, at 100 per second.
    pub fn plan() -> Plan {
        let target = Target::parse("postgres://u@127.0.0.1:1/d", &Surroundings::default()).unwrap();
        Plan {
            endpoint: target.endpoints().unwrap().remove(0),
            target,
            program: Arc::new(Workload::shipped("select_only").unwrap().compile(Dialect::Postgres).unwrap()),
            threads: 2,
            share: None,
            run: Settings {
                mode: Mode::Simple,
                schedule: Schedule::Closed,
                connections: 8,
                pin: Vec::new(),
                warmup_s: 0.0,
                duration_s: 3.0,
                interval_s: 1.0,
                drain_s: 1.0,
                connects_per_s: None,
                seed: 1,
                policy: Policy::for_dialect(Dialect::Postgres),
            },
        }
    }

    #[test]
    fn a_share_needs_files_only_for_its_own_connections() {
        let mut plan = Plan { threads: 1, ..plan() };
        plan.run.connections = 4_000_000;
        let all = check(&plan, Share { first: 0, of: 1 }).unwrap_err().to_string();
        assert!(all.contains("4000000 connections") && all.contains("`ulimit -n`"), "{all}");
        assert!(check(&plan, Share { first: 1, of: 1_000_000 }).is_ok());
    }
}
