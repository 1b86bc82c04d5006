//! The loop of a recording: ticks, signals, the command, and runs that give way to the next.

use std::{io, ops::ControlFlow};

use fenxi_model::{Micros, Rows};
use fenxi_store::StoreError;
use rustix::process::Signal;

use crate::{
    between::Pace,
    clock::StepWatch,
    command::{Ended, GRACE_S, Running},
    error::RecordError,
    housekeeping::Housekeeping,
    observed::Observed,
    open_run::{CurrentRun, Ending, Moment},
    plan::Plan,
    roll::{Grid, SHORT},
    sampler::{Round, Sampler},
    stage::{Outcome, Stage, Watch},
    summary::Progress,
    time::Time,
    trigger::Armed,
    wake::Wake,
};

/// A recording in progress.
pub(crate) struct Recording<T: Time> {
    pub(crate) plan: Plan,
    pub(crate) time: T,
    pub(crate) sampler: Sampler,
    pub(crate) rows: Rows,
    /// The run that rows go to.
    pub(crate) current: CurrentRun,
    /// Work beside sampling where runs follow one another.
    pub(crate) housekeeping: Option<Housekeeping>,
    /// Triggers to watch for.
    pub(crate) armed: Option<Armed>,
    pub(crate) command: Option<Running>,
    /// When the command is looked at between two ticks; None where nothing can.
    pace: Option<Pace>,
    pub(crate) ended: Option<Ended>,
    /// When sampling began.
    pub(crate) started: Moment,
    /// From where the run's own time counts: the wall clock there plus steady seconds, so that it never goes back.
    pub(crate) origin: Moment,
    pub(crate) grid: Grid,
    pub(crate) steps: StepWatch,
    pub(crate) last_tick: f64,
    pub(crate) progress: Progress,
    /// Runs begun.
    pub(crate) runs: u64,
    /// CPU seconds that had been used when the first of them began.
    cpu_first: f64,
    pub(crate) interrupted: Option<i32>,
    /// Whether the options are to be read anew.
    pub(crate) reload: bool,
    pub(crate) out_of_time: bool,
    pub(crate) kill_at: Option<f64>,
}

/// Why a recording in progress stops.
#[derive(Debug)]
pub(crate) enum Broken {
    Wait(io::Error),
    Store(StoreError),
}

impl<T: Time> Recording<T> {
    pub(crate) fn new(
        plan: Plan,
        time: T,
        sampler: Sampler,
        rows: Rows,
        current: CurrentRun,
        command: Option<Running>,
        started: Moment,
    ) -> Recording<T> {
        let Moment { wall, steady } = started;
        let grid = match &plan.roll {
            Some(_) => Grid::aligned(wall, steady, plan.interval_s),
            None => Grid::from(steady),
        };
        let looks = command.is_some() && sampler.looks_between();
        let mut recording = Recording {
            pace: looks.then(|| Pace::begin(steady, plan.interval_s)),
            armed: Armed::from_plan(&plan, current.id(), steady),
            cpu_first: current.cpu_before(),
            housekeeping: plan.roll.as_ref().map(|_| Housekeeping::start(time.flows())),
            progress: Progress { planned_s: plan.duration_s, ..Progress::default() },
            plan,
            time,
            sampler,
            rows,
            current,
            command,
            ended: None,
            started,
            origin: started,
            grid,
            steps: StepWatch::new(wall, steady),
            last_tick: steady,
            runs: 1,
            interrupted: None,
            reload: false,
            out_of_time: false,
            kill_at: None,
        };
        recording.apply_retention();
        recording
    }

    /// The run's own time.
    pub(crate) fn time_at(&self, steady: f64) -> Micros {
        Micros(self.origin.wall.0 + ((steady - self.origin.steady) * 1e6).round() as i64)
    }

    pub(crate) fn run(&mut self, watch: &mut Watch<'_>) -> Result<(), Broken> {
        let end = self.plan.duration_s.map(|d| self.started.steady + d);
        loop {
            let interval = self.plan.interval_s;
            let deadline = self.grid.due(interval);
            let last = end.is_some_and(|end| deadline >= end - interval * 1e-6);
            let until = if last { end.unwrap_or(deadline) } else { deadline };
            if !self.wait(until)? {
                if self.reload {
                    self.begin_anew(watch)?;
                }
                if self.interrupted.is_none() && self.command.is_none() && self.ended.is_none() {
                    continue;
                }
                return self.run_out(watch);
            }
            let flow = self.tick(if last { Round::Last } else { Round::Tick }, watch)?;
            if flow.is_break() && !last && self.plan.beside_work {
                // Some sources are read seldom, and at the end: that takes an interval, if a short one.
                self.wait(self.last_tick + interval * SHORT)?;
                let _ = self.tick(Round::Last, &mut |_| ControlFlow::Continue(()))?;
            }
            if last || flow.is_break() {
                return self.end_command();
            }
            self.roll_when_due(watch)?;
            self.next_deadline();
        }
    }

    /// Takes the last sample of a recording that ended between two ticks.
    fn run_out(&mut self, watch: &mut Watch<'_>) -> Result<(), Broken> {
        let interval = self.plan.interval_s;
        // A command that was asked to end by a signal to us may still be at it.
        self.wait_for_command()?;
        // The rest is sampled if it is long enough to mean anything. Where sources read much at the end only, it is made so.
        let mut whole = self.plan.whole && self.ended.is_some();
        if !whole && self.sampler.reads_at_end() {
            self.wait(self.last_tick + interval * SHORT)?;
            whole = true;
        }
        if whole || self.time.monotonic() - self.last_tick >= interval * SHORT {
            let _ = self.tick(Round::Last, watch)?;
        }
        Ok(())
    }

    /// Sleeps until `until`; false when the recording shall end before.
    pub(crate) fn wait(&mut self, until: f64) -> Result<bool, Broken> {
        loop {
            let look = self.pace.as_ref().and_then(|pace| pace.next(self.last_tick, until));
            match self.time.sleep_until(Some(look.unwrap_or(until))).map_err(Broken::Wait)? {
                Wake::Deadline if look.is_some() => self.look(),
                Wake::Deadline => return Ok(true),
                Wake::Child => {
                    if self.reap()? {
                        return Ok(false);
                    }
                }
                Wake::Signal { signal, ends, by_process } => {
                    if self.on_signal(signal, ends, by_process) {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// Looks at what the command does between two ticks.
    fn look(&mut self) {
        let now = self.time.monotonic();
        let t = self.time_at(now);
        let cpu_s = self.sampler.look(&self.time, t, &mut self.rows);
        if let Some(pace) = &mut self.pace {
            pace.looked(now, cpu_s);
        }
    }

    /// Whether the command has ended; false when there is none.
    fn reap(&mut self) -> Result<bool, Broken> {
        let Some(command) = &mut self.command else { return Ok(false) };
        if let Some(ended) = command.ended().map_err(Broken::Wait)? {
            if self.out_of_time || self.interrupted.is_some() {
                command.kill_rest();
            }
            self.ended = Some(ended);
            (self.command, self.pace) = (None, None);
        }
        Ok(self.ended.is_some())
    }

    /// Passes a signal on to the command, or ends the recording; true when it shall end now.
    fn on_signal(&mut self, signal: Signal, ends: bool, by_process: bool) -> bool {
        match &self.command {
            Some(_) if ends && self.plan.contained.is_some() => {
                self.interrupted = Some(signal.as_raw());
                self.ask_to_end();
                true
            }
            Some(command) => {
                if by_process {
                    command.signal(signal);
                }
                false
            }
            // A recording without an end or a command is asked to begin anew, as services are.
            None if signal == Signal::HUP && self.plan.roll.is_some() => {
                self.reload = true;
                true
            }
            None => {
                if ends {
                    self.interrupted = Some(signal.as_raw());
                }
                ends
            }
        }
    }

    /// Goes on to the next tick to take: a deadline that passed less than half an interval ago
    /// is taken late (its row has the interval that it really covers), an older one is a missed tick.
    fn next_deadline(&mut self) {
        let missed = missed(self.time.monotonic() - self.grid.origin, self.plan.interval_s, self.grid.n + 1);
        if missed > 0 {
            self.progress.missed += missed;
            self.current.count_missed(missed);
            let t = self.time_at(self.time.monotonic());
            let text = format!(
                "{missed} planned since {} not taken: sampling took too long",
                self.time_at(self.last_tick).iso()
            );
            self.rows.event(t, "missed tick", "recorder", &text);
        }
        self.grid.n += missed + 1;
    }

    pub(crate) fn tick(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<ControlFlow<()>, Broken> {
        let now = self.time.monotonic();
        let t = self.time_at(now);
        if let Some(step) = self.steps.step(self.time.wall(), now) {
            let text = format!(
                "the wall clock stepped by {step:+.3} s against the monotonic clock; timestamps of the run do not follow it"
            );
            self.rows.event(t, "clock step", "recorder", &text);
        }
        for error in self.housekeeping.iter().flat_map(Housekeeping::take_errors) {
            self.rows.event(t, "not kept", "recorder", &error);
        }
        let dt = now - std::mem::replace(&mut self.last_tick, now);
        self.sampler.sample(&self.time, t, round, &mut self.rows);
        if let Some(armed) = &mut self.armed {
            armed.look(now, t, &mut self.sampler, &mut self.rows);
        }
        self.progress.ticks += 1;
        self.current.count_tick();
        self.progress.elapsed_s = now - self.started.steady;
        self.progress.look(&self.rows);
        let flow = watch(Stage::Tick { progress: &self.progress, t, dt, rows: &self.rows });
        // Rows that waited for a trigger come before those of this tick.
        for rows in self.armed.as_mut().map_or(Vec::new(), |armed| armed.keep(now, &mut self.rows)) {
            let last = std::mem::replace(&mut self.rows, rows);
            self.append()?;
            self.rows = last;
        }
        self.append()?;
        Ok(flow)
    }

    /// The planned time is over: asks a command that still runs to end, and waits until it has.
    fn end_command(&mut self) -> Result<(), Broken> {
        self.out_of_time = self.command.is_some();
        self.ask_to_end();
        self.wait_for_command()
    }

    /// Asks a command that still runs to end; it is killed when it does not in time.
    fn ask_to_end(&mut self) {
        if let Some(command) = &self.command {
            command.signal(Signal::TERM);
            self.kill_at = Some(self.time.monotonic() + GRACE_S);
        }
    }

    fn wait_for_command(&mut self) -> Result<(), Broken> {
        while self.command.is_some() && !self.reap()? {
            match self.time.sleep_until(self.kill_at).map_err(Broken::Wait)? {
                Wake::Deadline => {
                    self.kill_at = None;
                    if let Some(command) = &self.command {
                        command.signal(Signal::KILL);
                    }
                }
                Wake::Child => {}
                Wake::Signal { signal, ends, by_process } => {
                    self.on_signal(signal, ends, by_process);
                }
            }
        }
        Ok(())
    }

    /// The run can no longer be written; the command is somebody's work and runs to its own end.
    pub(crate) fn give_up(mut self, broken: Broken) -> RecordError {
        let elapsed_s = self.last_tick - self.started.steady;
        let waited = self.wait_for_command();
        match (broken, waited) {
            (Broken::Store(source), _) => {
                RecordError::Append { elapsed_s, source, exit_code: self.ended.as_ref().map(Ended::exit_code) }
            }
            (Broken::Wait(e), _) => RecordError::Wait(e),
        }
    }

    /// The last facts and the command's results; the run is not sealed yet.
    pub(crate) fn end(mut self) -> Observed {
        // Runs that are being merged are left as they were, so that the end is quick.
        self.housekeeping.iter().for_each(Housekeeping::hurry);
        let t = self.time_at(self.time.monotonic());
        self.sampler.sample_facts(&self.time, t, &mut self.rows);
        if let Some(ended) = &self.ended {
            ended.results(t, &mut self.rows);
        }
        let rest = self.armed.as_mut().map_or(Vec::new(), |armed| armed.end(t, &mut self.rows));
        rest.iter().for_each(|rows| self.rows.append(rows, Micros(0)));
        let (windows, cost) = self
            .armed
            .as_mut()
            .map_or_else(Default::default, |armed| armed.windows_and_cost(self.current.began().wall, t));
        let outcome = Outcome {
            run: None,
            runs: self.runs,
            exit_code: self.ended.as_ref().map(Ended::exit_code),
            interrupted: self.interrupted,
            out_of_time: self.out_of_time,
            progress: self.progress,
            // That of the runs before; the last one adds its own when it is sealed.
            cpu_s: self.current.cpu_before() - self.cpu_first,
            triggered: self.armed.as_ref().map_or(Vec::new(), Armed::triggered),
        };
        let how = Ending {
            at: t,
            exit_status: outcome.exit_code,
            signal: self.ended.as_ref().and_then(Ended::signal),
            outcome,
            beside_work: self.plan.beside_work,
            windows,
            cost,
        };
        let elapsed_s = (self.last_tick - self.current.began().steady).max(0.0);
        let observed = self.current.end(&mut self.sampler, self.rows, elapsed_s, how);
        Observed { housekeeping: self.housekeeping, of: self.plan.series(), ..observed }
    }
}

/// Number of deadlines from number `next` on that are missed after `elapsed_s`.
pub fn missed(elapsed_s: f64, interval_s: f64, next: u64) -> u64 {
    let behind = elapsed_s / interval_s - next as f64;
    (behind + 0.5).floor().max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::missed;

    #[test]
    fn a_tick_is_taken_late_by_up_to_half_an_interval_and_missed_beyond() {
        let of = |elapsed: f64| missed(elapsed, 1.0, 5);
        assert_eq!([of(4.2), of(5.0), of(5.4), of(5.6), of(6.4), of(6.6), of(9.4)], [0, 0, 0, 1, 1, 2, 4]);
    }
}
