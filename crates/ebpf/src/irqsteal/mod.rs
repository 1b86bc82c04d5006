//! `irqsteal`: interrupts by what handled them and the threads that they held up, and how long threads then waited for a CPU.

mod view;

use std::collections::BTreeMap;

use fenxi_model::{Rows, catalog::pin};
use fenxi_source::{Collector, Opt, Root, SourceError, Spec, Takes, Tick};

use crate::{
    EbpfError, Loaded, Loader, Meanwhile, Observer, Tracked,
    bpf::{Compiled, compiled},
    bytes::Bytes,
    drain::Drain,
    kernel::n_cpus,
    observer::{PID, option, source, spec, top},
    observing::Observing,
    symbols::Symbols,
};

static OBJECT: Compiled = compiled!("irqsteal");
static SPEC: Spec = spec("irqsteal", "interrupts that hold up threads, by driver and process (eBPF)", &[&pin::TABLE]);

/// How much is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Sums by driver only, of devices' and soft interrupts: four programs, and switches cost nothing.
    Light,
    /// By driver and process, with the processors' own interrupts and the waits that followed.
    Processes,
    /// As `Processes`; also the function that handled it, and what a soft interrupt followed.
    Flow,
}

/// The observer.
pub static OBSERVER: Observer = Observer {
    source: &Irqsteal::ALL,
    formerly: Some("pin"),
    about: "Show interrupts that steal CPU time from threads, by driver, process or CPU",
    question: "Which interrupts steal CPU time from which threads? ([fence](fence.md) keeps them away)",
    help: "\
An interrupt steals CPU time from the thread it interrupts: the kernel charges
its time to that thread, so that no standard tool attributes it.

  CLASS   hard: hardware interrupt; soft: softirq; self: softirq raised by the
          thread itself (loopback)
  PINS    interrupts that interrupted a thread
  TIME    their self time, without nested interrupts
  %CPU    percent of one CPU
  WAITED  run-queue latency, when the interrupt had woken another thread
  IDLE    interrupts of an idle CPU
  RAN     CPU time of the process on that CPU, without interrupts

Interrupts are named as in /proc/interrupts and /proc/softirqs: by driver, LOC
(timer), RES (reschedule), CAL (function call), IWI. Without an INTERVAL, totals
are shown at the end (Ctrl-C, or exit of COMMAND). `fenxi fence` isolates a
process from interrupts.

Examples:
  fenxi trace irqsteal 5                 by driver, every five seconds
  fenxi trace irqsteal --by process 5    by driver and process
  fenxi trace irqsteal --by cpu -p 1234  by CPU: run time, interrupts and waits
  fenxi trace irqsteal --flow -- ping h  handlers, and their softirqs
  fenxi trace irqsteal --light 5         by driver, with minimum overhead",
    command: Meanwhile::ObservesIt,
    interval_s: None,
    needs: &[],
    view: view::new,
};

const OPTIONS: &[Opt] = &[
    option(
        "by",
        Takes::Word(&[("driver", "Driver"), ("process", "Driver and process"), ("cpu", "Driver, process and CPU")]),
        "Group by",
    )
    .of_view()
    .without(&["flow"]),
    option("flow", Takes::Nothing, "Show handler functions, and the interrupt that each softirq followed")
        .without(&["light"]),
    option(
        "light",
        Takes::Nothing,
        "Count device interrupts and softirqs by driver only; omit processes, waits and `self`",
    )
    .without(&["by", "pid", "command"]),
    top(40, "Maximum number of lines to show"),
    PID,
];

/// Observes interrupts.
#[derive(Clone, Debug)]
pub struct Irqsteal {
    /// The processes that they hold up.
    pub tracked: Tracked,
    /// How much is asked.
    pub detail: Detail,
}

impl Irqsteal {
    /// Every process.
    pub const ALL: Irqsteal = Irqsteal { tracked: Tracked::All, detail: Detail::Processes };

    fn begin(&self, vectors: bool) -> Result<Observing, EbpfError> {
        let light = self.detail == Detail::Light;
        let set = |loader: &mut Loader| {
            loader.set("by_process", u32::from(!light))?;
            loader.set("with_flow", u32::from(self.detail == Detail::Flow))?;
            loader.leave_out(|program| {
                let vector = program.starts_with(VECTOR_PROGRAM);
                vector && !vectors || light && NOT_LIGHT.contains(&program)
            });
            loader.room("pins", n_cpus().saturating_mul(ROOM_EACH).clamp(MIN_ROOM, MOST_ROOM))
        };
        let attach = |loaded: &mut Loaded| loaded.attach_where(|program| program != COUNT_OPEN);
        Observing::begin(SPEC.name, OBJECT, &self.tracked, set, attach)
    }
}

/// The program that counts what runs at the moment.
const COUNT_OPEN: &str = "count_open";
/// Programs that are not needed for sums by driver.
const NOT_LIGHT: [&str; 3] = [COUNT_OPEN, "switched", "softirq_raise"];
/// Prefix of the names of programs for the processors' own interrupts.
const VECTOR_PROGRAM: &str = "vector_";
/// Pairs of interrupt and process that there is room for in one interval, for each CPU, and in all.
const ROOM_EACH: u32 = 2048;
const MIN_ROOM: u32 = 1 << 15;
const MOST_ROOM: u32 = 1 << 18;

/// The processors' own interrupts by their numbers in `irqsteal.bpf.c`, named as in /proc/interrupts.
const VECTORS: [&str; 4] = ["LOC", "RES", "CAL", "IWI"];
/// Soft interrupts by their numbers, named as in /proc/softirqs.
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];
// As in `irqsteal.bpf.c`.
const SOFTIRQ: u32 = 0x4000_0000;
const VECTOR: u32 = 0x8000_0000;
const NOTHING: u32 = u32::MAX;
const SOMEBODY: u32 = u32::MAX;
const RAN: u32 = 3;
const CLASSES: [&str; 3] = ["hard", "soft", "self"];

source!(Irqsteal, |options| {
    let detail = match (options.is_given("light"), options.is_given("flow")) {
        (true, _) => Detail::Light,
        (_, true) => Detail::Flow,
        _ => Detail::Processes,
    };
    Irqsteal { tracked: Tracked::by(options), detail }
});

impl Irqsteal {
    fn observe(&self, _: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let wanted = self.detail != Detail::Light;
        let (observing, without) = match self.begin(wanted) {
            // The processors' own interrupts have these names on x86 only.
            Err(error) if wanted => (self.begin(false).map_err(|_| error)?, true),
            other => (other?, false),
        };
        let sums = Drain::new("pins", observing.map("pins")?)?;
        Ok(Box::new(Observed {
            observing,
            sums,
            detail: self.detail,
            note: without.then_some(WITHOUT_VECTORS),
            drivers: BTreeMap::new(),
            handlers: BTreeMap::new(),
            symbols: Symbols::new(),
        }))
    }
}

const WITHOUT_VECTORS: &str = "this kernel does not report the processors' own interrupts (timer, reschedule, call \
                               function): they are not counted, and soft interrupts that they ask for are taken for \
                               the thread's own";

struct Observed {
    observing: Observing,
    /// `struct sums`: events, their time, waits, run time; then names and functions. Emptied at each tick: a machine that begins
    /// thousands of processes a second would fill it otherwise.
    sums: Drain<4>,
    detail: Detail,
    /// Note on interrupts that are not observed; reported once.
    note: Option<&'static str>,
    /// Names of drivers by the number of their interrupt.
    drivers: BTreeMap<u32, String>,
    /// Functions by the number of their driver's registration.
    handlers: BTreeMap<u64, [u64; 2]>,
    symbols: Symbols,
}

/// Additions under one key of `pins`.
struct Pinned {
    process: u32,
    cpu: u32,
    what: u32,
    after: u32,
    class: u32,
    sums: [f64; 4],
    comm: String,
    handlers: [u64; 2],
}

impl Collector for Observed {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        if let Some(note) = self.note.take() {
            rows.note(SPEC.name, None, note);
        }
        if self.detail != Detail::Light {
            self.observing.run_on_each_cpu(COUNT_OPEN)?;
        }
        let mut seen = Vec::new();
        let (drivers, known) = (&mut self.drivers, &mut self.handlers);
        self.sums.added(|added| {
            let mut key = Bytes(added.key);
            let action = key.u64();
            let (process, cpu, what, after, class) = (key.u32(), key.u32(), key.u32(), key.u32(), key.u32());
            let mut rest = Bytes(added.rest);
            let (comm, name, handlers) = (rest.text(16), rest.text(32), [rest.u64(), rest.u64()]);
            if !name.is_empty() {
                drivers.insert(what, name);
            }
            // A wait that an interrupt caused may come first in an interval: it does not know them.
            if handlers != [0; 2] {
                known.insert(action, handlers);
            }
            let handlers = known.get(&action).copied().unwrap_or_default();
            let sums = added.sums.map(|sum| sum as f64);
            seen.push(Pinned { process, cpu, what, after, class, sums, comm, handlers });
        })?;
        if tick.dt.is_some() {
            for pinned in seen {
                self.row(&pinned, tick, rows);
            }
        }
        Ok(self.observing.report(tick, rows)?)
    }
}

impl Observed {
    /// Handler of an interrupt: the function, and the one that its thread calls where it has one (else 0). None when
    /// the kernel does not show names (kptr_restrict).
    fn handler(&mut self, functions: [u64; 2]) -> Option<String> {
        let begins = functions.into_iter().filter(|address| *address != 0);
        let names: Option<Vec<String>> = begins
            .map(|address| {
                let found = self.symbols.kernel(address);
                (found.offset == 0).then(|| found.function.to_string())
            })
            .collect();
        names.filter(|names| !names.is_empty()).map(|names| names.join(", thread "))
    }

    fn row(&mut self, pinned: &Pinned, tick: Tick, rows: &mut Rows) {
        let [events, ns, wait_ns, run_ns] = pinned.sums;
        let ran = pinned.class == RAN;
        let handler = if self.detail == Detail::Flow { self.handler(pinned.handlers) } else { None };
        let mut row = rows.row(&pin::TABLE, tick.t, tick.dt);
        row.str(pin::cpu, pinned.cpu.to_string().as_str());
        row.str(pin::comm, Some(pinned.comm.as_str()).filter(|comm| !comm.is_empty()));
        row.i64(pin::pid, (pinned.process != SOMEBODY).then_some(i64::from(pinned.process)));
        // No thread waits where it is not watched, nor when the CPU was idle.
        let waits = self.detail != Detail::Light && pinned.process != 0;
        row.f64(pin::run_queue_wait_s, waits.then_some(wait_ns / 1e9));
        if ran {
            row.f64(pin::run_s, run_ns / 1e9);
            return;
        }
        row.str(pin::driver, name(&self.drivers, pinned.what).as_str());
        row.str(pin::class, CLASSES.get(pinned.class as usize).copied());
        row.str(pin::handler, handler.as_deref());
        row.str(pin::after, (pinned.after != NOTHING).then(|| name(&self.drivers, pinned.after)).as_deref());
        row.f64(pin::events, events);
        row.f64(pin::pinned_s, ns / 1e9);
    }
}

/// Name of an interrupt.
fn name(drivers: &BTreeMap<u32, String>, what: u32) -> String {
    let known = match what {
        _ if what & VECTOR != 0 => VECTORS.get((what & !VECTOR) as usize).map(|name| (*name).to_owned()),
        _ if what & SOFTIRQ != 0 => SOFTIRQS.get((what & !SOFTIRQ) as usize).map(|name| (*name).to_owned()),
        _ => drivers.get(&what).cloned(),
    };
    known.unwrap_or_else(|| format!("irq {}", what & !(VECTOR | SOFTIRQ)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_have_the_names_of_proc() {
        let drivers = BTreeMap::from([(36, "virtio1-req.0".to_owned())]);
        let name = |what| name(&drivers, what);
        assert_eq!([name(36), name(SOFTIRQ | 3), name(VECTOR)], ["virtio1-req.0", "NET_RX", "LOC"]);
        assert_eq!([name(7), name(VECTOR | 9)], ["irq 7", "irq 9"]);
    }
}
