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
    /// Which kinds of loss were said already.
    said: Vec<bool>,
}

/// Why something could not be counted, in the order of `enum loss` (`bpf/common.h`).
const LOSSES: [&str; 3] = [
    "a map was full: what was new was not counted",
    "the ring buffer was full: single events were not shown (they are counted)",
    "a stack could not be walked",
];

impl Observing {
    /// Opens, sets, loads and attaches: `set` is told the object before it is loaded, `attach` after.
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
        Ok(Observing { observer, loaded, lost: vec![0; LOSSES.len()], said: vec![false; LOSSES.len()] })
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
        let lost = self.loaded.lost()?;
        for (kind, (now, then)) in lost.iter().zip(&self.lost).enumerate() {
            let more = now.saturating_sub(*then);
            if more == 0 {
                continue;
            }
            let why = LOSSES.get(kind).copied().unwrap_or("unknown");
            let labels =
                format!("observer={},kind={}", self.observer, ["room", "ring", "stack"].get(kind).unwrap_or(&"?"));
            metric_row(rows, tick, "observer_lost", &labels, more as f64, "events");
            if let Some(said) = self.said.get_mut(kind).filter(|said| !**said) {
                *said = true;
                rows.note(self.observer, None, &format!("{more} events lost: {why}"));
            }
        }
        self.lost = lost;
        let Some(costs) = self.loaded.cost() else { return Ok(()) };
        let Some(dt) = tick.dt.filter(|dt| *dt > 0.0) else { return Ok(()) };
        for cost in costs {
            let labels = format!("observer={},program={}", self.observer, cost.program);
            metric_row(rows, tick, "observer_runs", &labels, cost.runs as f64 / dt, "/s");
            metric_row(rows, tick, "observer_cpu", &labels, cost.ns as f64 / 1e9 / dt * 100.0, "% of a CPU");
            if cost.skipped > 0 {
                let labels = format!("{labels},kind=skipped");
                metric_row(rows, tick, "observer_lost", &labels, cost.skipped as f64, "events");
            }
        }
        Ok(())
    }
}

fn metric_row(rows: &mut Rows, tick: Tick, name: &str, labels: &str, value: f64, unit: &str) {
    let mut row = rows.row(&metric::TABLE, tick.t, tick.dt);
    row.str(metric::name, name);
    row.str(metric::labels, labels);
    row.f64(metric::value, value);
    row.str(metric::unit, unit);
}
