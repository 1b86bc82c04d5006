//! The recording loop: from the first sample to the sealed run.

use std::{ffi::OsString, io, ops::ControlFlow};

use fenxi_model::{Micros, Rows, RunId};
use fenxi_source::Root;
use fenxi_store::{BOOT, StoreError};

use crate::{
    clock,
    command::Running,
    observed::Observed,
    open_run::{CurrentRun, Moment},
    plan::Plan,
    recording::Recording,
    sampler::{Round, Sampler},
    summary::Progress,
    time::{SystemTime, Time},
    trigger::Triggered,
};

/// The recorder's stage, reported to the caller.
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
    /// The run gave way to the next; sampling goes on.
    Rolled {
        /// The id of the new run, if one is kept.
        run: Option<&'a RunId>,
        /// Facts at its begin, and notes.
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
    /// The sealed run, of several the last; None when nothing was to be kept.
    pub run: Option<RunId>,
    /// How many runs there are, one after another.
    pub runs: u64,
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
    /// What became of the conditions that were looked at.
    pub triggered: Vec<Triggered>,
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
/// `watch` is called at each stage; it must be quick, and ends the recording by breaking.
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

/// As [`observe`], with its own clock.
pub(crate) fn observe_in(time: impl Time, mut plan: Plan, watch: &mut Watch<'_>) -> Result<Observed, RecordError> {
    let cpu_before = cpu_of(&plan);
    let mut rows = Rows::new(&plan.host);
    let mut sampler = Sampler::start(&plan.sources, &plan.root, &mut rows)?;
    let begun = time.wall();
    sampler.sample_facts(&time, begun, &mut rows);
    let at = Moment { wall: begun, steady: time.monotonic() };
    let mut run = CurrentRun::begin(&plan, &sampler, at, cpu_before)?;
    let _ = watch(Stage::Began { run: run.id(), rows: &rows });
    run.append(&mut rows)?;

    let started = Moment { wall: time.wall(), steady: time.monotonic() };
    let uptime_s = if plan.since_boot { uptime(&plan.root) } else { None };
    sampler.sample(
        &time,
        started.wall,
        uptime_s.map_or(Round::First, |seconds| Round::SinceBoot { seconds }),
        &mut rows,
    );
    let mut flow = ControlFlow::Continue(());
    if let Some(dt) = uptime_s {
        flow = watch(Stage::SinceBoot { t: started.wall, dt, rows: &rows });
        run.append_apart(BOOT, &mut rows)?;
    }
    // Only the command keeps it, so that its end is seen.
    let output = plan.output.take();
    let start = |words: &[OsString]| Running::start(words, plan.contained.as_ref(), output);
    let command = match plan.command.as_deref().map(start).transpose() {
        Ok(command) => command,
        Err(source) => {
            run.discard()?;
            let command = plan.command.iter().flatten().next().map(|c| c.to_string_lossy().into_owned());
            return Err(RecordError::Command { command: command.unwrap_or_default(), source });
        }
    };
    let mut recording = Recording::new(plan, time, sampler, rows, run, command, started);
    if flow.is_continue()
        && let Err(source) = recording.run(watch)
    {
        return Err(recording.give_up(source));
    }
    Ok(recording.end())
}

/// CPU seconds that were used so far, of what the recorder is to answer for.
pub(crate) fn cpu_of(plan: &Plan) -> f64 {
    if plan.beside_work { clock::thread_cpu() } else { clock::process_cpu() }
}

/// Seconds since the system's boot.
fn uptime(root: &Root) -> Option<f64> {
    root.read_text("/proc/uptime")?.split_ascii_whitespace().next()?.parse().ok()
}
