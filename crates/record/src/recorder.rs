//! The recording loop: from the first sample to the sealed run.

use std::{io, ops::ControlFlow};

use fenxi_model::{Micros, Rows, RunId, command_without_secrets};
use fenxi_source::Root;
use fenxi_store::{BOOT, Begin, End, OpenRun, SourceCost, StoreError};
use nix::sys::signal::Signal;

use crate::{
    clock::{self, StepWatch},
    command::{Ended, Running},
    observed::{Cpu, Observed},
    plan::Plan,
    sampler::{Round, Sampler},
    summary::Progress,
    time::{SystemTime, Time},
    wake::Wake,
};

/// What the recorder does at the moment, told to the caller.
#[derive(Clone, Debug)]
pub enum Stage<'a> {
    /// The recording began.
    Began {
        /// The id of the run, if one is kept.
        run: Option<&'a RunId>,
        /// Facts, and notes on sources that could not start.
        rows: &'a Rows,
    },
    /// Averages since the system's boot, at the moment when the recording began.
    SinceBoot {
        /// The moment.
        t: Micros,
        /// Seconds since boot.
        dt: f64,
        /// What was sampled.
        rows: &'a Rows,
    },
    /// A tick was taken.
    Tick {
        /// How far the recording is.
        progress: &'a Progress,
        /// The end of the interval.
        t: Micros,
        /// Seconds since the tick before.
        dt: f64,
        /// What was sampled.
        rows: &'a Rows,
    },
    /// Sampling has ended; the run is being written.
    Sealing,
}

/// Callback for each stage of a recording; `Break` stops it.
pub type Watch<'a> = dyn FnMut(Stage<'_>) -> ControlFlow<()> + 'a;

/// How a recording ended.
#[derive(Debug)]
pub struct Outcome {
    /// The sealed run; None when nothing was to be kept.
    pub run: Option<RunId>,
    /// Exit status of the command, as a shell gives it.
    pub exit_code: Option<i32>,
    /// Signal that ended the recording early.
    pub interrupted: Option<i32>,
    /// Whether the command still ran when the planned time was over, and was ended.
    pub out_of_time: bool,
    /// Ticks taken and missed, and the last summary.
    pub progress: Progress,
    /// CPU seconds the recorder used, all included.
    pub cpu_s: f64,
}

/// Why a recording failed.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The command could not be started; nothing is kept.
    #[error("cannot run `{command}`: {source}")]
    Command {
        /// The program.
        command: String,
        /// Why.
        source: io::Error,
    },
    /// Of what was to be observed, nothing can be: a line for each source.
    #[error("nothing can be observed: {0}")]
    NoSource(String),
    /// The kernel refused timers or signal descriptors.
    #[error("cannot wait for the next sample: {0}")]
    Wait(#[from] io::Error),
    /// The run could not be begun or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The run could not be written any more. What was recorded until then is kept open.
    #[error(
        "recording stopped after {elapsed_s:.1} s: {source} (what was recorded until then is kept; the next command that opens the store seals it)"
    )]
    Append {
        /// Seconds recorded.
        elapsed_s: f64,
        /// Why.
        source: StoreError,
        /// Exit status of the command, which was let run to its end.
        exit_code: Option<i32>,
    },
}

/// How long a command may take to end after SIGTERM before it is killed.
pub(crate) const GRACE_S: f64 = 5.0;

/// Records until the planned time is over, the command ends or a signal asks for the end; then seals.
///
/// Blocks SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGCHLD in the calling thread meanwhile. With a
/// command, signals from other processes are passed on to it and recording goes on until it ends.
/// `watch` is told of each stage; it must be quick, and ends the recording by breaking.
///
/// # Errors
/// When the store or the command cannot be begun, or the run can no longer be written.
pub fn record(plan: Plan, watch: &mut Watch<'_>) -> Result<Outcome, RecordError> {
    let observed = observe(plan, watch)?;
    let _ = watch(Stage::Sealing);
    observed.seal()
}

/// As [`record`], up to the last sample: the caller may add to the run before it is sealed.
///
/// A command that is contained is ended, with all of its process group, by a signal that asks for the end.
///
/// # Errors
/// As [`record`].
pub fn observe(plan: Plan, watch: &mut Watch<'_>) -> Result<Observed, RecordError> {
    let time = SystemTime::new(plan.command.is_some())?;
    observe_in(time, plan, watch)
}

/// As [`observe`], in a time of its own.
pub(crate) fn observe_in(time: impl Time, plan: Plan, watch: &mut Watch<'_>) -> Result<Observed, RecordError> {
    let cpu_before = if plan.beside_work { clock::thread_cpu() } else { clock::process_cpu() };
    let mut rows = Rows::new(&plan.host);
    let mut sampler = Sampler::start(&plan.sources, &plan.root, &mut rows)?;
    let begun = time.wall();
    sampler.sample_facts(&time, begun, &mut rows);
    let mut open = plan.store.as_ref().map(|store| store.begin(begin(&plan, &sampler, begun))).transpose()?;
    let _ = watch(Stage::Began { run: open.as_ref().map(OpenRun::id), rows: &rows });
    if let Some(open) = &mut open {
        open.append(&mut rows)?;
    }
    rows.clear();

    let started = time.monotonic();
    let wall = time.wall();
    let uptime_s = if plan.since_boot { uptime(&plan.root) } else { None };
    sampler.sample(&time, wall, uptime_s.map_or(Round::First, |seconds| Round::SinceBoot { seconds }), &mut rows);
    let mut flow = ControlFlow::Continue(());
    if let Some(dt) = uptime_s {
        flow = watch(Stage::SinceBoot { t: wall, dt, rows: &rows });
        if let Some(open) = &mut open {
            open.append_apart(BOOT, &mut rows)?;
        }
        rows.clear();
    }
    let command = match plan.command.as_deref().map(|c| Running::start(c, plan.contained.as_ref())).transpose() {
        Ok(command) => command,
        Err(source) => {
            open.map_or(Ok(()), OpenRun::discard)?;
            let command = plan.command.iter().flatten().next().map(|c| c.to_string_lossy().into_owned());
            return Err(RecordError::Command { command: command.unwrap_or_default(), source });
        }
    };
    let mut recording = Recording {
        plan: &plan,
        time,
        sampler,
        rows,
        open,
        append_cost: SourceCost { source: "store".to_owned(), ..SourceCost::default() },
        command,
        ended: None,
        started,
        wall_at_start: wall,
        steps: StepWatch::new(wall, started),
        last_tick: started,
        progress: Progress { planned_s: plan.duration_s, ..Progress::default() },
        interrupted: None,
        out_of_time: false,
        kill_at: None,
    };
    if flow.is_continue()
        && let Err(source) = recording.run(watch)
    {
        return Err(recording.give_up(source));
    }
    Ok(recording.end(cpu_before))
}

fn begin(plan: &Plan, sampler: &Sampler, start: Micros) -> Begin {
    let words: Vec<_> = plan.command.iter().flatten().map(|word| word.to_string_lossy()).collect();
    Begin {
        name: Some(plan.name.clone()),
        kind: "record".to_owned(),
        host: plan.host.clone(),
        command: command_without_secrets(&words),
        tags: plan.tags.clone(),
        start,
        interval_s: Some(plan.interval_s),
        random: plan.random,
        sources: sampler.names(),
        params: plan.params.clone(),
    }
}

/// Seconds since the system's boot.
fn uptime(root: &Root) -> Option<f64> {
    root.read_text("/proc/uptime")?.split_ascii_whitespace().next()?.parse().ok()
}

/// The least part of an interval that a last sample is taken of.
const SHORT: f64 = 0.1;

struct Recording<'a, T: Time> {
    plan: &'a Plan,
    time: T,
    sampler: Sampler,
    rows: Rows,
    open: Option<OpenRun>,
    append_cost: SourceCost,
    command: Option<Running>,
    ended: Option<Ended>,
    started: f64,
    wall_at_start: Micros,
    steps: StepWatch,
    last_tick: f64,
    progress: Progress,
    interrupted: Option<i32>,
    out_of_time: bool,
    kill_at: Option<f64>,
}

/// Why a recording in progress stops.
#[derive(Debug)]
enum Broken {
    Wait(io::Error),
    Store(StoreError),
}

impl<T: Time> Recording<'_, T> {
    /// The run's own time: the wall clock at the start plus steady seconds, so that it never goes back.
    fn time_at(&self, steady: f64) -> Micros {
        Micros(self.wall_at_start.0 + ((steady - self.started) * 1e6).round() as i64)
    }

    fn run(&mut self, watch: &mut Watch<'_>) -> Result<(), Broken> {
        let interval = self.plan.interval_s;
        let end = self.plan.duration_s.map(|d| self.started + d);
        let mut n = 1_u64;
        loop {
            let deadline = self.started + n as f64 * interval;
            let last = end.is_some_and(|end| deadline >= end - interval * 1e-6);
            let until = if last { end.unwrap_or(deadline) } else { deadline };
            if !self.wait(until)? {
                // A command that was asked to end by a signal to us may still be at it.
                self.wait_for_command()?;
                // Ended between two ticks: the rest is sampled if it is long enough to mean anything. Where sources read much at
                // the end only, it is made so.
                let mut whole = self.plan.whole && self.ended.is_some();
                if !whole && self.sampler.reads_at_end() {
                    self.wait(self.last_tick + interval * SHORT)?;
                    whole = true;
                }
                if whole || self.time.monotonic() - self.last_tick >= interval * SHORT {
                    let _ = self.tick(Round::Last, watch)?;
                }
                return Ok(());
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
            n = self.next_deadline(n)?;
        }
    }

    /// Sleeps until `until`; false when the recording shall end before.
    fn wait(&mut self, until: f64) -> Result<bool, Broken> {
        loop {
            match self.time.sleep_until(Some(until)).map_err(Broken::Wait)? {
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

    /// Whether the command has ended; false when there is none.
    fn reap(&mut self) -> Result<bool, Broken> {
        let Some(command) = &mut self.command else { return Ok(false) };
        if let Some(ended) = command.ended().map_err(Broken::Wait)? {
            if self.out_of_time || self.interrupted.is_some() {
                command.kill_rest();
            }
            self.ended = Some(ended);
            self.command = None;
        }
        Ok(self.ended.is_some())
    }

    /// Passes a signal on to the command, or ends the recording; true when it shall end now.
    fn on_signal(&mut self, signal: Signal, ends: bool, by_process: bool) -> bool {
        match &self.command {
            Some(_) if ends && self.plan.contained.is_some() => {
                self.interrupted = Some(signal as i32);
                self.ask_to_end();
                true
            }
            Some(command) => {
                if by_process {
                    command.signal(signal);
                }
                false
            }
            None => {
                if ends {
                    self.interrupted = Some(signal as i32);
                }
                ends
            }
        }
    }

    /// The number of the next tick to take: a deadline that passed less than half an interval ago
    /// is taken late (its row says how long it really covers), an older one is a missed tick.
    fn next_deadline(&mut self, n: u64) -> Result<u64, Broken> {
        let missed = missed(self.time.monotonic() - self.started, self.plan.interval_s, n + 1);
        if missed > 0 {
            self.progress.missed += missed;
            let t = self.time_at(self.time.monotonic());
            let text = format!(
                "{missed} planned since {} not taken: sampling took too long",
                self.time_at(self.last_tick).iso()
            );
            self.rows.event(t, "missed tick", "recorder", &text);
        }
        Ok(n + missed + 1)
    }

    fn tick(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<ControlFlow<()>, Broken> {
        let now = self.time.monotonic();
        let t = self.time_at(now);
        if let Some(step) = self.steps.step(self.time.wall(), now) {
            let text = format!(
                "the wall clock stepped by {step:+.3} s against the monotonic clock; timestamps of the run do not follow it"
            );
            self.rows.event(t, "clock step", "recorder", &text);
        }
        let dt = now - std::mem::replace(&mut self.last_tick, now);
        self.sampler.sample(&self.time, t, round, &mut self.rows);
        self.progress.ticks += 1;
        self.progress.elapsed_s = now - self.started;
        self.progress.look(&self.rows);
        let flow = watch(Stage::Tick { progress: &self.progress, t, dt, rows: &self.rows });
        self.append()?;
        Ok(flow)
    }

    fn append(&mut self) -> Result<(), Broken> {
        let (began, cpu) = (clock::monotonic(), clock::thread_cpu());
        self.append_cost.rows += self.rows.len() as u64;
        match &mut self.open {
            Some(open) => open.append(&mut self.rows).map_err(Broken::Store)?,
            None => self.rows.clear(),
        }
        let wall = clock::monotonic() - began;
        self.append_cost.samples += 1;
        self.append_cost.cpu_s += clock::thread_cpu() - cpu;
        self.append_cost.wall_s += wall;
        self.append_cost.max_s = self.append_cost.max_s.max(wall);
        Ok(())
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
            command.signal(Signal::SIGTERM);
            self.kill_at = Some(self.time.monotonic() + GRACE_S);
        }
    }

    fn wait_for_command(&mut self) -> Result<(), Broken> {
        while self.command.is_some() && !self.reap()? {
            match self.time.sleep_until(self.kill_at).map_err(Broken::Wait)? {
                Wake::Deadline => {
                    self.kill_at = None;
                    if let Some(command) = &self.command {
                        command.signal(Signal::SIGKILL);
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
    fn give_up(mut self, broken: Broken) -> RecordError {
        let elapsed_s = self.last_tick - self.started;
        let waited = self.wait_for_command();
        match (broken, waited) {
            (Broken::Store(source), _) => {
                RecordError::Append { elapsed_s, source, exit_code: self.ended.as_ref().map(Ended::exit_code) }
            }
            (Broken::Wait(e), _) => RecordError::Wait(e),
        }
    }

    /// The last facts and the command's results; the run is not sealed yet.
    fn end(mut self, cpu_before: f64) -> Observed {
        let t = self.time_at(self.time.monotonic());
        self.sampler.sample_facts(&self.time, t, &mut self.rows);
        if let Some(ended) = &self.ended {
            ended.results(t, &mut self.rows);
        }
        let exit_code = self.ended.as_ref().map(Ended::exit_code);
        let of_threads = self.sampler.cpu_of_threads();
        let mut costs = self.sampler.into_costs();
        costs.push(self.append_cost);
        let cpu = if self.plan.beside_work {
            Cpu::Known(clock::thread_cpu() - cpu_before + of_threads)
        } else {
            Cpu::OfProcessSince(cpu_before)
        };
        let end = End {
            exit_status: exit_code,
            signal: self.ended.as_ref().and_then(Ended::signal),
            costs,
            ticks: self.progress.ticks,
            missed_ticks: self.progress.missed,
            ..End::at(self.wall_at_start.max(t))
        };
        let outcome = Outcome {
            run: None,
            exit_code,
            interrupted: self.interrupted,
            out_of_time: self.out_of_time,
            progress: self.progress,
            cpu_s: 0.0,
        };
        Observed { open: self.open, rows: self.rows, began: self.wall_at_start, end, outcome, cpu }
    }
}

/// How many deadlines from number `next` on are past saving when `elapsed_s` have gone by.
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
