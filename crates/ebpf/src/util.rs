//! `util`: the CPU time that tasks had, by the scheduler's switches, beside what the clock tick saw of it.

use fenxi_model::{Rows, catalog::cpu_time};
use fenxi_source::{Collector, CpuTime, Given, Measure, Root, Source, SourceError, Spec, Take, Tick, timer_tick_ns};
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::{
    EbpfError, Loaded, Tracked,
    bpf::{Compiled, compiled},
    bytes::Bytes,
    error::live_only,
    observing::Observing,
};

static OBJECT: Compiled = compiled!("util");
static SPEC: Spec = Spec {
    name: "util",
    summary: "CPU time by each switch of the scheduler, beside the clock tick's (eBPF)",
    tables: &[&cpu_time::TABLE],
    take: Take::EveryTick,
    default: false,
};
/// The program that counts what is still open.
const COUNT_OPEN: &str = "count_open";

/// Measures CPU time at switches.
#[derive(Clone, Copy, Debug)]
pub struct Util;

impl Util {
    /// Every process.
    pub const ALL: Util = Util;
}

impl Source for Util {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        live_only(root)?;
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
