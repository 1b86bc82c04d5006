//! `dbwait`: what sessions of PostgreSQL wait for, measured at each context switch instead of sampled.

mod found;
mod observed;
mod stacks;
mod view;

use std::sync::Arc;

use fenxi_model::catalog::{db_statement_wait, db_wait, histogram, metric, stack};
use fenxi_source::{Collector, Opt, Options, Root, Source, SourceError, Spec, Take, Takes};

use self::observed::Observed;
use crate::{
    Loaded, Meanwhile, Observer, Tracked,
    bpf::{Compiled, compiled},
    error::live_only,
    observer::{PID, option, top},
    observing::Observing,
    unwind,
};

static OBJECT: Compiled = compiled!("dbwait");
static SPEC: Spec = Spec {
    name: "dbwait",
    summary: "wait events of PostgreSQL, CPU and run queue, by context switches (eBPF)",
    tables: &[&db_wait::TABLE, &db_statement_wait::TABLE, &histogram::TABLE, &stack::TABLE, &metric::TABLE],
    take: Take::EveryTick,
    default: false,
    live: false,
};

/// The observer.
pub static OBSERVER: Observer = Observer {
    source: &Dbwait::ALL,
    formerly: None,
    about: "Show what PostgreSQL sessions wait for, measured exactly: wait events, CPU, run queue",
    question: "What exactly do sessions of PostgreSQL wait for, how often, how long, and how long do they run?",
    help: "\
At each context switch of a server process the wait event is read that the
process has in its memory. Time off a CPU belongs to that event until the
process is woken; then it is run queue; the rest is CPU. Waits that never leave
a CPU (a page found in the page cache, a spinning lock) are CPU. PostgreSQL 14
to 18; servers are discovered automatically, also those started later.

  WAITS     waits that ended
  SESSIONS  time per second: mean number of sessions in it

Examples:
  fenxi trace dbwait 5                  all servers, every five seconds
  fenxi trace dbwait -p 1234 10 1       one server (its first process), 10 s
  fenxi trace dbwait -p 2345 10 1       one session
  fenxi trace dbwait --by activity 5    lock, commit, user io, cpu ...
  fenxi trace dbwait --distributions    with a histogram of each event
  fenxi trace dbwait --stacks 10 1      also stacks, kept as table stack
  fenxi record -s +dbwait --db auto     beside samples and counters",
    command: Meanwhile::UntilItEnds,
    interval_s: None,
    needs: &[],
    view: view::new,
};

const OPTIONS: &[Opt] = &[
    option(
        "by",
        Takes::Word(&[("event", "Wait event"), ("activity", "Class of activity"), ("server", "Server")]),
        "Group by",
    )
    .of_view(),
    option("all", Takes::Nothing, "Show also what is idle: waits for the next statement, background processes at rest")
        .of_view(),
    option("distributions", Takes::Nothing, "Add histograms of wait times").of_view(),
    option(
        "stacks",
        Takes::Nothing,
        "Keep the stack of each wait, of kernel and program, by wait event (table `stack`)",
    ),
    top(40, "Maximum number of lines to show"),
    Opt { about: "Server process IDs (with all sessions), or those of single sessions", not_with: &["run"], ..PID },
];

/// Measures waits of PostgreSQL.
#[derive(Clone, Debug)]
pub struct Dbwait {
    /// First processes of servers, or sessions; empty: all servers.
    pub pids: Vec<u32>,
    /// True if stacks are kept.
    pub stacks: bool,
}

impl Dbwait {
    /// Of every server.
    pub const ALL: Dbwait = Dbwait { pids: Vec::new(), stacks: false };
}

/// The program that is run at each reading, and attached to nothing.
const COUNT_OPEN: &str = "count_open";

impl Source for Dbwait {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn options(&self) -> &'static [Opt] {
        OPTIONS
    }

    fn with(&self, options: &Options) -> Result<Arc<dyn Source>, SourceError> {
        Ok(Arc::new(Dbwait { pids: options.processes(PID.name).to_vec(), stacks: options.is_given("stacks") }))
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        live_only(root)?;
        let attach = |loaded: &mut Loaded| loaded.attach_where(|program| program != COUNT_OPEN);
        let begin = |with_tables: bool| {
            let set = |loader: &mut crate::Loader| {
                unwind::set(loader, with_tables)?;
                if self.stacks {
                    loader.set("with_stacks", 1_u32)?;
                    return loader.room("stacks", 16384);
                }
                loader.leave_out(|program| program == "met_anew");
                // Nothing is put there; maps without room are refused.
                loader.room("stacks", 1)
            };
            Observing::begin(SPEC.name, OBJECT, &Tracked::All, set, attach)
        };
        let (observing, unwinder, refused) = match self.stacks {
            true => unwind::begin(begin)?,
            false => (begin(false)?, None, None),
        };
        let mut observed = Observed::begin(self.clone(), observing, unwinder)?;
        observed.notes.extend(refused);
        Ok(Box::new(observed))
    }
}
