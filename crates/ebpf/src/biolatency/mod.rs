//! `biolatency`: requests to block devices — how long each was in the kernel's queue, how long at the device.

mod view;

use fenxi_model::{
    Rows,
    catalog::{block_io as c, histogram},
};
use fenxi_source::{Collector, Opt, Root, SourceError, Spec, Takes, Tick};
use rustc_hash::FxHashMap;

use crate::{
    Loaded, Loader, Meanwhile, Observer, Tracked,
    bpf::{Compiled, compiled},
    buckets::{self, BUCKETS},
    bytes::Bytes,
    drain::Drain,
    kernel,
    observer::{option, source, spec, top},
    observing::Observing,
    sums::Added,
};

static OBJECT: Compiled = compiled!("biolatency");
static SPEC: Spec = spec(
    "biolatency",
    "requests to block devices: time in the queue, time at the device (eBPF)",
    &[&c::TABLE, &histogram::TABLE],
);

/// The tracepoint of requests that become part of others, which Linux has since 5.10, and its program.
const MERGE: (&str, &str) = ("block_rq_merge", "merged");

/// The observer.
pub static OBSERVER: Observer = Observer {
    source: &Biolatency,
    formerly: None,
    about: "Show block I/O latency: time in the queue, time at the device",
    question: "Block I/O latency: how long do requests queue, how long does the device take?",
    help: "\
A request is in the queue from the moment when the kernel's I/O scheduler has it
to that when it is handed to the driver, and at the device from then until it
has ended. One that goes to the driver at once (without a scheduler, a flush)
has no time in the queue. One request can carry several reads or writes of
programs. Without an INTERVAL, sums are shown at the end (Ctrl-C, COMMAND's
end).

Examples:
  fenxi trace biolatency 5                 each device, every five seconds
  fenxi trace biolatency -- fio job.fio    while a load runs
  fenxi trace biolatency --no-distributions 1
                                           means only
  fenxi trace biolatency --save disks 1    kept as a run",
    command: Meanwhile::UntilItEnds,
    interval_s: None,
    needs: &[],
    view: view::new,
};

const OPTIONS: &[Opt] = &[
    option("no-distributions", Takes::Nothing, "Omit histograms").of_view(),
    top(40, "Maximum number of lines to show"),
];

/// Times requests to block devices.
#[derive(Clone, Copy, Debug)]
pub struct Biolatency;

source!(Biolatency, |_options| Biolatency);

impl Biolatency {
    fn observe(&self, _: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let missing = kernel::missing_tracepoints(&[MERGE.0])?;
        let queue_comes_first = kernel::arguments("block_rq_issue")?.is_some_and(|n| n > 1);
        let set = |loader: &mut Loader| {
            loader.leave_out(|program| program == MERGE.1 && !missing.is_empty());
            loader.set("queue_comes_first", u32::from(queue_comes_first))
        };
        let observing = Observing::begin(SPEC.name, OBJECT, &Tracked::All, set, Loaded::attach)?;
        let ended = Drain::new("ended", observing.map("ended")?)?;
        Ok(Box::new(Observed { observing, ended, ops: operations()? }))
    }
}

/// Names of operations as this kernel has them, by number: they have changed between versions.
fn operations() -> Result<FxHashMap<u32, String>, SourceError> {
    // It was `req_opf` before Linux 6.0.
    let names = kernel::enumerated(&["req_op", "req_opf"])?;
    let known = names.into_iter().filter_map(|(name, number)| {
        let name = name.strip_prefix("REQ_OP_").filter(|name| *name != "LAST")?;
        Some((u32::try_from(number).ok()?, name.to_lowercase().replace('_', " ")))
    });
    Ok(known.collect())
}

/// Sums of `struct sums`: requests, those in a queue, both times; then two histograms and the device's name.
const SUMS: usize = 4 + 2 * BUCKETS;

struct Observed {
    observing: Observing,
    ended: Drain<SUMS>,
    ops: FxHashMap<u32, String>,
}

impl Collector for Observed {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        let ops = &self.ops;
        self.ended.added(|added| {
            if tick.dt.is_some() {
                put(&added, ops, tick, rows);
            }
        })?;
        Ok(self.observing.report(tick, rows)?)
    }
}

fn put(added: &Added<'_, SUMS>, ops: &FxHashMap<u32, String>, tick: Tick, rows: &mut Rows) {
    let mut key = Bytes(added.key);
    let (major, minor, op) = (key.u32(), key.u32(), key.u32());
    let device = match Bytes(added.rest).text(32) {
        unnamed if unnamed.is_empty() => format!("{major}:{minor}"),
        name => name,
    };
    let op = ops.get(&op).cloned().unwrap_or_else(|| format!("operation {op}"));
    let (sums, counts) = added.sums.split_at(4);
    let mean_us = |ns: u64, of: u64| (of > 0).then(|| ns as f64 / 1e3 / of as f64);
    let mut row = rows.row(&c::TABLE, tick.t, tick.dt);
    row.str(c::device, device.as_str()).str(c::op, op.as_str());
    row.f64(c::requests, sums[0] as f64).f64(c::queued, sums[1] as f64);
    row.f64(c::queue_us, mean_us(sums[2], sums[1])).f64(c::device_us, mean_us(sums[3], sums[0]));
    let labels = format!("device={device},op={op}");
    let (queue, at_device) = counts.split_at(BUCKETS);
    for (counts, name) in [(queue, "block_queue_us"), (at_device, "block_device_us")] {
        buckets::rows(buckets::Of { name, labels: &labels, unit: "us", scale: 1e-3 }, counts, tick, rows);
    }
}
