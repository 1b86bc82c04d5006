//! Sampling without a schedule and without a run: an agent that samples for a recorder on another host decides when.

use std::{io, sync::Arc};

use fenxi_model::{Micros, Rows};
use fenxi_source::{Root, Source};

use crate::{
    RecordError, clock,
    sampler::{Round, Sampler},
    time::Time,
    wake::Wake,
};

/// Sources at work. Lengths of intervals are this host's steady seconds; stamps are given.
pub struct Sampling {
    sampler: Sampler,
}

impl Sampling {
    /// Starts `sources`; one that cannot start becomes a note.
    ///
    /// # Errors
    /// When there are sources and none of them can: each with why.
    pub fn start(sources: &[Arc<dyn Source>], root: &Root, rows: &mut Rows) -> Result<Sampling, RecordError> {
        Ok(Sampling { sampler: Sampler::start(sources, root, rows)? })
    }

    /// Names of the sources that started.
    pub fn names(&self) -> Vec<String> {
        self.sampler.names()
    }

    /// Samples what is read once at the start and once at the end.
    pub fn facts(&mut self, t: Micros, rows: &mut Rows) {
        self.sampler.sample_facts(&Steady, t, rows);
    }

    /// Reports facts that are reported once per run again, for a run that begins.
    pub fn facts_anew(&mut self, t: Micros, rows: &mut Rows) {
        self.sampler.begin_next(t, rows);
        self.sampler.sample_facts(&Steady, t, rows);
    }

    /// Remembers counters, before the first interval.
    pub fn first(&mut self, t: Micros, rows: &mut Rows) {
        self.sampler.sample(&Steady, t, Round::First, rows);
    }

    /// Samples the interval that ends now.
    pub fn tick(&mut self, t: Micros, rows: &mut Rows) {
        self.sampler.sample(&Steady, t, Round::Tick, rows);
    }

    /// Samples the last interval: sources that are seldom sampled are sampled once more.
    pub fn last(&mut self, t: Micros, rows: &mut Rows) {
        self.sampler.sample(&Steady, t, Round::Last, rows);
    }

    /// Returns true if a source reads much at the end only.
    pub fn reads_at_end(&self) -> bool {
        self.sampler.reads_at_end()
    }
}

/// The steady clock alone: no caller sleeps by it.
struct Steady;

impl Time for Steady {
    fn monotonic(&self) -> f64 {
        clock::monotonic()
    }

    fn wall(&self) -> Micros {
        clock::wall()
    }

    fn sleep_until(&mut self, _deadline: Option<f64>) -> io::Result<Wake> {
        Ok(Wake::Deadline)
    }
}
