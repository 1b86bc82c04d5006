//! Self-observation of observers: lost events and overhead.

use fenxi_model::{Rows, catalog::metric};
use fenxi_source::Tick;
use libbpf_rs::MapHandle;

use crate::{EbpfError, Loaded, Loader, Tracked, bpf::Compiled};

/// The programs of an observer at work.
#[derive(Debug)]
pub(crate) struct Observing {
    observer: &'static str,
    loaded: Loaded,
    lost: Vec<u64>,
    /// Kinds of loss that were reported already.
    reported: Vec<&'static str>,
}

/// Why something could not be counted, in the order of `enum loss` (`bpf/common.h`).
const KINDS: [&str; 3] = ["room", "ring", "stack"];

/// A kind of loss, explained.
fn why(kind: &str) -> &'static str {
    match kind {
        "room" => "a map was full: what was new was not counted",
        "ring" => "the ring buffer was full: single events were not shown (they are counted)",
        "stack" => "a stack could not be walked",
        _ => "the kernel does not run a program inside itself, and an interrupt came while it ran",
    }
}

impl Observing {
    /// Opens, sets, loads and attaches: `set` gets the object before it is loaded, `attach` after.
    pub(crate) fn begin(
        observer: &'static str,
        compiled: Compiled,
        tracked: &Tracked,
        set: impl FnOnce(&mut Loader) -> Result<(), EbpfError>,
        attach: impl FnOnce(&mut Loaded) -> Result<(), EbpfError>,
    ) -> Result<Observing, EbpfError> {
        let mut loader = Loader::open(compiled)?;
        tracked.set(&mut loader)?;
        set(&mut loader)?;
        let mut loaded = loader.load()?;
        tracked.begin(&loaded)?;
        attach(&mut loaded)?;
        Ok(Observing { observer, loaded, lost: Vec::new(), reported: Vec::new() })
    }

    /// The programs, to attach more of them.
    pub(crate) fn loaded(&mut self) -> &mut Loaded {
        &mut self.loaded
    }

    /// A map of the programs.
    pub(crate) fn map(&self, name: &str) -> Result<MapHandle, EbpfError> {
        self.loaded.map(name)
    }

    /// Runs a program, which is attached to nothing, once on each CPU that is online, on behalf of whatever runs there.
    pub(crate) fn run_on_each_cpu(&mut self, program: &str) -> Result<(), EbpfError> {
        self.loaded.run_on_each_cpu(program)
    }

    /// Adds rows of `metric` for losses and costs in the interval that ends now; the first loss of a kind is a note, too.
    pub(crate) fn report(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), EbpfError> {
        let now = self.loaded.lost()?;
        let then = std::mem::replace(&mut self.lost, now);
        for (place, kind) in KINDS.into_iter().enumerate() {
            let count = |of: &[u64]| of.get(place).copied().unwrap_or(0);
            let more = count(&self.lost).saturating_sub(count(&then));
            self.lose(kind, more, "", tick, rows);
        }
        let (costs, measured) = self.loaded.cost();
        // Before the first interval there is nothing whose cost or loss anybody asks for.
        let Some(dt) = tick.dt.filter(|dt| *dt > 0.0) else { return Ok(()) };
        for cost in costs.into_iter().filter(|cost| measured || cost.skipped > 0) {
            let program = format!(",program={}", cost.program);
            self.lose("skipped", cost.skipped, &program, tick, rows);
            if measured {
                let labels = format!("observer={}{program}", self.observer);
                metric_row(rows, tick, "observer_runs", &labels, cost.runs as f64 / dt, "/s");
                metric_row(rows, tick, "observer_cpu", &labels, cost.ns as f64 / 1e9 / dt * 100.0, "% of a CPU");
            }
        }
        Ok(())
    }

    /// Reports that `more` events of a kind could not be counted, if any.
    fn lose(&mut self, kind: &'static str, more: u64, labels: &str, tick: Tick, rows: &mut Rows) {
        if more == 0 {
            return;
        }
        let labels = format!("observer={}{labels},kind={kind}", self.observer);
        metric_row(rows, tick, "observer_lost", &labels, more as f64, "events");
        if !self.reported.contains(&kind) {
            self.reported.push(kind);
            rows.note(self.observer, None, &format!("{more} events lost: {}", why(kind)));
        }
    }
}

fn metric_row(rows: &mut Rows, tick: Tick, name: &str, labels: &str, value: f64, unit: &str) {
    let mut row = rows.row(&metric::TABLE, tick.t, tick.dt);
    row.str(metric::name, name);
    row.str(metric::labels, labels);
    row.f64(metric::value, value);
    row.str(metric::unit, unit);
}
