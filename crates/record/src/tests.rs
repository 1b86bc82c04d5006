//! The recording loop in a made-up time: nothing here sleeps.

mod rolled;
mod trigger;

use std::{
    collections::VecDeque,
    io,
    ops::ControlFlow,
    sync::{Arc, Mutex, PoisonError},
};

use fenxi_model::{
    Micros, Rows, Table,
    catalog::{event, sched},
};
use fenxi_source::{Collector, Root, Source, SourceError, Spec, Take, Tick};
use rustix::process::Signal;

use crate::{Outcome, Plan, Stage, recorder::observe_in, time::Time, wake::Wake};

/// When the wall clock of the tests begins, and the steady one.
const BEGIN: (i64, f64) = (1_795_000_000_000_000, 1000.0);

/// A clock that goes on only by waiting, and by the cost that is set for sampling.
#[derive(Debug, Default)]
struct FakeClock {
    /// Seconds since the begin.
    now: f64,
    /// Seconds by which the wall clock has stepped, from which moment on.
    step: Option<(f64, f64)>,
    /// Wake-ups of the recorder before its deadline: when, and by which event.
    wakes: VecDeque<(f64, Wake)>,
    /// Seconds that each round of sampling takes; none once they are used up.
    costs: VecDeque<f64>,
    /// How late each wait ends; 0 once they are used up.
    late: VecDeque<f64>,
    /// Deadlines that were waited for.
    deadlines: Vec<f64>,
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<FakeClock>>);

impl Shared {
    fn with<V>(&self, f: impl FnOnce(&mut FakeClock) -> V) -> V {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Time for Shared {
    fn monotonic(&self) -> f64 {
        self.with(|made| BEGIN.1 + made.now)
    }

    fn wall(&self) -> Micros {
        self.with(|made| {
            let step = made.step.filter(|(at, _)| made.now >= *at).map_or(0.0, |(_, by)| by);
            Micros(BEGIN.0 + ((made.now + step) * 1e6).round() as i64)
        })
    }

    fn sleep_until(&mut self, deadline: Option<f64>) -> io::Result<Wake> {
        self.with(|made| {
            let deadline = deadline.expect("these recordings have no command to wait for") - BEGIN.1;
            made.deadlines.push(deadline);
            match made.wakes.front().copied() {
                Some((at, wake)) if at <= deadline => {
                    made.wakes.pop_front();
                    made.now = made.now.max(at);
                    Ok(wake)
                }
                _ => {
                    made.now = made.now.max(deadline) + made.late.pop_front().unwrap_or(0.0);
                    Ok(Wake::Deadline)
                }
            }
        })
    }

    fn flows(&self) -> bool {
        false
    }
}

/// Gives the number of its sample as what runs, and lets sampling take its time.
#[derive(Clone)]
struct Counting {
    time: Shared,
    spec: &'static Spec,
}

const fn spec(name: &'static str, take: Take) -> Spec {
    static TABLES: &[&Table] = &[&sched::TABLE];
    Spec { name, summary: "counts its samples", tables: TABLES, take, default: true, live: false }
}

static EVERY_TICK: Spec = spec("every-tick", Take::EveryTick);
static SELDOM: Spec = spec("seldom", Take::Every { seconds: 5 });
static AT_BOTH_ENDS: Spec = spec("at-both-ends", Take::StartAndEnd);

impl Source for Counting {
    fn spec(&self) -> &'static Spec {
        self.spec
    }

    fn start(&self, _: &Root) -> Result<Box<dyn Collector>, SourceError> {
        Ok(Box::new(Counter { time: self.time.clone(), n: 0 }))
    }
}

struct Counter {
    time: Shared,
    n: u32,
}

impl Collector for Counter {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        self.n += 1;
        self.time.with(|made| made.now += made.costs.pop_front().unwrap_or(0.0));
        rows.row(&sched::TABLE, tick.t, tick.dt).f64(sched::runnable, f64::from(self.n));
        Ok(())
    }
}

/// The result of a recording of `duration_s` with an interval of a second.
struct Recorded {
    outcome: Outcome,
    /// Seconds since the begin and lengths of the intervals of all ticks.
    ticks: Vec<(f64, f64)>,
    /// Kinds and texts of events.
    events: Vec<(String, String)>,
    /// Samples of the source.
    samples: usize,
}

fn record(time: &Shared, spec: &'static Spec, duration_s: Option<f64>, most: usize) -> Recorded {
    let source = Counting { time: time.clone(), spec };
    let mut plan = Plan::new(vec![Arc::new(source)], Root::live(), "made".to_owned(), 1.0);
    plan.duration_s = duration_s;
    let (mut ticks, mut events, mut samples) = (Vec::new(), Vec::new(), 0);
    let mut gather = |rows: &Rows| {
        samples += rows.of(&sched::TABLE).map_or(0, |rows| rows.n_rows());
        if let Some(rows) = rows.of(&event::TABLE) {
            let kind = |row| rows.str(row, event::kind).unwrap_or_default().to_owned();
            let message = |row| rows.str(row, event::message).unwrap_or_default().to_owned();
            events.extend((0..rows.n_rows()).map(|row| (kind(row), message(row))));
        }
    };
    let mut watch = |stage: Stage<'_>| {
        if let Stage::Tick { t, dt, rows, .. } = stage {
            ticks.push(((t.0 - BEGIN.0) as f64 / 1e6, (dt * 1e6).round() / 1e6));
            gather(rows);
        }
        if ticks.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let mut observed = observe_in(time.clone(), plan, &mut watch).unwrap();
    gather(observed.rows());
    Recorded { outcome: observed.seal().unwrap(), ticks, events, samples }
}

const MANY: usize = 1000;

#[test]
fn ticks_are_taken_at_whole_intervals_since_the_begin() {
    let time = Shared::default();
    time.with(|made| made.late = [0.2, 0.3].into());
    let recorded = record(&time, &EVERY_TICK, Some(4.0), MANY);
    // A tick that comes late covers what it covers, and does not shift the next one.
    assert_eq!(recorded.ticks, [(1.2, 1.2), (2.3, 1.1), (3.0, 0.7), (4.0, 1.0)]);
    assert_eq!((recorded.outcome.progress.ticks, recorded.outcome.progress.missed), (4, 0));
    assert_eq!(time.with(|made| made.deadlines.clone()), [1.0, 2.0, 3.0, 4.0]);
    // One before the first interval, and one at the end of each.
    assert_eq!(recorded.samples, 5);
}

#[test]
fn a_recording_ends_on_time_though_its_length_is_no_whole_number_of_intervals() {
    let recorded = record(&Shared::default(), &EVERY_TICK, Some(2.5), MANY);
    assert_eq!(recorded.ticks, [(1.0, 1.0), (2.0, 1.0), (2.5, 0.5)]);
}

#[test]
fn deadlines_that_have_passed_are_missed_and_said() {
    let time = Shared::default();
    // The first round and the first tick are quick; the second tick takes 3.2 s.
    time.with(|made| made.costs = [0.0, 0.0, 3.2].into());
    let recorded = record(&time, &EVERY_TICK, Some(8.0), MANY);
    // At 5.2 s the ticks of 3 and 4 s are lost, that of 5 s is taken late.
    assert_eq!(recorded.ticks, [(1.0, 1.0), (2.0, 1.0), (5.2, 3.2), (6.0, 0.8), (7.0, 1.0), (8.0, 1.0)]);
    assert_eq!((recorded.outcome.progress.ticks, recorded.outcome.progress.missed), (6, 2));
    let [(kind, text)] = recorded.events.as_slice() else { panic!("{:?}", recorded.events) };
    assert_eq!(kind, "missed tick");
    assert!(text.starts_with("2 planned since "), "{text}");
}

#[test]
fn a_step_of_the_wall_clock_is_an_event_and_moves_no_row() {
    for by in [-3600.0, 0.5, 7200.0] {
        let time = Shared::default();
        time.with(|made| made.step = Some((1.5, by)));
        let recorded = record(&time, &EVERY_TICK, Some(3.0), MANY);
        assert_eq!(recorded.ticks, [(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)], "{by}");
        let [(kind, text)] = recorded.events.as_slice() else { panic!("{:?}", recorded.events) };
        assert_eq!(kind, "clock step");
        assert!(text.contains(&format!("by {by:+.3} s")), "{text}");
    }
}

#[test]
fn a_slewed_wall_clock_is_no_step() {
    let time = Shared::default();
    time.with(|made| made.step = Some((1.5, 0.002)));
    assert_eq!(record(&time, &EVERY_TICK, Some(3.0), MANY).events, []);
}

fn signal(ends: bool) -> Wake {
    Wake::Signal { signal: if ends { Signal::INT } else { Signal::USR1 }, ends, by_process: true }
}

#[test]
fn a_signal_ends_the_recording_with_what_there_is() {
    for (at, ticks) in [(2.6, vec![(1.0, 1.0), (2.0, 1.0), (2.6, 0.6)]), (2.05, vec![(1.0, 1.0), (2.0, 1.0)])] {
        let time = Shared::default();
        time.with(|made| made.wakes = [(at, signal(true))].into());
        let recorded = record(&time, &EVERY_TICK, None, MANY);
        // A rest of less than a tenth of an interval would mean nothing.
        assert_eq!(recorded.ticks, ticks, "{at}");
        assert_eq!(recorded.outcome.interrupted, Some(Signal::INT.as_raw()));
    }
}

#[test]
fn a_signal_at_the_moment_of_a_tick_comes_first() {
    let time = Shared::default();
    time.with(|made| made.wakes = [(2.0, signal(true))].into());
    let recorded = record(&time, &EVERY_TICK, None, MANY);
    assert_eq!(recorded.ticks, [(1.0, 1.0), (2.0, 1.0)]);
    assert_eq!(recorded.outcome.progress.missed, 0);
}

#[test]
fn other_signals_and_children_change_nothing() {
    let time = Shared::default();
    time.with(|made| made.wakes = [(0.5, signal(false)), (1.0, Wake::Child), (1.5, signal(false))].into());
    let recorded = record(&time, &EVERY_TICK, Some(3.0), MANY);
    assert_eq!(recorded.ticks, [(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)]);
    assert_eq!(recorded.outcome.interrupted, None);
}

#[test]
fn who_watches_can_end_it() {
    let recorded = record(&Shared::default(), &EVERY_TICK, None, 2);
    assert_eq!(recorded.ticks, [(1.0, 1.0), (2.0, 1.0)]);
    assert_eq!(recorded.outcome.interrupted, None);
}

#[test]
fn seldom_sources_are_sampled_in_their_own_time_and_at_the_end() {
    // Before the first interval, at 5, 10 and 12 s.
    assert_eq!(record(&Shared::default(), &SELDOM, Some(12.0), MANY).samples, 4);
    // Once at the end; that of the start is reported before the first tick.
    assert_eq!(record(&Shared::default(), &AT_BOTH_ENDS, Some(12.0), MANY).samples, 1);
}
