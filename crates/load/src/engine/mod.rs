//! Runs a program against a server: one epoll loop in each thread, and what they counted, interval by interval.
//!
//! Threads share nothing that changes but a flag to stop: each has its own connections, its own starts of the schedule
//! and its own counts, which it hands over at the end of an interval.

mod connection;
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
    time::Instant,
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use thiserror::Error;

use self::worker::Worker;
use crate::{
    policy::Policy,
    schedule::Schedule,
    tally::Tally,
    target::{Endpoint, Target},
    wire::{Dialect, Mode},
    workload::Program,
};

/// What to run, where and for how long.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Who logs in.
    pub target: Target,
    /// Where.
    pub endpoint: Endpoint,
    /// What is done.
    pub program: Arc<Program>,
    /// How statements are sent.
    pub mode: Mode,
    /// When transactions begin.
    pub schedule: Arc<Schedule>,
    /// Connections of all threads together.
    pub connections: usize,
    /// Threads; at most as many as connections are used.
    pub threads: usize,
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
    /// What follows from errors.
    pub policy: Policy,
}

/// Why a run could not begin.
#[derive(Debug, Error)]
pub enum EngineError {
    /// What was asked for is not possible.
    #[error("{0}")]
    Plan(String),
    /// The system refused what a thread needs.
    #[error("a thread of the load cannot run: {0}")]
    Thread(#[from] io::Error),
}

/// What was counted between two moments of a run.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Seconds after the beginning.
    pub begin_s: f64,
    /// As `begin_s`.
    pub end_s: f64,
    /// Whether it is not part of the total.
    pub warmup: bool,
    /// The rate asked for in it.
    pub offered_per_s: Option<f64>,
    /// What was counted.
    pub tally: Tally,
}

impl Interval {
    /// A count as a rate.
    pub fn per_s(&self, count: u64) -> f64 {
        count as f64 / (self.end_s - self.begin_s)
    }
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// All intervals after the warm-up together.
    pub total: Interval,
    /// What was completed or given up after the end, while it was waited for.
    pub drained: Tally,
    /// Transactions that were still under way when the waiting ended.
    pub unfinished: u64,
    /// Transactions that were due and never begun.
    pub unstarted: u64,
    /// Why the run ended before its time.
    pub stopped: Option<String>,
}

impl Outcome {
    /// Why the figures are not those of the load that was asked for; empty when they are.
    pub fn doubts(&self) -> Vec<String> {
        let tally = &self.total.tally;
        let mut doubts = Vec::new();
        if let Some(offered) = self.total.offered_per_s {
            let done = self.total.per_s(tally.transactions + tally.failed);
            let due = offered * (self.total.end_s - self.total.begin_s);
            if self.unstarted as f64 > (0.01 * due).max(1.0) {
                doubts.push(format!(
                    "overload: {done:.1} of {offered:.1} transactions per second were done; {} were due and never begun",
                    self.unstarted
                ));
            }
        }
        let lag_ms = tally.lag.value_at_quantile(0.99) as f64 / 1e6;
        if lag_ms > 1.0 && lag_ms > 0.1 * tally.latency.value_at_quantile(0.5) as f64 / 1e6 {
            doubts.push(format!(
                "the driver was late: 1 % of transactions began more than {lag_ms:.1} ms after they could have; \
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
                "{} transactions were still under way at the end and are in no latency",
                self.unfinished
            ));
        }
        doubts
    }
}

/// What threads share.
#[derive(Debug)]
struct Shared {
    clock: Instant,
    /// The beginning, in nanoseconds of the clock; 0 until every connection was tried.
    origin: AtomicU64,
    stop: AtomicBool,
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

/// What a thread tells.
#[derive(Debug)]
enum Word {
    /// Every connection of it was tried.
    Ready,
    /// An interval has ended.
    Interval { number: usize, tally: Box<Tally> },
    /// The run has ended: what came after the end, what is under way, what was never begun.
    End { drained: Box<Tally>, unfinished: u64, unstarted: u64 },
}

/// Ends of the intervals in nanoseconds: a multiple of the interval from the beginning, and from the warm-up's end.
fn ends(plan: &Plan) -> Vec<u64> {
    let ns = |s: f64| (s * 1e9).round() as u64;
    let mut ends = Vec::new();
    for (begin, end) in [(0.0, plan.warmup_s), (plan.warmup_s, plan.warmup_s + plan.duration_s)] {
        let mut number = 1.0;
        // A rest that is too short for a report belongs to the one before.
        while begin + number * plan.interval_s < end - 0.1 * plan.interval_s {
            ends.push(ns(begin + number * plan.interval_s));
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

fn check(plan: &Plan) -> Result<(), EngineError> {
    let wrong = |what: String| Err(EngineError::Plan(what));
    let needed = plan.connections as u64 + 64;
    let limit = allow_files(needed);
    if plan.connections == 0 || plan.threads == 0 {
        return wrong("a load needs at least one connection and one thread".to_owned());
    }
    if needed > limit {
        return wrong(format!(
            "{} connections need {needed} open files and {limit} are allowed; raise it with `ulimit -n`",
            plan.connections
        ));
    }
    if plan.mode == Mode::Pipelined && plan.program.dialect == Dialect::Mysql {
        return wrong("MySQL's protocol has no pipelines; use prepared or simple".to_owned());
    }
    let positive = |s: f64| s.is_finite() && s > 0.0;
    if !positive(plan.duration_s) || !positive(plan.interval_s) || !plan.warmup_s.is_finite() {
        return wrong("durations must be above 0 and have an end".to_owned());
    }
    Ok(())
}

/// Runs the load. `watch` is called at the end of each interval and may end the run.
///
/// # Errors
/// When it cannot begin. Whatever the server does is counted and no error.
pub fn run(plan: &Plan, watch: &mut dyn FnMut(&Interval) -> ControlFlow<()>) -> Result<Outcome, EngineError> {
    check(plan)?;
    let threads = plan.threads.min(plan.connections);
    let shared = Shared {
        clock: Instant::now(),
        origin: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        reason: Mutex::new(None),
        ends: ends(plan),
    };
    let (sender, words) = mpsc::channel();
    let workers =
        (0..threads).map(|n| Worker::new(plan, &shared, n, threads, sender.clone())).collect::<Result<Vec<_>, _>>()?;
    drop(sender);
    std::thread::scope(|scope| {
        for (number, worker) in workers.into_iter().enumerate() {
            let thread = std::thread::Builder::new().name(format!("load-{number}"));
            if let Err(error) = thread.spawn_scoped(scope, || worker.run()) {
                shared.stop.store(true, Ordering::Relaxed);
                return Err(error.into());
            }
        }
        Ok(Collector::new(plan, &shared, threads).collect(&words, watch))
    })
}

/// Puts together what threads tell.
struct Collector<'a> {
    plan: &'a Plan,
    shared: &'a Shared,
    threads: usize,
    ready: usize,
    /// Intervals that some threads have told and others have not, from `first` on.
    open: Vec<(usize, Tally)>,
    first: usize,
    total: Tally,
    outcome: Outcome,
}

impl<'a> Collector<'a> {
    fn new(plan: &'a Plan, shared: &'a Shared, threads: usize) -> Collector<'a> {
        let tally = Tally::default();
        let total = Interval { begin_s: 0.0, end_s: 0.0, warmup: false, offered_per_s: None, tally: tally.clone() };
        let outcome = Outcome { total, drained: tally.clone(), unfinished: 0, unstarted: 0, stopped: None };
        Collector { plan, shared, threads, ready: 0, open: Vec::new(), first: 0, total: tally, outcome }
    }

    fn collect(mut self, words: &mpsc::Receiver<Word>, watch: &mut dyn FnMut(&Interval) -> ControlFlow<()>) -> Outcome {
        // The channel ends when the last thread has.
        for word in words {
            match word {
                Word::Ready => {
                    self.ready += 1;
                    if self.ready == self.threads {
                        // A moment from now, so that all threads see it before it comes.
                        let origin = self.shared.now() + 5_000_000;
                        self.shared.origin.store(origin, Ordering::Release);
                    }
                }
                Word::Interval { number, tally } => {
                    let place = number - self.first;
                    while self.open.len() <= place {
                        self.open.push((0, Tally::default()));
                    }
                    self.open[place].0 += 1;
                    self.open[place].1.beside(&tally);
                    while self.open.first().is_some_and(|(told, _)| *told == self.threads) {
                        let (_, tally) = self.open.remove(0);
                        self.interval(tally, watch);
                    }
                }
                Word::End { drained, unfinished, unstarted } => {
                    self.outcome.drained.beside(&drained);
                    self.outcome.unfinished += unfinished;
                    self.outcome.unstarted += unstarted;
                }
            }
        }
        self.outcome.stopped = self.shared.reason.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.outcome.total.begin_s = self.plan.warmup_s;
        self.outcome.total.end_s = self.end_of(self.first).max(self.plan.warmup_s + 1e-9);
        let (begin, end) = (self.outcome.total.begin_s, self.outcome.total.end_s);
        self.outcome.total.offered_per_s = self.plan.schedule.offered_per_s(begin, end);
        self.outcome.total.tally = self.total;
        self.outcome
    }

    /// The end of the interval before the `number`-th, in seconds.
    fn end_of(&self, number: usize) -> f64 {
        number.checked_sub(1).and_then(|n| self.shared.ends.get(n)).map_or(0.0, |ns| *ns as f64 / 1e9)
    }

    fn interval(&mut self, tally: Tally, watch: &mut dyn FnMut(&Interval) -> ControlFlow<()>) {
        let (begin_s, end_s) = (self.end_of(self.first), self.end_of(self.first + 1));
        self.first += 1;
        let warmup = end_s <= self.plan.warmup_s + 1e-9;
        if !warmup {
            self.total.then(&tally);
        }
        let offered_per_s = self.plan.schedule.offered_per_s(begin_s, end_s);
        if watch(&Interval { begin_s, end_s, warmup, offered_per_s, tally }).is_break() {
            self.shared.stop("it was interrupted".to_owned());
        }
    }
}
