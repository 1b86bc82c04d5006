//! `util`: the CPU time that tasks had, by the scheduler's switches, beside what the clock tick saw of it.

mod view;

use fenxi_model::{Rows, catalog::cpu_time};
use fenxi_source::{Collector, CpuTime, Given, Measure, Opt, Root, SourceError, Spec, Takes, Tick, timer_tick_ns};
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::{
    EbpfError, Loaded, Meanwhile, Observer, Tracked,
    bpf::{Compiled, compiled},
    bytes::Bytes,
    observer::{option, source, spec},
    observing::Observing,
};

static OBJECT: Compiled = compiled!("util");
static SPEC: Spec =
    spec("util", "CPU time by each switch of the scheduler, beside the clock tick's (eBPF)", &[&cpu_time::TABLE]);
/// The program that counts what is still open.
const COUNT_OPEN: &str = "count_open";

/// The observer.
pub static OBSERVER: Observer = Observer {
    source: &Util,
    formerly: None,
    about: "Compare event-driven with tick-sampled CPU utilisation",
    question: "How busy are the CPUs, by events and by samples?",
    help: "\
Utilisation of all CPUs in thousandths, accounted in three ways over the same
interval:

  sw-tk/1000  timer ticks between switching to a task and switching from it
  tk/1000     tick sampling: usr, sys and irq of /proc/stat
  ns/1000     event-driven: nanoseconds between switching to a task and
              switching from it
  HIDDEN      ns - tk: CPU time missed by tick sampling; negative if ticks
              overcharged

Context switches are traced; tasks still running at the end of an interval count
up to then. `fenxi watch util` shows the same accounts without tracing, from the
scheduler's own measurement.

Examples:
  fenxi trace util 5                every five seconds, until Ctrl-C
  fenxi trace util --each-cpu 1 10  with a line per CPU, ten times
  fenxi trace util --accounts 1     in the columns of fenxi watch util
  fenxi trace util --demo 1 5       with a thread that hides from tick sampling
  fenxi trace util -- make -j8      CPU seconds of the machine while make ran",
    command: Meanwhile::UntilItEnds,
    interval_s: None,
    needs: &[],
    view: view::new,
};

/// The option to run a thread beside that hides from the clock: what observes begins it.
pub const HIDING: &str = "demo";

const OPTIONS: &[Opt] = &[
    option(
        "accounts",
        Takes::Nothing,
        "Show the columns of fenxi watch util (CPU seconds per second) instead of thousandths",
    )
    .of_view(),
    option("each-cpu", Takes::Nothing, "Add a line per CPU").of_view(),
    option("totals", Takes::Nothing, "Show totals after the last interval").of_view(),
    option(
        HIDING,
        Takes::Nothing,
        "Run a thread that works between clock ticks and sleeps across them (hidden from tick sampling)",
    )
    .of_view()
    .without(&["run", "root"]),
];

/// Measures CPU time at switches.
#[derive(Clone, Copy, Debug)]
pub struct Util;

source!(Util, |_options| Util);

impl Util {
    fn observe(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let attach = |loaded: &mut Loaded| loaded.attach_where(|program| program != COUNT_OPEN);
        let observing = Observing::begin(SPEC.name, OBJECT, &Tracked::All, |_| Ok(()), attach)?;
        let sums = observing.map("cpus")?;
        CpuTime::measured_by(root, Box::new(Switches { observing, sums, tick_ns: timer_tick_ns() }))
    }
}

struct Switches {
    observing: Observing,
    /// `struct sums` of each CPU.
    sums: MapHandle,
    tick_ns: Option<u64>,
}

impl Measure for Switches {
    fn name(&self) -> &'static str {
        "switches"
    }

    fn read(&mut self, tick: Tick, rows: &mut Rows, cpus: &mut Vec<Option<Given>>) -> Result<(), SourceError> {
        self.observing.run_on_each_cpu(COUNT_OPEN)?;
        let values = self.sums.lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY);
        let values = values.map_err(|source| EbpfError::Map { map: "cpus".to_owned(), source })?;
        cpus.extend(values.unwrap_or_default().iter().map(|value| {
            let mut at = Bytes(value);
            let (busy, ticks, since) = (at.u64(), at.u64(), at.u64());
            (since > 0).then(|| Given { run_ns: busy, tick_ns: self.tick_ns.map(|ns| ns.saturating_mul(ticks)) })
        }));
        Ok(self.observing.report(tick, rows)?)
    }
}
