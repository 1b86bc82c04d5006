//! Merges the parts of a load: threads of a process, or processes on several hosts. Counts are added and histograms
//! merged, interval by interval; a lost part is reported, and no longer waited for.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use super::{EngineError, Interval, Outcome, Plan, Watch, ends};
use crate::{
    policy::{Action, Failure},
    tally::Tally,
};

/// How often who watches is asked whether to go on.
const BEAT: Duration = Duration::from_millis(50);

/// A message of a part of a load. `from` is its number.
#[derive(Debug)]
pub(crate) enum PartMessage {
    /// Every connection of it was tried.
    Ready { from: usize },
    /// An interval has ended.
    Interval { from: usize, number: usize, tally: Box<Tally> },
    /// The run has ended: what came after the end, what is under way, what was never begun.
    End { drained: Box<Tally>, unfinished: u64, unstarted: u64 },
    /// Nothing more will come from it.
    Lost { from: usize, what: String },
}

/// The parts, as far as they take orders.
pub(crate) trait Crew {
    /// Begins the load at a moment.
    fn begin(&self, at: Instant);
    /// Ends it. The first reason is kept.
    fn stop(&self, reason: &str);
    /// The last interval was reported to the watcher.
    fn reported(&self) {}
    /// Why it was ended.
    fn reason(&self) -> Option<String>;
}

/// State of a part.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    ready: bool,
    lost: bool,
    /// Intervals that it has reported.
    reported: usize,
}

/// Merges the messages of the parts.
pub(crate) struct Gatherer<'a> {
    plan: &'a Plan,
    crew: &'a dyn Crew,
    parts: Vec<Part>,
    began: Option<Instant>,
    /// Ends of the intervals, in nanoseconds after the beginning.
    ends: Vec<u64>,
    /// Intervals that some have reported and others have not, from `first` on.
    open: Vec<Tally>,
    first: usize,
    /// Counts of this alone, for the next interval.
    own: Tally,
    total: Tally,
    outcome: Outcome,
    failed: Option<String>,
}

impl<'a> Gatherer<'a> {
    /// Of so many parts.
    pub fn new(plan: &'a Plan, crew: &'a dyn Crew, parts: usize) -> Gatherer<'a> {
        let total = Interval { begin_s: 0.0, end_s: 0.0, warmup: false, offered_per_s: None, tally: Tally::default() };
        let outcome = Outcome {
            total,
            drained: Tally::default(),
            unfinished: 0,
            unstarted: 0,
            stopped: None,
            lost: Vec::new(),
            server: None,
        };
        Gatherer {
            plan,
            crew,
            parts: vec![Part::default(); parts],
            began: None,
            ends: ends(plan),
            open: Vec::new(),
            first: 0,
            own: Tally::default(),
            total: Tally::default(),
            outcome,
            failed: None,
        }
    }

    /// Until all parts have ended, when no message can come any more.
    ///
    /// # Errors
    /// When a part was lost before the load began.
    pub fn gather(mut self, words: &Receiver<PartMessage>, watch: &mut dyn Watch) -> Result<Outcome, EngineError> {
        let mut asked = Instant::now();
        loop {
            match words.recv_timeout(BEAT) {
                Ok(word) => self.hear(word, watch),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if asked.elapsed() >= BEAT {
                asked = Instant::now();
                if watch.wants_end() {
                    self.crew.stop(INTERRUPTED);
                }
            }
        }
        match self.failed.take() {
            Some(what) => Err(EngineError::Plan(what)),
            None => Ok(self.ended()),
        }
    }

    fn hear(&mut self, word: PartMessage, watch: &mut dyn Watch) {
        match word {
            PartMessage::Ready { from } => {
                self.parts[from].ready = true;
                if self.parts.iter().all(|part| part.ready) && self.began.is_none() {
                    self.began = watch.ready();
                    match self.began {
                        Some(at) => self.crew.begin(at),
                        None => self.crew.stop(INTERRUPTED),
                    }
                }
            }
            PartMessage::Interval { from, number, tally } => {
                // One that came too late, from a part that was given up, is in no sum.
                let Some(place) = number.checked_sub(self.first) else { return };
                if self.open.len() <= place {
                    self.open.resize_with(place + 1, Tally::default);
                }
                self.open[place].beside(&tally);
                self.parts[from].reported = number + 1;
                self.report(watch);
            }
            PartMessage::End { drained, unfinished, unstarted } => {
                self.outcome.drained.beside(&drained);
                self.outcome.unfinished += unfinished;
                self.outcome.unstarted += unstarted;
            }
            PartMessage::Lost { from, what } => {
                self.parts[from].lost = true;
                self.lose(what);
                self.report(watch);
            }
        }
    }

    /// A part is lost: a load that has not begun does not begin without it, and one that has goes on unless the policy
    /// ends it.
    fn lose(&mut self, what: String) {
        if self.crew.reason().is_some() {
            return;
        }
        let Some(began) = self.began else {
            self.crew.stop(&what);
            self.failed.get_or_insert(what);
            return;
        };
        let after_s = Instant::now().saturating_duration_since(began).as_secs_f64();
        let what = format!("{what} after {after_s:.1} s");
        self.own.fail(Failure::Worker, || what.clone());
        if self.plan.run.policy.action(Failure::Worker) == Action::Stop || self.parts.iter().all(|part| part.lost) {
            self.crew.stop(&what);
        }
        self.outcome.lost.push(what);
    }

    /// Reports the intervals that are complete.
    fn report(&mut self, watch: &mut dyn Watch) {
        while !self.open.is_empty() && self.parts.iter().all(|part| part.lost || part.reported > self.first) {
            let mut tally = self.open.remove(0);
            let (begin_s, end_s) = (self.end_of(self.first), self.end_of(self.first + 1));
            self.first += 1;
            tally.beside(&std::mem::take(&mut self.own));
            let warmup = end_s <= self.plan.run.warmup_s + 1e-9;
            if !warmup {
                self.total.then(&tally);
            }
            let offered_per_s = self.plan.run.schedule.offered_per_s(begin_s, end_s);
            if watch.interval(&Interval { begin_s, end_s, warmup, offered_per_s, tally }).is_break() {
                self.crew.stop(INTERRUPTED);
            }
            if self.first == self.ends.len() {
                self.crew.reported();
            }
        }
    }

    /// The end of the interval before the `number`-th, in seconds.
    fn end_of(&self, number: usize) -> f64 {
        number.checked_sub(1).and_then(|n| self.ends.get(n)).map_or(0.0, |ns| *ns as f64 / 1e9)
    }

    fn ended(mut self) -> Outcome {
        self.outcome.stopped = self.crew.reason();
        let state = (self.total.waiting, self.total.running, self.total.connected);
        self.total.then(&self.own);
        (self.total.waiting, self.total.running, self.total.connected) = state;
        let (begin_s, end_s) = (self.plan.run.warmup_s, self.end_of(self.first).max(self.plan.run.warmup_s + 1e-9));
        let offered_per_s = self.plan.run.schedule.offered_per_s(begin_s, end_s);
        self.outcome.total = Interval { begin_s, end_s, warmup: false, offered_per_s, tally: self.total };
        self.outcome
    }
}

/// The reason when the watcher has ended a run.
const INTERRUPTED: &str = "it was interrupted";

#[cfg(test)]
mod tests {
    use std::{
        ops::ControlFlow,
        sync::{Mutex, mpsc},
    };

    use super::*;
    use crate::engine::tests::plan;

    /// Parts that do what the test sends.
    #[derive(Default)]
    struct Nobody(Mutex<Option<String>>);

    impl Crew for Nobody {
        fn begin(&self, _: Instant) {}

        fn stop(&self, reason: &str) {
            self.0.lock().unwrap().get_or_insert(reason.to_owned());
        }

        fn reason(&self) -> Option<String> {
            self.0.lock().unwrap().clone()
        }
    }

    #[derive(Default)]
    struct Seen(Vec<(f64, u64)>);

    impl Watch for Seen {
        fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
            self.0.push((interval.end_s, interval.tally.transactions));
            ControlFlow::Continue(())
        }
    }

    fn gathered(plan: &Plan, words: Vec<PartMessage>) -> (Result<Outcome, EngineError>, Vec<(f64, u64)>) {
        let (crew, mut seen) = (Nobody::default(), Seen::default());
        let (sender, receiver) = mpsc::channel();
        words.into_iter().for_each(|word| sender.send(word).unwrap());
        drop(sender);
        (Gatherer::new(plan, &crew, 2).gather(&receiver, &mut seen), seen.0)
    }

    fn interval(from: usize, number: usize, transactions: u64) -> PartMessage {
        PartMessage::Interval {
            from,
            number,
            tally: Box::new(Tally { transactions, connected: 4, ..Tally::default() }),
        }
    }

    fn ready() -> [PartMessage; 2] {
        [PartMessage::Ready { from: 0 }, PartMessage::Ready { from: 1 }]
    }

    #[test]
    fn intervals_are_told_when_every_part_has_told_them() {
        let words = ready().into_iter().chain([
            interval(0, 0, 10),
            interval(0, 1, 20),
            interval(1, 0, 1),
            interval(1, 1, 2),
            interval(0, 2, 7),
        ]);
        let (outcome, seen) = gathered(&plan(), words.collect());
        assert_eq!(seen, [(1.0, 11), (2.0, 22)]);
        let total = outcome.unwrap().total;
        assert_eq!((total.tally.transactions, total.tally.connected, total.end_s), (33, 8, 2.0));
    }

    #[test]
    fn a_lost_part_is_said_and_no_longer_waited_for() {
        let lost = PartMessage::Lost { from: 1, what: "it disconnected".to_owned() };
        let words = ready().into_iter().chain([
            interval(0, 0, 10),
            interval(1, 0, 10),
            interval(0, 1, 10),
            lost,
            interval(0, 2, 10),
        ]);
        let (outcome, seen) = gathered(&plan(), words.collect());
        assert_eq!(seen, [(1.0, 20), (2.0, 10), (3.0, 10)]);
        let outcome = outcome.unwrap();
        assert_eq!((outcome.total.tally.errors[&Failure::Worker].0, outcome.stopped.is_none()), (1, true));
        assert!(
            outcome.doubts()[0].starts_with("the figures are incomplete: it disconnected after"),
            "{:?}",
            outcome.doubts()
        );
    }

    #[test]
    fn a_load_does_not_begin_without_a_part_and_ends_when_the_policy_says_so() {
        let lost = || PartMessage::Lost { from: 1, what: "no login".to_owned() };
        let (outcome, _) = gathered(&plan(), vec![PartMessage::Ready { from: 0 }, lost()]);
        assert_eq!(outcome.unwrap_err().to_string(), "no login");
        let mut plan = plan();
        plan.run.policy.add("worker", Action::Stop).unwrap();
        let (outcome, _) = gathered(&plan, ready().into_iter().chain([lost()]).collect());
        assert!(outcome.unwrap().stopped.unwrap().starts_with("no login after"));
    }
}
