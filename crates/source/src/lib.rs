//! Sources: collectors that read the system and produce rows. A source reads one thing (a file of /proc, a system call)
//! and fills [`fenxi_model::Rows`]; it knows nothing of runs, stores or schedules.
//!
//! A new collector is one file under `proc/` and one line in [`SOURCES`]. Files that several parts of Fenxi read are
//! parsed by [`fenxi_procfs`]; importers of other tools' output are in the crate `formats`.

mod counter;
mod ethtool;
mod given;
mod options;
pub mod perf;
pub mod proc;
pub mod residency;
#[cfg(test)]
mod testing;

pub use counter::{Counter, Step, Width};
pub use fenxi_procfs::{ProcFile, Root};
pub use given::{GivenFact, GivenFacts, Roles};
pub use options::{Changes, Opt, Options, Takes, Value};
pub use proc::{
    SOURCES,
    binary::{Binaries, CommandFile},
    cpu_time::{Accounting, AccountingKind, CpuRun, CpuTime, Measure, thread_ticks_ns, timer_tick_ns},
    process::{CpuTimes, Matches, Selection},
};

use std::sync::Arc;

use fenxi_model::{Micros, Rows, Table};

/// One kind of observation that can be recorded: what it is, and how to begin it.
pub trait Source: Send + Sync {
    /// The facts about this source, from which help, reference and checks derive.
    fn spec(&self) -> &'static Spec;

    /// Begins observing the system at `root`.
    ///
    /// # Errors
    /// When the system does not offer what the source needs (no such file, no permission): the
    /// recorder notes it and goes on without this source.
    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError>;

    /// Its options on a command line.
    fn options(&self) -> &'static [Opt] {
        &[]
    }

    /// The same source with options of [`Source::options`].
    ///
    /// # Errors
    /// When they make no sense together.
    fn with(&self, _options: &Options) -> Result<Arc<dyn Source>, SourceError> {
        Err(SourceError::Refused("it has no options".to_owned()))
    }
}

/// One of a list that lasts as long as the program.
impl Source for &'static dyn Source {
    fn spec(&self) -> &'static Spec {
        (**self).spec()
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        (**self).start(root)
    }

    fn options(&self) -> &'static [Opt] {
        (**self).options()
    }

    fn with(&self, options: &Options) -> Result<Arc<dyn Source>, SourceError> {
        (**self).with(options)
    }
}

/// A source at work. It keeps what it needs from one sample to the next: open files and counters.
pub trait Collector: Send {
    /// Reads the system once and adds rows for the interval that ends now.
    ///
    /// The first call of a recording has `tick.dt == None`: counters are only remembered, gauges
    /// are not yet reported, no row is added. Anything unreadable becomes a note or a NULL.
    ///
    /// # Errors
    /// Only when nothing could be read at all; the recorder notes it and tries again next tick.
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError>;

    /// Another run begins while it goes on: facts reported once are reported again, now or when it is known.
    fn begin_next(&mut self, _t: Micros, _rows: &mut Rows) {}

    /// Whether much of what it reads comes seldom, and at the end: then there is a last sample in any case.
    fn reads_at_end(&self) -> bool {
        false
    }

    /// Whether it can look at what the recorder started also between two ticks ([`Tick::is_between`]).
    fn looks_between(&self) -> bool {
        false
    }

    /// The last sample is next: asks others for what they still have to say, and waits for nothing. How long it waits for them then
    /// counts from now, so that sources which wait do so at the same time.
    fn finish(&mut self) {}

    /// CPU seconds that its own threads have used so far; what `sample` itself uses is measured anyway.
    fn cpu_of_threads(&self) -> f64 {
        0.0
    }
}

/// One moment of sampling.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    /// The end of the interval, the same for all sources of one tick.
    pub t: Micros,
    /// Seconds since this source's previous sample, by a clock that does not step; None at the first.
    pub dt: Option<f64>,
    /// True if this is the first sample and the averages since boot are wanted: counters then grew from
    /// 0 in `dt`, the time since boot. A source that is asked only for samples need not care.
    pub since_boot: bool,
    /// True if it is the last one: what was observed has ended, and what is gathered late is taken now.
    pub is_last: bool,
    /// True if it lies between two ticks of the recording: only what the recorder started is looked at.
    pub is_between: bool,
}

impl Tick {
    /// The end of an interval of `dt` seconds; without `dt`, the first sample.
    pub fn new(t: Micros, dt: Option<f64>) -> Tick {
        Tick { t, dt, since_boot: false, is_last: false, is_between: false }
    }

    /// The first sample, `seconds` after the system's boot.
    pub fn since_boot(t: Micros, seconds: f64) -> Tick {
        Tick { since_boot: true, ..Tick::new(t, Some(seconds)) }
    }

    /// As [`Counter::step`]; since boot, the first step is the counter's whole value.
    pub fn step(&self, counter: &mut Counter, now: u64, width: Width) -> Step {
        match counter.step(now, width) {
            Step::First if self.since_boot => Step::By(now),
            step => step,
        }
    }

    /// As [`Counter::rate`], in this interval.
    pub fn rate(&self, counter: &mut Counter, now: u64, width: Width) -> Option<f64> {
        match (self.step(counter, now, width), self.dt) {
            (Step::By(n), Some(dt)) if dt > 0.0 => Some(n as f64 / dt),
            _ => None,
        }
    }
}

/// Declaration of a source: name, tables, options, when it is sampled.
#[derive(Debug)]
pub struct Spec {
    /// Its name on the command line; also its file's name.
    pub name: &'static str,
    /// One line of help.
    pub summary: &'static str,
    /// Tables it fills.
    pub tables: &'static [&'static Table],
    /// When it is sampled.
    pub take: Take,
    /// True if it is recorded by default.
    pub default: bool,
    /// True if the live page shows it by default: those of few rows that cost little.
    pub live: bool,
}

/// When a source is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// At every tick.
    EveryTick,
    /// Every so many seconds at most, for things that change slowly and cost more to read.
    Every {
        /// Seconds between two samples.
        seconds: u32,
    },
    /// Once at the start and once at the end of a recording (`tick.dt` is None at the start and the
    /// whole recording's length at the end; both add rows).
    StartAndEnd,
}

/// Why a source cannot observe.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A file could not be read; the text names it.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It is not available; the text has what, why and the way out.
    #[error("{0}")]
    Refused(String),
    /// The system does not offer this at all.
    #[error("{what} is not available: {why}")]
    Unavailable {
        /// The missing part.
        what: &'static str,
        /// Why, or how to get it.
        why: String,
    },
}
