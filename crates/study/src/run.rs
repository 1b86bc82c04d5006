//! Lifecycle of one run of a study: set-up, warm-up, measurement, and tear-down even after failures.

use std::{
    collections::BTreeMap,
    fmt, io,
    net::{TcpStream, ToSocketAddrs},
    ops::ControlFlow,
    time::{Duration, Instant},
};

use fenxi_model::{RunId, Unit};
use fenxi_record::{Cause, Observed, Plan, Stage, observe, pause, run_command};
use fenxi_store::{Begin, End, StoreError};

use crate::{
    StudyError,
    ask::{answer, asked},
    conduct::{Event, Means, Watch},
    design::{Cell, Slot},
    output::Printed,
    plan::{Command, Level, ProbeHow, StudyPlan, Warmup},
    state::{FAILED, Record},
};

/// Seconds between two looks whether a system is ready.
const PROBE_EVERY_S: f64 = 0.1;

/// Why a run does not count.
#[derive(Debug)]
pub(crate) struct Why {
    /// Short: the value of the tag.
    pub(crate) short: String,
    /// The last lines of what was printed, each begun with a line end.
    pub(crate) lines: String,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.short, self.lines)
    }
}

/// Why a run was not finished.
#[derive(Debug)]
pub(crate) enum Broken {
    /// A signal asked for the end.
    Interrupted(i32),
    /// It failed; others may not.
    Failed(Why),
    /// Nothing more can be done.
    Fatal(StudyError),
}

impl<E: Into<StudyError>> From<E> for Broken {
    fn from(error: E) -> Broken {
        Broken::Fatal(error.into())
    }
}

/// A run that is finished.
#[derive(Debug)]
pub(crate) struct FinishedRun {
    pub(crate) run: RunId,
    pub(crate) seconds: f64,
}

/// One run to be made.
pub(crate) struct OneRun<'a> {
    plan: &'a StudyPlan,
    record: &'a Record,
    means: Means<'a>,
    /// None for the set-up and tear-down of the whole study.
    place: Option<(Slot, &'a Cell, u32)>,
}

impl<'a> OneRun<'a> {
    pub(crate) fn of_study(plan: &'a StudyPlan, record: &'a Record, means: Means<'a>) -> OneRun<'a> {
        OneRun { plan, record, means, place: None }
    }

    pub(crate) fn new(
        plan: &'a StudyPlan,
        record: &'a Record,
        means: Means<'a>,
        slot: Slot,
        cell: &'a Cell,
        attempt: u32,
    ) -> OneRun<'a> {
        OneRun { plan, record, means, place: Some((slot, cell, attempt)) }
    }

    /// Makes the run.
    pub(crate) fn make(&self, watch: &mut Watch<'_>) -> Result<FinishedRun, Broken> {
        let own = |(factor, _): &(&str, &Level)| self.plan.series.as_deref() != Some(*factor);
        let arounds: Vec<_> =
            self.levels().filter(own).map(|(_, level)| &level.around).chain([&self.plan.each]).collect();
        let mut begun = 0;
        let result = (|| {
            for around in &arounds {
                begun += 1;
                if let Some(setup) = &around.setup {
                    self.report(watch, "set-up", 0.0);
                    self.step("set-up", setup)?;
                }
            }
            self.report(watch, "waiting until ready", 0.0);
            self.wait_until_ready()?;
            self.check()?;
            self.warm_up(watch)?;
            self.measure(watch)
        })();
        // A failure before the measurement is kept as well, as a run without samples.
        let result = match result {
            Err(Stopped { broken: Broken::Failed(why), kept: false }) => {
                self.keep_failure(&why)?;
                Err(Broken::Failed(why))
            }
            Err(Stopped { broken, .. }) => Err(broken),
            Ok(kept) => Ok(kept),
        };
        let mut undone = Ok(());
        for around in arounds[..begun].iter().rev() {
            if let Some(teardown) = &around.teardown {
                self.report(watch, "tear-down", 0.0);
                undone = undone.and(self.step("tear-down", teardown));
            }
        }
        match (result, undone) {
            (Ok(kept), Ok(()) | Err(Broken::Interrupted(_))) => Ok(kept),
            (Ok(kept), Err(Broken::Failed(why))) => {
                // The run itself was measured before; what follows meets a system that was not put back.
                watch(Event::Warning { text: format!("after {}: {why}", kept.run) });
                Ok(kept)
            }
            (Ok(_), Err(broken)) => Err(broken),
            (Err(broken), _) => Err(broken),
        }
    }

    /// The levels of its cell.
    fn levels(&self) -> impl Iterator<Item = (&'a str, &'a Level)> {
        self.place.iter().flat_map(|(_, cell, _)| cell.levels(self.plan))
    }

    /// Whether what was set up is in effect.
    fn check(&self) -> Result<(), Broken> {
        for (factor, level) in self.levels() {
            if let Some(check) = &level.around.check {
                self.step(&format!("check of {factor}={}", level.name), check)?;
            }
        }
        self.plan.each.check.as_ref().map_or(Ok(()), |check| self.step("check", check))
    }

    /// Sets up the level of a series; a failure is kept as that of this run.
    pub(crate) fn begin_series(&self, level: &Level, watch: &mut Watch<'_>) -> Result<(), Broken> {
        let Some(setup) = &level.around.setup else { return Ok(()) };
        self.report(watch, "set-up", 0.0);
        let done = self.step("set-up", setup);
        if let Err(Broken::Failed(why)) = &done {
            self.keep_failure(why)?;
        }
        done
    }

    /// Tears the level of a series down. What follows a failure meets a system that was not put back.
    pub(crate) fn end_series(&self, level: &Level, watch: &mut Watch<'_>) -> Result<(), Broken> {
        let Some(teardown) = &level.around.teardown else { return Ok(()) };
        self.report(watch, "tear-down", 0.0);
        match self.step("tear-down", teardown) {
            Err(Broken::Failed(why)) => {
                watch(Event::Warning { text: format!("after the series {}: {why}", level.name) });
                Ok(())
            }
            done => done,
        }
    }

    fn report(&self, watch: &mut Watch<'_>, what: &'static str, seconds: f64) {
        if let Some((slot, cell, _)) = self.place {
            watch(Event::Doing { slot, cell, what, seconds });
        }
    }

    /// The text of a placeholder.
    fn value(&self, name: &str) -> Option<String> {
        match (name, self.place) {
            ("study", _) => Some(self.plan.name.clone()),
            ("study_id", _) => Some(self.record.id.clone()),
            ("block", Some((slot, ..))) => Some(slot.block.to_string()),
            ("cell", Some((_, cell, _))) => Some(cell.label.clone()),
            ("attempt", Some((.., attempt))) => Some(attempt.to_string()),
            (name, Some((_, cell, _))) => {
                cell.levels(self.plan).find(|(factor, _)| *factor == name).map(|(_, level)| level.name.clone())
            }
            _ => None,
        }
    }

    fn words(&self, command: &Command) -> Vec<std::ffi::OsString> {
        // Every place was checked when the plan was read.
        command.fill(|name| self.value(name)).unwrap_or_default().into_iter().map(Into::into).collect()
    }

    /// The environment that everything of this run has.
    fn env(&self) -> Vec<(String, String)> {
        let mut env = self.plan.env.clone();
        env.push(("FENXI_STUDY".to_owned(), self.plan.name.clone()));
        if let Some((slot, cell, _)) = self.place {
            env.push(("FENXI_BLOCK".to_owned(), slot.block.to_string()));
            env.push(("FENXI_CELL".to_owned(), cell.label.clone()));
            for (factor, level) in cell.levels(self.plan) {
                env.push((format!("FENXI_FACTOR_{}", factor.replace('-', "_")), level.name.clone()));
                env.extend(level.env.iter().cloned());
            }
        }
        env
    }

    fn printed(&self) -> io::Result<Printed> {
        Printed::new(&self.means.store.studies_dir())
    }

    /// Runs a command beside the measurement to its end.
    pub(crate) fn step(&self, what: &str, command: &Command) -> Result<(), Broken> {
        self.run_step(what, command, self.plan.step_timeout_s, Limit::Fails)
    }

    fn run_step(&self, what: &str, command: &Command, limit_s: f64, limit: Limit) -> Result<(), Broken> {
        let words = self.words(command);
        let printed = self.printed()?;
        let contained = printed.contained(self.env(), self.plan.directory.clone())?;
        let failed = |short: String| Err(Broken::Failed(Why { short, lines: printed.last_lines() }));
        let attended = match run_command(&words, &contained, Some(limit_s)) {
            Ok(attended) => attended,
            Err(e) => {
                let program = words.first().map(|w| w.to_string_lossy().into_owned()).unwrap_or_default();
                return failed(format!(
                    "{what} failed: cannot run `{program}` in {}: {e}",
                    self.plan.directory.display()
                ));
            }
        };
        match (attended.cause, attended.exit_code) {
            (Cause::Interrupted(signal), _) => Err(Broken::Interrupted(signal)),
            (Cause::OutOfTime, _) if limit == Limit::Ends => Ok(()),
            (Cause::OutOfTime, _) => failed(format!("{what} failed: not done after {}", Unit::Seconds.human(limit_s))),
            (Cause::Itself, 0) => Ok(()),
            (Cause::Itself, code) => failed(format!("{what} failed: {}", status(code))),
        }
    }

    fn wait_until_ready(&self) -> Result<(), Broken> {
        let Some(probe) = &self.plan.ready else { return Ok(()) };
        let begun = Instant::now();
        loop {
            let last = match &probe.how {
                ProbeHow::Tcp(address) => match connects(address) {
                    Ok(()) => return Ok(()),
                    Err(e) => format!("{address}: {e}"),
                },
                ProbeHow::Command(command) => match self.run_step("probe", command, probe.timeout_s, Limit::Fails) {
                    Ok(()) => return Ok(()),
                    Err(Broken::Failed(why)) => why.to_string(),
                    Err(broken) => return Err(broken),
                },
            };
            if begun.elapsed().as_secs_f64() >= probe.timeout_s {
                let short = format!("not ready after {} ({last})", Unit::Seconds.human(probe.timeout_s));
                return Err(Broken::Failed(Why { short, lines: String::new() }));
            }
            if let Some(signal) = pause(PROBE_EVERY_S)? {
                return Err(Broken::Interrupted(signal));
            }
        }
    }

    fn warm_up(&self, watch: &mut Watch<'_>) -> Result<(), Broken> {
        let Some(warmup) = &self.plan.warmup else { return Ok(()) };
        self.report(watch, "warming up", 0.0);
        match warmup {
            Warmup::Seconds(seconds) => self.run_step("warm-up", &self.plan.command, *seconds, Limit::Ends),
            Warmup::Command(command) => self.run_step("warm-up", command, self.plan.step_timeout_s, Limit::Fails),
        }
    }

    /// Runs the command and records it.
    fn measure(&self, watch: &mut Watch<'_>) -> Result<FinishedRun, Stopped> {
        let printed = self.printed()?;
        let ends_by_plan = self.plan.duration_s.is_some_and(|d| self.plan.timeout_s.is_none_or(|t| d <= t));
        let limit_s = if ends_by_plan { self.plan.duration_s } else { self.plan.timeout_s };
        let sources = self.means.sources.to_vec();
        let plan = Plan {
            store: Some(self.means.store.clone()),
            name: self.name(),
            params: self.params(),
            duration_s: limit_s,
            command: Some(self.words(&self.plan.command)),
            contained: Some(printed.contained(self.env(), self.plan.directory.clone())?),
            random: (self.means.random)(),
            whole: true,
            ..Plan::new(sources, self.means.root.clone(), self.means.host.to_owned(), self.plan.record.interval_s)
        };
        let observed = observe(plan, &mut |stage| {
            match stage {
                Stage::Began { .. } => self.report(watch, "running", 0.0),
                Stage::Tick { progress, .. } => self.report(watch, "running", progress.elapsed_s),
                Stage::SinceBoot { .. } | Stage::Rolled { .. } | Stage::Sealing => {}
            }
            ControlFlow::Continue(())
        })?;
        self.keep(observed, &printed, ends_by_plan)
    }

    /// Makes what was recorded a run, with what it printed, its responses, and why it failed if it did.
    fn keep(&self, mut observed: Observed, printed: &Printed, ends_by_plan: bool) -> Result<FinishedRun, Stopped> {
        let outcome = observed.outcome();
        if let Some(signal) = outcome.interrupted {
            observed.discard()?;
            return Err(Broken::Interrupted(signal).into());
        }
        let why = match (outcome.out_of_time, outcome.exit_code) {
            (true, _) if ends_by_plan => None,
            (true, _) => {
                let limit = Unit::Seconds.human(self.plan.timeout_s.unwrap_or_default());
                Some(format!("timed out after {limit}"))
            }
            (false, Some(0) | None) => None,
            (false, Some(code)) => Some(status(code)),
        };
        let results = printed.keep(self.plan, &self.means, &mut observed)?;
        let why = match why {
            Some(why) => Some(why),
            None => printed.respond(self.plan, &results, &|name| self.value(name), &mut observed)?,
        };
        let seconds = observed.ended().seconds_since(observed.began());
        if let (Some(why), Some(open)) = (&why, observed.open()) {
            open.tag(FAILED, why);
        }
        let run = observed.seal()?.run;
        let why = match (why, &run) {
            (None, Some(run)) => self.ask(run)?,
            (why, _) => why,
        };
        match (why, run) {
            (Some(short), _) => {
                let broken = Broken::Failed(Why { short, lines: printed.last_lines() });
                Err(Stopped { broken, kept: true })
            }
            (None, Some(run)) => Ok(FinishedRun { run, seconds }),
            (None, None) => Err(io::Error::other("the run was not kept").into()),
        }
    }

    /// Asks the plan's questions about a run that is sealed; gives why an answer is missing, which the run's tag then
    /// has too.
    fn ask(&self, run: &RunId) -> Result<Option<String>, StoreError> {
        let answer = |(response, asked)| answer(self.plan, self.means.asks, run, response, asked).err();
        let Some(why) = asked(self.plan).find_map(answer) else { return Ok(None) };
        self.means.store.change_labels(run, |entry| {
            entry.labels.tags.insert(FAILED.to_owned(), why.clone());
            Ok::<_, StoreError>(())
        })?;
        Ok(Some(why))
    }

    fn name(&self) -> String {
        let cell = self.place.map_or("", |(_, cell, _)| &cell.label);
        format!("{} {cell}", self.plan.name)
    }

    /// The labels of a run: the study, its place in it, and the level of each factor.
    fn params(&self) -> BTreeMap<String, String> {
        let own = crate::parse::OWN_NAMES.iter().map(|name| ((*name).to_owned(), self.value(name)));
        let levels = self.levels().map(|(factor, level)| (factor.to_owned(), Some(level.name.clone())));
        own.chain(levels).filter_map(|(key, value)| Some((key, value?))).collect()
    }

    /// Keeps a run that failed before it was measured: nothing but why.
    fn keep_failure(&self, why: &Why) -> Result<(), StoreError> {
        let now = (self.means.now)();
        let mut open = self.means.store.begin(Begin {
            name: Some(self.name()),
            kind: "record".to_owned(),
            host: self.means.host.to_owned(),
            command: Vec::new(),
            params: self.params(),
            tags: BTreeMap::new(),
            start: now,
            interval_s: None,
            random: (self.means.random)(),
            sources: Vec::new(),
        })?;
        open.tag(FAILED, &why.short);
        let mut rows = fenxi_model::Rows::new(self.means.host);
        rows.event(now, "failed", "study", &why.to_string());
        open.append(&mut rows)?;
        open.seal(End::at(now))?;
        Ok(())
    }
}

/// Consequence of a command's time limit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Limit {
    Fails,
    Ends,
}

/// Why a run was not finished, and whether what there is of it is kept already.
struct Stopped {
    broken: Broken,
    kept: bool,
}

impl<E: Into<Broken>> From<E> for Stopped {
    fn from(error: E) -> Stopped {
        Stopped { broken: error.into(), kept: false }
    }
}

/// `exit status 3`, or the signal by its number.
fn status(code: i32) -> String {
    match code {
        127 => "exit status 127 (the shell found no such command)".to_owned(),
        129..=192 => format!("killed by signal {}", code - 128),
        code => format!("exit status {code}"),
    }
}

fn connects(address: &str) -> io::Result<()> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "no such address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, Duration::from_secs(1)) {
            Ok(_) => return Ok(()),
            Err(e) => last = e,
        }
    }
    Err(last)
}
