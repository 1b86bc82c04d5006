//! Sampling of all sources: which are due, what each costs, which fail.

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use fenxi_model::{Micros, Rows};
use fenxi_source::{Collector, Root, Source, SourceError, Take, Tick};
use fenxi_store::SourceCost;

use crate::{RecordError, clock, time::Time};

/// One source at work.
struct Active {
    name: &'static str,
    take: Take,
    source: Arc<dyn Source>,
    collector: Box<dyn Collector>,
    last: Option<f64>,
    cost: SourceCost,
    /// CPU seconds of the collector's own threads that are part of a cost already.
    counted_cpu_s: f64,
    noted: BTreeSet<String>,
    /// That of a source that came later, by which it is removed.
    number: u64,
    /// Not sampled while one of its name that came later is: what both see would count twice.
    paused: bool,
}

/// All sources of a recording.
pub struct Sampler {
    root: Root,
    active: Vec<Active>,
    /// Sources that could not start, and why.
    refused: Vec<(&'static str, String)>,
    /// How many came later.
    added: u64,
    /// Costs of the sources that were removed.
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
    /// Between two ticks: those that can look at the command.
    Between,
}

impl Sampler {
    /// Starts `sources`; one that cannot start becomes a note.
    ///
    /// # Errors
    /// When there are sources and none of them can: each with why.
    pub fn start(sources: &[Arc<dyn Source>], root: &Root, rows: &mut Rows) -> Result<Sampler, RecordError> {
        let (active, refused, gone) = (Vec::new(), Vec::new(), Vec::new());
        let mut sampler = Sampler { root: root.clone(), active, refused, added: 0, gone };
        for source in sources {
            let spec = source.spec();
            match source.start(root) {
                Ok(collector) => sampler.active.push(Active::new(Arc::clone(source), collector, 0)),
                Err(e) => sampler.refused.push((spec.name, e.to_string())),
            }
        }
        if sampler.active.is_empty() && !sampler.refused.is_empty() {
            let lines: Vec<String> = sampler.refused.iter().map(|(name, why)| format!("{name}: {why}")).collect();
            return Err(RecordError::NoSource(lines.join("\n")));
        }
        sampler.note_refused(rows);
        Ok(sampler)
    }

    fn note_refused(&self, rows: &mut Rows) {
        for (name, why) in &self.refused {
            rows.set_source(name);
            rows.note("", None, &format!("not recorded: {why}"));
        }
    }

    /// Begins another run: facts reported once per run are reported again. Counters go on, so that no interval is lost.
    pub fn begin_next(&mut self, t: Micros, rows: &mut Rows) {
        self.note_refused(rows);
        for active in &mut self.active {
            active.noted.clear();
            if active.take != Take::StartAndEnd {
                rows.set_source(active.name);
                active.collector.begin_next(t, rows);
                continue;
            }
            // Its facts are those of a begin once more; one that cannot start again goes on as it was.
            if let Ok(collector) = active.source.start(&self.root) {
                (active.collector, active.last, active.counted_cpu_s) = (collector, None, 0.0);
            }
        }
    }

    /// Names of the sources that started.
    pub fn names(&self) -> Vec<String> {
        self.active.iter().map(|a| a.name.to_owned()).collect()
    }

    /// Samples every source that is due.
    pub fn sample(&mut self, time: &impl Time, t: Micros, round: Round, rows: &mut Rows) {
        for active in self.active.iter_mut().filter(|_| round == Round::Last) {
            // A source that fails here fails again when it is sampled, and is reported then.
            let _ = catch_unwind(AssertUnwindSafe(|| active.collector.finish()));
        }
        for active in self.active.iter_mut().filter(|active| !active.paused) {
            let now = time.monotonic();
            if active.is_due(round, now) {
                active.sample(now, t, round, rows);
            }
        }
    }

    /// Lets the sources that can look at the command do so between two ticks; gives the seconds of CPU time that it took.
    pub fn look(&mut self, time: &impl Time, t: Micros, rows: &mut Rows) -> f64 {
        let before = clock::thread_cpu();
        for active in self.active.iter_mut().filter(|active| active.collector.looks_between()) {
            active.sample(time.monotonic(), t, Round::Between, rows);
        }
        clock::thread_cpu() - before
    }

    /// Returns true if any source can look at the command between two ticks.
    pub fn looks_between(&self) -> bool {
        self.active.iter().any(|active| active.collector.looks_between())
    }

    /// Samples what is read once at the start and once at the end.
    pub fn sample_facts(&mut self, time: &impl Time, t: Micros, rows: &mut Rows) {
        for active in self.active.iter_mut().filter(|a| a.take == Take::StartAndEnd) {
            active.sample(time.monotonic(), t, Round::Tick, rows);
        }
    }

    /// Returns true if a source reads much at the end only.
    pub fn reads_at_end(&self) -> bool {
        self.active.iter().any(|active| active.collector.reads_at_end())
    }

    /// CPU seconds of the sources' own threads, since costs were last taken.
    pub fn cpu_of_threads(&self) -> f64 {
        self.active.iter().map(Active::cpu_of_threads).sum()
    }

    /// Takes the cost of each source since the last call.
    pub fn take_costs(&mut self) -> Vec<SourceCost> {
        let take = |active: &mut Active| {
            let of_threads = active.cpu_of_threads();
            active.counted_cpu_s += of_threads;
            let cost = std::mem::replace(&mut active.cost, no_cost(active.name));
            SourceCost { cpu_s: cost.cpu_s + of_threads, ..cost }
        };
        let mut costs: Vec<SourceCost> = self.active.iter_mut().map(take).collect();
        costs.append(&mut self.gone);
        costs
    }

    /// Adds a source that has started meanwhile, and samples it for the first time; gives its number. One that `replaces` those of
    /// its name sees what they see: they are sampled now, and then not until it is removed.
    pub fn add(
        &mut self,
        source: Arc<dyn Source>,
        collector: Box<dyn Collector>,
        replaces: bool,
        (now, t): (f64, Micros),
        rows: &mut Rows,
    ) -> u64 {
        self.added += 1;
        let name = source.spec().name;
        for active in self.active.iter_mut().filter(|active| replaces && active.name == name && !active.paused) {
            if active.last.is_some_and(|last| last < now) {
                active.sample(now, t, Round::Tick, rows);
            }
            active.paused = true;
        }
        let mut active = Active::new(source, collector, self.added);
        active.sample(now, t, Round::First, rows);
        self.active.push(active);
        self.added
    }

    /// Samples an added source for the last time and ends it.
    pub fn remove(&mut self, number: u64, now: f64, t: Micros, rows: &mut Rows) {
        let Some(place) = self.active.iter().position(|active| active.number == number) else { return };
        let mut active = self.active.remove(place);
        if active.last.is_none_or(|last| last < now) {
            active.sample(now, t, Round::Last, rows);
        }
        let of_threads = active.cpu_of_threads();
        self.gone.push(SourceCost { cpu_s: active.cost.cpu_s + of_threads, ..active.cost });
        for paused in self.active.iter_mut().filter(|paused| paused.name == active.name) {
            // Its data since it was paused is passed over, as at its beginning.
            (paused.paused, paused.last) = (false, None);
        }
    }
}

pub(crate) fn no_cost(source: &str) -> SourceCost {
    SourceCost { source: source.to_owned(), ..SourceCost::default() }
}

impl Active {
    fn new(source: Arc<dyn Source>, collector: Box<dyn Collector>, number: u64) -> Active {
        let (name, take) = (source.spec().name, source.spec().take);
        let (cost, noted) = (no_cost(name), BTreeSet::new());
        Active { name, take, source, collector, last: None, cost, counted_cpu_s: 0.0, noted, number, paused: false }
    }

    fn cpu_of_threads(&self) -> f64 {
        (self.collector.cpu_of_threads() - self.counted_cpu_s).max(0.0)
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

    /// Samples at `now`; the cost is measured by the system's clocks.
    fn sample(&mut self, now: f64, t: Micros, round: Round, rows: &mut Rows) {
        rows.set_source(self.name);
        let rows_before = rows.len();
        let (began, cpu_before) = (clock::monotonic(), clock::thread_cpu());
        let tick = match round {
            Round::SinceBoot { seconds } => Tick::since_boot(t, seconds),
            _ => Tick {
                is_last: round == Round::Last,
                is_between: round == Round::Between,
                ..Tick::new(t, self.last.map(|last| now - last))
            },
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
        cost.samples += u64::from(round != Round::Between);
        cost.cpu_s += clock::thread_cpu() - cpu_before;
        cost.wall_s += wall;
        cost.max_s = cost.max_s.max(wall);
        cost.rows += (rows.len() - rows_before) as u64;
        rows.note_refused();
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
