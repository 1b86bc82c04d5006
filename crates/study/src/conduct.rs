//! Execution of a study: makes the runs that are missing, in order.

use std::{collections::BTreeMap, sync::Arc};

use fenxi_model::{Micros, RunId};
use fenxi_record::{Hold, RecordError, pause};
use fenxi_source::{Root, Source};
use fenxi_store::{Store, StoreError};

use crate::{
    Asks, StudyError,
    design::{Cell, Design, Slot},
    estimate::Estimate,
    plan::StudyPlan,
    run::{Broken, OneRun},
    state::{FAILED, Lock, Record, StudyRun, finished, made},
};

/// Where and by what means a study is made.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    /// Where the runs are kept.
    pub store: &'a Store,
    /// The host observed.
    pub host: &'a str,
    /// The file system that sources read.
    pub root: &'a Root,
    /// Sources to sample.
    pub sources: &'a [Arc<dyn Source>],
    /// Random numbers for ids.
    pub random: &'a dyn Fn() -> u64,
    /// The time.
    pub now: &'a dyn Fn() -> Micros,
    /// Who answers questions about runs; a plan without questions needs none.
    pub asks: Option<&'a dyn Asks>,
}

/// An event of a study, for the caller.
#[derive(Debug)]
pub enum Event<'a> {
    /// The runs that are to be made are known.
    Begins {
        /// Runs of the plan that were finished before.
        finished: usize,
        /// Runs of the plan.
        planned: usize,
        /// Seconds that the rest will take, where that is known.
        left_s: Option<f64>,
    },
    /// A run does something new: `set-up`, `waiting until ready`, `warming up`, `running`, `resting`.
    Doing {
        /// The run.
        slot: Slot,
        /// Its cell.
        cell: &'a Cell,
        /// Its activity, one of these.
        what: &'static str,
        /// Seconds since the command began, while it runs.
        seconds: f64,
    },
    /// A run is finished and kept.
    Finished {
        /// The run.
        slot: Slot,
        /// Its cell.
        cell: &'a Cell,
        /// The id.
        run: &'a RunId,
        /// Seconds that were measured.
        seconds: f64,
        /// Runs of the plan that are finished.
        finished: usize,
        /// Seconds that the rest will take, where that is known.
        left_s: Option<f64>,
    },
    /// A run failed and is kept as such.
    Failed {
        /// The run.
        slot: Slot,
        /// Its cell.
        cell: &'a Cell,
        /// Why.
        why: &'a str,
        /// Whether it is tried again now.
        again: bool,
    },
    /// Something that is no reason to stop.
    Warning {
        /// What.
        text: String,
    },
}

/// Outcome of an invocation of a study.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Runs of the plan.
    pub planned: usize,
    /// Runs of the plan that are finished, earlier ones included.
    pub finished: usize,
    /// Runs that were finished now.
    pub new: usize,
    /// Runs that failed now, every try counted.
    pub failed: usize,
    /// The signal that ended it early.
    pub interrupted: Option<i32>,
}

/// Called for each event.
pub type Watch<'a> = dyn FnMut(Event<'_>) + 'a;

/// Makes the runs of `plan` that are not there yet.
///
/// # Errors
/// When a question cannot be asked, another process makes the study, a run fails and the plan asks to stop then, or the store can no longer be
/// written. Finished runs are kept.
pub fn conduct(
    plan: &StudyPlan,
    record: &Record,
    means: Means<'_>,
    watch: &mut Watch<'_>,
) -> Result<Outcome, StudyError> {
    crate::ask::check(plan, means.asks)?;
    let _lock = Lock::acquire(means.store, &plan.name)?;
    let design = Design::new(plan, record.seed)?;
    record.save(means.store)?;
    let earlier = made(means.store, record)?;
    tag_cut_short(means.store, &earlier)?;
    let (todo, mut work) = Conduct::new(plan, record, means, &design, &earlier);
    let left_s = work.estimate.rest(todo.iter().copied());
    watch(Event::Begins { finished: work.outcome.finished, planned: work.outcome.planned, left_s });
    if todo.is_empty() {
        return Ok(work.outcome);
    }
    // From here on to the end a signal is seen between steps, so that every set-up has its tear-down.
    let _hold = Hold::new()?;
    let made = match work.around("set-up") {
        Ok(()) => {
            let made = work.all(&todo, watch);
            let left = work.leave_series(watch);
            made.and(left)
        }
        Err(broken) => Err(broken),
    };
    let undone = work.around("tear-down");
    match made {
        Ok(()) => {}
        Err(Broken::Interrupted(signal)) => work.outcome.interrupted = Some(signal),
        Err(Broken::Failed(why)) => return Err(StudyError::Step { what: "set-up", why: why.to_string() }),
        Err(Broken::Fatal(error)) => return Err(error),
    }
    match undone {
        Ok(()) => Ok(work.outcome),
        Err(Broken::Interrupted(signal)) => Ok(Outcome { interrupted: Some(signal), ..work.outcome }),
        Err(Broken::Failed(why)) => Err(StudyError::Step { what: "tear-down", why: why.to_string() }),
        Err(Broken::Fatal(error)) => Err(error),
    }
}

/// Runs of dead recorders are marked so, for all who list runs.
fn tag_cut_short(store: &Store, made: &[StudyRun]) -> Result<(), StoreError> {
    for StudyRun { run, failed, .. } in made {
        if let Some(why) = failed
            && !store.run(run)?.labels.tags.contains_key(FAILED)
        {
            store.change_labels(run, |entry| {
                entry.labels.tags.entry(FAILED.to_owned()).or_insert_with(|| why.clone());
                Ok::<_, StoreError>(())
            })?;
        }
    }
    Ok(())
}

/// A study at work.
struct Conduct<'a> {
    plan: &'a StudyPlan,
    record: &'a Record,
    means: Means<'a>,
    design: &'a Design,
    estimate: Estimate,
    attempts: BTreeMap<(u32, &'a str), u32>,
    /// The level of a series that is set up: its place, and the run that it was set up for.
    series: Option<(usize, Slot)>,
    outcome: Outcome,
}

impl<'a> Conduct<'a> {
    /// The runs to be made, and what makes them.
    fn new(
        plan: &'a StudyPlan,
        record: &'a Record,
        means: Means<'a>,
        design: &'a Design,
        earlier: &'a [StudyRun],
    ) -> (Vec<Slot>, Conduct<'a>) {
        let done = finished(earlier);
        let mut estimate = Estimate::new(plan);
        let mut todo = Vec::new();
        for slot in &design.order {
            match done.get(&(slot.block, design.cells[slot.cell].label.as_str())) {
                Some(made) => estimate.add(slot.cell, made.seconds),
                None => todo.push(*slot),
            }
        }
        let mut attempts = BTreeMap::new();
        for made in earlier {
            let most = attempts.entry((made.block, made.cell.as_str())).or_insert(0);
            *most = made.attempt.max(*most);
        }
        let planned = design.order.len();
        let outcome = Outcome { planned, finished: planned - todo.len(), ..Outcome::default() };
        (todo, Conduct { plan, record, means, design, estimate, attempts, series: None, outcome })
    }

    /// The set-up or tear-down of the whole study.
    fn around(&self, what: &'static str) -> Result<(), Broken> {
        let command = if what == "set-up" { &self.plan.around.setup } else { &self.plan.around.teardown };
        let run = OneRun::of_study(self.plan, self.record, self.means);
        command.as_ref().map_or(Ok(()), |command| run.step(what, command))
    }

    fn all(&mut self, todo: &[Slot], watch: &mut Watch<'_>) -> Result<(), Broken> {
        for (n, slot) in todo.iter().enumerate() {
            self.slot(*slot, &todo[n + 1..], watch)?;
            if self.plan.cooldown_s > 0.0 && n + 1 < todo.len() {
                let cell = &self.design.cells[slot.cell];
                watch(Event::Doing { slot: *slot, cell, what: "resting", seconds: 0.0 });
            }
            // Also sees a signal that came between two steps.
            let rest = if n + 1 < todo.len() { self.plan.cooldown_s } else { 0.0 };
            if let Some(signal) = pause(rest).map_err(StudyError::from)? {
                return Err(Broken::Interrupted(signal));
            }
        }
        Ok(())
    }

    /// Sets up the level of a series that `run` needs, and tears down the one before.
    fn enter_series(&mut self, slot: Slot, run: &OneRun<'_>, watch: &mut Watch<'_>) -> Result<(), Broken> {
        let Some(factor) = self.plan.factors.iter().position(|f| self.plan.series.as_ref() == Some(&f.name)) else {
            return Ok(());
        };
        let level = self.design.cells[slot.cell].levels[factor];
        if self.series.is_some_and(|(now, of)| now == level && of.block == slot.block) {
            return Ok(());
        }
        self.leave_series(watch)?;
        // Also what was set up in part is torn down.
        self.series = Some((level, slot));
        let entered = run.begin_series(&self.plan.factors[factor].levels[level], watch);
        if entered.is_err() {
            self.leave_series(watch)?;
        }
        entered
    }

    fn leave_series(&mut self, watch: &mut Watch<'_>) -> Result<(), Broken> {
        let Some((level, slot)) = self.series.take() else { return Ok(()) };
        let Some(factor) = self.plan.factors.iter().find(|f| self.plan.series.as_ref() == Some(&f.name)) else {
            return Ok(());
        };
        let run = OneRun::new(self.plan, self.record, self.means, slot, &self.design.cells[slot.cell], 1);
        run.end_series(&factor.levels[level], watch)
    }

    /// One planned run, tried as often as in the plan.
    fn slot(&mut self, slot: Slot, rest: &[Slot], watch: &mut Watch<'_>) -> Result<(), Broken> {
        let design = self.design;
        let cell = &design.cells[slot.cell];
        for retry in 0..=self.plan.retries {
            let attempt = self.attempts.entry((slot.block, &cell.label)).or_insert(0);
            *attempt += 1;
            let run = OneRun::new(self.plan, self.record, self.means, slot, cell, *attempt);
            let made = self.enter_series(slot, &run, watch).and_then(|()| run.make(watch));
            match made {
                Ok(made) => {
                    self.estimate.add(slot.cell, made.seconds);
                    self.outcome.new += 1;
                    self.outcome.finished += 1;
                    let left_s = self.estimate.rest(rest.iter().copied());
                    let (seconds, finished) = (made.seconds, self.outcome.finished);
                    watch(Event::Finished { slot, cell, run: &made.run, seconds, finished, left_s });
                    return Ok(());
                }
                Err(Broken::Failed(why)) => {
                    self.outcome.failed += 1;
                    let again = retry < self.plan.retries;
                    watch(Event::Failed { slot, cell, why: &why.to_string(), again });
                    if !again && !self.plan.goes_on {
                        let (block, cell) = (slot.block, cell.label.clone());
                        return Err(Broken::Fatal(StudyError::Run { block, cell, why: why.to_string() }));
                    }
                }
                // A command that is not there will not be there for the next run either.
                Err(Broken::Fatal(StudyError::Record(RecordError::Command { source, command }))) => {
                    let why = format!("cannot run `{command}` in {}: {source}", self.plan.directory.display());
                    let (block, cell) = (slot.block, cell.label.clone());
                    return Err(Broken::Fatal(StudyError::Run { block, cell, why }));
                }
                Err(broken) => return Err(broken),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "conduct_tests.rs"]
mod tests;
