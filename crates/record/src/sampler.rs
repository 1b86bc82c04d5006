//! Sampling of all sources: which are due, what each costs, which fail.

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use fenxi_model::{Micros, Rows};
use fenxi_source::{Collector, Root, Source, SourceError, Spec, Take, Tick};
use fenxi_store::SourceCost;

use crate::{RecordError, clock, time::Time};

/// One source at work.
struct Active {
    name: &'static str,
    take: Take,
    collector: Box<dyn Collector>,
    last: Option<f64>,
    cost: SourceCost,
    noted: BTreeSet<String>,
    /// That of a source that came later, by which it is removed.
    number: u64,
}

/// All sources of a recording.
pub struct Sampler {
    active: Vec<Active>,
    /// How many came later.
    added: u64,
    /// What those cost that were removed.
    gone: Vec<SourceCost>,
}

/// Which round of a recording this is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Round {
    /// Before the first interval: counters are remembered.
    First,
    /// As the first, and averages since boot are wanted.
    SinceBoot {
        /// Seconds since then.
        seconds: f64,
    },
    /// An ordinary tick.
    Tick,
    /// The last tick: sources that are seldom sampled are sampled once more.
    Last,
}

impl Sampler {
    /// Starts `sources`; one that cannot start becomes a note.
    ///
    /// # Errors
    /// When there are sources and none of them can: each with why.
    pub fn start(sources: &[Arc<dyn Source>], root: &Root, rows: &mut Rows) -> Result<Sampler, RecordError> {
        let mut active = Vec::new();
        let mut refused = Vec::new();
        for source in sources {
            let spec = source.spec();
            rows.set_source(spec.name);
            match source.start(root) {
                Ok(collector) => active.push(Active::new(spec, collector, 0)),
                Err(e) => {
                    rows.note("", None, &format!("not recorded: {e}"));
                    refused.push(format!("{}: {e}", spec.name));
                }
            }
        }
        if active.is_empty() && !refused.is_empty() {
            return Err(RecordError::NoSource(refused.join("\n")));
        }
        Ok(Sampler { active, added: 0, gone: Vec::new() })
    }

    /// Names of the sources that started.
    pub fn names(&self) -> Vec<String> {
        self.active.iter().map(|a| a.name.to_owned()).collect()
    }

    /// Samples every source that is due.
    pub fn sample(&mut self, time: &impl Time, t: Micros, round: Round, rows: &mut Rows) {
        for active in &mut self.active {
            let now = time.monotonic();
            if active.is_due(round, now) {
                active.sample(now, t, round, rows);
            }
        }
    }

    /// Samples what is read once at the start and once at the end.
    pub fn sample_facts(&mut self, time: &impl Time, t: Micros, rows: &mut Rows) {
        for active in self.active.iter_mut().filter(|a| a.take == Take::StartAndEnd) {
            active.sample(time.monotonic(), t, Round::Tick, rows);
        }
    }

    /// Whether a source reads much at the end only.
    pub fn reads_at_end(&self) -> bool {
        self.active.iter().any(|active| active.collector.reads_at_end())
    }

    /// CPU seconds of threads that sources have of their own.
    pub fn cpu_of_threads(&self) -> f64 {
        self.active.iter().map(|active| active.collector.cpu_of_threads()).sum()
    }

    /// Adds a source that has started meanwhile; gives its number.
    pub fn add(&mut self, spec: &'static Spec, collector: Box<dyn Collector>) -> u64 {
        self.added += 1;
        self.active.push(Active::new(spec, collector, self.added));
        self.added
    }

    /// Samples an added source at once, by its number.
    pub fn sample_one(&mut self, number: u64, now: f64, t: Micros, rows: &mut Rows) {
        if let Some(active) = self.active.iter_mut().find(|active| active.number == number) {
            active.sample(now, t, Round::First, rows);
        }
    }

    /// Samples an added source for the last time and ends it.
    pub fn remove(&mut self, number: u64, now: f64, t: Micros, rows: &mut Rows) {
        let Some(place) = self.active.iter().position(|active| active.number == number) else { return };
        let mut active = self.active.remove(place);
        if active.last.is_none_or(|last| last < now) {
            active.sample(now, t, Round::Last, rows);
        }
        self.gone.push(active.into_cost());
    }

    /// What each source cost.
    pub fn into_costs(self) -> Vec<SourceCost> {
        self.active.into_iter().map(Active::into_cost).chain(self.gone).collect()
    }
}

impl Active {
    fn new(spec: &'static Spec, collector: Box<dyn Collector>, number: u64) -> Active {
        let cost = SourceCost { source: spec.name.to_owned(), ..SourceCost::default() };
        Active { name: spec.name, take: spec.take, collector, last: None, cost, noted: BTreeSet::new(), number }
    }

    fn into_cost(self) -> SourceCost {
        SourceCost { cpu_s: self.cost.cpu_s + self.collector.cpu_of_threads(), ..self.cost }
    }

    fn is_due(&self, round: Round, now: f64) -> bool {
        match self.take {
            Take::EveryTick => true,
            Take::StartAndEnd => false,
            // A little early is in time: the next tick would be a whole interval late.
            Take::Every { seconds } => {
                round != Round::Tick || self.last.is_none_or(|last| now - last >= f64::from(seconds) - 0.005)
            }
        }
    }

    /// Samples at `now`; what that costs is told by the system's clocks.
    fn sample(&mut self, now: f64, t: Micros, round: Round, rows: &mut Rows) {
        rows.set_source(self.name);
        let rows_before = rows.len();
        let (began, cpu_before) = (clock::monotonic(), clock::thread_cpu());
        let tick = match round {
            Round::SinceBoot { seconds } => Tick::since_boot(t, seconds),
            _ => Tick { is_last: round == Round::Last, ..Tick::new(t, self.last.map(|last| now - last)) },
        };
        self.last = Some(now);
        // A collector's bug must not end the recording of all the others.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.collector.sample(tick, rows)));
        let failure = match outcome {
            Ok(Ok(())) => None,
            Ok(Err(e)) => Some(describe(&e)),
            Err(_) => Some("the collector failed unexpectedly; please report this".to_owned()),
        };
        let wall = clock::monotonic() - began;
        let cost = &mut self.cost;
        cost.samples += 1;
        cost.cpu_s += clock::thread_cpu() - cpu_before;
        cost.wall_s += wall;
        cost.max_s = cost.max_s.max(wall);
        cost.rows += (rows.len() - rows_before) as u64;
        if let Some(message) = failure {
            cost.failures += 1;
            if self.noted.len() < 100 && self.noted.insert(message.clone()) {
                rows.note("", None, &message);
            }
        }
    }
}

fn describe(e: &SourceError) -> String {
    format!("not sampled: {e}")
}
