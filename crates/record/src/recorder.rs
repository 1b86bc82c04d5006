//! The recording loop: from the first sample to the sealed run.

use std::{ffi::OsString, ops::ControlFlow, sync::Arc};

use fenxi_model::Rows;
use fenxi_source::{Binaries, Root};
use fenxi_store::BOOT;

use crate::{
    RecordError, clock,
    command::{self, Running},
    observed::Observed,
    open_run::{CurrentRun, Moment},
    plan::Plan,
    recording::Recording,
    sampler::{Round, Sampler},
    stage::{Outcome, Stage, Watch},
    time::{SystemTime, Time},
};

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
    name_command(&mut plan);
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

/// Has the source `binary`, where it is recorded, look at the command's file too.
fn name_command(plan: &mut Plan) {
    let Some(source) = plan.sources.iter_mut().find(|source| source.spec().name == "binary") else { return };
    if let Some(file) = plan.command.as_deref().and_then(|words| command::file(words, plan.contained.as_ref())) {
        *source = Arc::new(Binaries { command: Some(file) });
    }
}

/// CPU seconds that were used so far, of what the recorder is to answer for.
pub(crate) fn cpu_of(plan: &Plan) -> f64 {
    if plan.beside_work { clock::thread_cpu() } else { clock::process_cpu() }
}

/// Seconds since the system's boot.
fn uptime(root: &Root) -> Option<f64> {
    root.read_text("/proc/uptime")?.split_ascii_whitespace().next()?.parse().ok()
}
