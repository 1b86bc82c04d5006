//! Runs that follow one another: at a boundary the open run gives way to the next, and no interval is lost or counted twice.

use fenxi_model::Rows;
use fenxi_store::StoreError;

use crate::{
    observed::Observed,
    open_run::{CurrentRun, Ending, Moment},
    plan::{Plan, Roll},
    recorder::cpu_of,
    recording::{Broken, Recording},
    retention,
    roll::{Grid, SHORT, is_over},
    sampler::{Round, Sampler},
    stage::{Outcome, Stage, Watch},
    time::Time,
    trigger::Armed,
};

/// Differences between the clocks below this are noise of reading them one after the other, in microseconds.
const NOISE_US: i64 = 10_000;

/// A plan by other options, and its sampler, started.
struct Anew {
    plan: Plan,
    sampler: Sampler,
    /// The options at the start.
    rows: Rows,
}

impl<T: Time> Recording<T> {
    /// Begins the next run when the tick that was just taken is the last one of the open run.
    pub(crate) fn roll_when_due(&mut self, watch: &mut Watch<'_>) -> Result<(), Broken> {
        let t = self.time_at(self.last_tick);
        let interval_s = self.plan.interval_s;
        let every_s = self.plan.roll.as_ref().map(|roll| roll.every_s);
        match every_s {
            Some(every_s) if is_over(every_s, interval_s, self.current.began().wall, t) => self.roll(None, watch),
            _ => Ok(()),
        }
    }

    /// Begins a run anew on SIGHUP, with options that are read again.
    pub(crate) fn begin_anew(&mut self, watch: &mut Watch<'_>) -> Result<(), Broken> {
        self.reload = false;
        // Before the last sample, which ends what only a new plan would begin again.
        let anew = self.read_anew();
        // The rest of the interval belongs to the run that ends; it is made long enough to mean something.
        let until = self.last_tick + self.plan.interval_s * SHORT;
        while self.time.monotonic() < until && self.interrupted.is_none() {
            self.wait(until)?;
        }
        let _ = self.tick(if anew.is_some() { Round::Last } else { Round::Tick }, watch)?;
        self.roll(anew, watch)?;
        self.grid = self.grid_from_now();
        Ok(())
    }

    /// Reads the options again and starts what they name. Options that cannot be read, or whose sources cannot start, change
    /// nothing.
    fn read_anew(&mut self) -> Option<Anew> {
        let read = self.plan.roll.as_mut().and_then(|roll| roll.reload.as_mut()).map(|reload| reload())?;
        let started = read.map_err(|why| format!("options were not read, those before hold: {why}")).and_then(|plan| {
            let mut rows = Rows::new(&plan.host);
            let sampler = Sampler::start(&plan.sources, &plan.root, &mut rows).map_err(|why| why.to_string())?;
            Ok(Anew { plan, sampler, rows })
        });
        match started {
            Ok(anew) => Some(anew),
            Err(why) => {
                self.rows.event(self.time_at(self.last_tick), "not reloaded", "recorder", &why);
                None
            }
        }
    }

    /// Lets the open run give way to the next at the last tick: with the collectors at work, so that counters go on, or
    /// with those of another plan.
    fn roll(&mut self, anew: Option<Anew>, watch: &mut Watch<'_>) -> Result<(), Broken> {
        let t = self.time_at(self.last_tick);
        let (plan, sampler, rows) = match anew {
            Some(Anew { plan, sampler, rows }) => (Some(plan), Some(sampler), rows),
            None => (None, None, Rows::new(&self.plan.host)),
        };
        let at = self.follow_clock();
        let next = match self.begin_next(plan.as_ref(), sampler.as_ref(), at) {
            Ok(next) => next,
            Err(error) => {
                // The open run goes on; it is tried again after the next tick.
                self.rows.event(t, "not kept", "recorder", &format!("the next run could not be begun: {error}"));
                return Ok(());
            }
        };
        self.sampler.sample_facts(&self.time, t, &mut self.rows);
        self.armed.iter_mut().for_each(|armed| armed.roll(t, &mut self.rows, next.id()));
        let last_rows = std::mem::replace(&mut self.rows, rows);
        let ended = std::mem::replace(&mut self.current, next);
        let elapsed_s = self.last_tick - ended.began().steady;
        let (windows, cost) =
            self.armed.as_mut().map_or_else(Default::default, |armed| armed.windows_and_cost(ended.began().wall, t));
        let (exit_status, signal, outcome) = (None, None, self.outcome());
        let how = Ending { at: t, exit_status, signal, outcome, beside_work: false, windows, cost };
        let of = self.plan.series();
        let ended = Observed { of, ..ended.end(&mut self.sampler, last_rows, elapsed_s, how) };
        match sampler {
            Some(sampler) => self.sampler = sampler,
            None => self.sampler.begin_next(at.wall, &mut self.rows),
        }
        self.sampler.sample_facts(&self.time, at.wall, &mut self.rows);
        if let Some(plan) = plan {
            self.plan = plan;
            self.armed = Armed::from_plan(&self.plan, self.current.id(), self.last_tick);
            // Its counters are remembered from now on.
            self.sampler.sample(&self.time, at.wall, Round::First, &mut self.rows);
            self.last_tick = self.time.monotonic();
        }
        self.runs += 1;
        let _ = watch(Stage::Rolled { run: self.current.id(), rows: &self.rows });
        self.append()?;
        if let Some(housekeeping) = &self.housekeeping {
            housekeeping.seal(ended);
        }
        self.apply_retention();
        Ok(())
    }

    /// The next run; where the disk is full, the oldest run of the series makes room for it.
    fn begin_next(&self, plan: Option<&Plan>, sampler: Option<&Sampler>, at: Moment) -> Result<CurrentRun, StoreError> {
        let plan = plan.unwrap_or(&self.plan);
        loop {
            match CurrentRun::begin(plan, sampler.unwrap_or(&self.sampler), at, cpu_of(plan)) {
                Err(error) if error.is_full() && self.make_room() => {}
                begun => return begun,
            }
        }
    }

    /// Keeps the rows that were gathered. Where the disk is full, but for what sealing the run takes, the oldest runs of the
    /// series make room; where there are none, the rows of this tick are lost, and reported.
    pub(crate) fn append(&mut self) -> Result<(), Broken> {
        loop {
            let is_short = self.plan.roll.is_some() && !self.current.has_room();
            let error = match if is_short { Err(full()) } else { self.current.append(&mut self.rows) } {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            if self.plan.roll.is_none() || !error.is_full() {
                return Err(Broken::Store(error));
            }
            if !self.make_room() {
                self.current.lose_rows();
                self.progress.missed += 1;
                self.current.count_missed(1);
                let text = format!("the rows of a tick are lost: {error}");
                self.rows.clear();
                self.rows.event(self.time_at(self.last_tick), "not kept", "recorder", &text);
                return Ok(());
            }
        }
    }

    /// Removes the oldest run of the series; false when there is none that may go.
    fn make_room(&self) -> bool {
        let (Some(store), Some(roll)) = (&self.plan.store, &self.plan.roll) else { return false };
        retention::make_room(store, &roll.series, None).unwrap_or(false)
    }

    /// Lets old runs be merged and removed beside sampling.
    pub(crate) fn apply_retention(&mut self) {
        let now = self.time.wall();
        if let (Some(store), Some(Roll { series, keep, .. }), Some(housekeeping)) =
            (&self.plan.store, &self.plan.roll, &self.housekeeping)
        {
            housekeeping.apply_retention(store, series, keep, now);
        }
    }

    /// The moment of the last tick, at which the next run begins. Its own time follows the wall clock where that has stepped.
    fn follow_clock(&mut self) -> Moment {
        let now = self.time.monotonic();
        let off_us = self.time.wall().0 - self.time_at(now).0;
        if off_us.abs() > NOISE_US {
            self.origin.wall.0 += off_us;
            self.grid = self.grid_from_now();
            // The number is that of the tick just taken, as it is everywhere after a tick.
            self.grid.n -= 1;
        }
        Moment { wall: self.time_at(self.last_tick), steady: self.last_tick }
    }

    fn grid_from_now(&self) -> Grid {
        Grid::aligned(self.time.wall(), self.time.monotonic(), self.plan.interval_s)
    }

    fn outcome(&self) -> Outcome {
        Outcome {
            run: None,
            runs: self.runs,
            exit_code: None,
            interrupted: None,
            out_of_time: false,
            progress: self.progress.clone(),
            cpu_s: 0.0,
            triggered: Vec::new(),
        }
    }
}

/// The error for a disk that has just enough room for sealing a run.
fn full() -> StoreError {
    StoreError::Io {
        source: std::io::Error::new(std::io::ErrorKind::StorageFull, "what room is left is for sealing the run"),
    }
}
