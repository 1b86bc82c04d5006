//! `procsystime`: system calls by process and call: counts, latency, CPU time, errors.

mod view;

use fenxi_model::{Rows, catalog::syscall};
use fenxi_source::{Collector, Opt, Root, SourceError, Spec, Takes, Tick};

use crate::{
    Meanwhile, Observer, Tracked,
    bpf::{Compiled, compiled},
    bytes::Bytes,
    drain::Drain,
    kernel::n_cpus,
    observer::{PID, option, source, spec, top},
    observing::Observing,
    syscalls,
};

static OBJECT: Compiled = compiled!("procsystime");
static SPEC: Spec =
    spec("procsystime", "system calls by process: count, elapsed and CPU time, errors (eBPF)", &[&syscall::TABLE]);

/// The observer.
pub static OBSERVER: Observer = Observer {
    source: &Procsystime::ALL,
    formerly: None,
    about: "Show system calls: counts, latency, CPU time, errors",
    question: "Where does time go in system calls?",
    help: "\
ELAPSED is the latency of calls, CPU its on-CPU part; the rest is waiting. Calls
that have not returned are not counted. Without an INTERVAL, totals are shown at
the end (Ctrl-C, or exit of COMMAND).

Examples:
  fenxi trace procsystime -- make         system call time of make
  fenxi trace procsystime -c -- ls -l     like truss -c and strace -c, cheaper
  fenxi trace procsystime -p 1234 1 10    of a process, every second, ten times
  fenxi trace procsystime --by process 5  per process, every 5 s
  fenxi trace procsystime --save calls 1  also save it as a run",
    command: Meanwhile::ObservesIt,
    interval_s: None,
    needs: &[],
    view: view::new,
};

const OPTIONS: &[Opt] = &[
    option("counts", Takes::Nothing, "Show seconds, calls and errors only, like truss -c").short('c').of_view(),
    option(
        "by",
        Takes::Word(&[
            ("call", "All processes together"),
            ("command", "Program name"),
            ("process", "Process"),
            ("thread", "Thread"),
        ]),
        "Group by call and",
    ),
    top(40, "Maximum number of lines to show"),
    PID,
];

/// Counts system calls.
#[derive(Clone, Debug)]
pub struct Procsystime {
    /// Whose.
    pub tracked: Tracked,
    /// True if threads are distinguished: `pid` is then the thread's number.
    pub by_thread: bool,
}

impl Procsystime {
    /// Every process.
    pub const ALL: Procsystime = Procsystime { tracked: Tracked::All, by_thread: false };
}

source!(Procsystime, |options| {
    let by_thread = options.word("by") == "thread";
    Procsystime { tracked: Tracked::by(options), by_thread }
});

impl Procsystime {
    fn observe(&self, _: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let set = |loader: &mut crate::Loader| {
            loader.room("calls", room())?;
            loader.set("by_thread", u32::from(self.by_thread))
        };
        let observing = Observing::begin(SPEC.name, OBJECT, &self.tracked, set, crate::Loaded::attach)?;
        let sums = Drain::new("calls", observing.map("calls")?)?;
        Ok(Box::new(Observed { observing, sums }))
    }
}

/// Keys of one interval, a process and a call each: for fewer CPUs more, as each CPU has its own sums.
fn room() -> u32 {
    ((1 << 18) / n_cpus()).max(8192)
}

struct Observed {
    observing: Observing,
    /// `struct sums`: calls, errors, elapsed, CPU time; then the program's name.
    sums: Drain<4>,
}

impl Collector for Observed {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        self.sums.added(|added| {
            if tick.dt.is_none() {
                return;
            }
            let mut key = Bytes(added.key);
            let (pid, number) = (key.u32(), key.u32());
            let [calls, errors, elapsed, cpu] = added.sums.map(|sum| sum as f64);
            let mut row = rows.row(&syscall::TABLE, tick.t, tick.dt);
            row.str(syscall::comm, Bytes(added.rest).text(16).as_str());
            row.i64(syscall::pid, i64::from(pid));
            row.str(syscall::syscall, syscalls::name(number).as_ref());
            row.f64(syscall::calls, calls);
            row.f64(syscall::errors, errors);
            row.f64(syscall::elapsed_s, elapsed / 1e9);
            row.f64(syscall::cpu_s, cpu / 1e9);
        })?;
        Ok(self.observing.report(tick, rows)?)
    }
}
