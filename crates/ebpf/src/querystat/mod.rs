//! `querystat`: queries inside a database server — how long, where their time went, who pushed their threads off the CPU.

mod dispatch;
mod observed;
mod servers;
mod view;

use fenxi_model::catalog::{event, histogram, metric, preemption, query};
use fenxi_source::{Collector, Opt, Root, SourceError, Spec, Takes};

use crate::{
    Meanwhile, Observer, Tracked, Way,
    bpf::{Compiled, compiled},
    observer::{PID, option, source, spec, top},
    observing::Observing,
};
pub use servers::Servers;
pub(crate) use servers::name_of;

static OBJECT: Compiled = compiled!("querystat");
static SPEC: Spec = spec(
    "querystat",
    "queries inside PostgreSQL, MariaDB and MySQL: latency, waits, pre-emption (eBPF)",
    &[&query::TABLE, &histogram::TABLE, &preemption::TABLE, &event::TABLE, &metric::TABLE],
);

/// The observer.
pub static OBSERVER: Observer = Observer {
    source: &Querystat::ALL,
    formerly: None,
    about: "Show query latency in PostgreSQL, MariaDB and MySQL, broken down; preemption of their threads",
    question: "Which queries are slow, what do they wait for, what preempts them?",
    help: "\
Query latency is the time from reading the request to writing the response.
Servers are discovered automatically, also those started later. Queries that
differ only in literal values count as one normalised statement. Throughput is
shown after each interval [default: 3 seconds], everything else at the end.

Examples:
  fenxi trace querystat                         all servers
  fenxi trace querystat -p 1234 1 10            one, every second, ten times
  fenxi trace querystat --server postgres:5432  one server, by kind and port
  fenxi trace querystat --slower 5ms            also each query of 5 ms or more
  fenxi trace querystat --save mine 1           also save it as a run",
    command: Meanwhile::None,
    interval_s: Some(3.0),
    needs: &[(Way::Probe, "querystat of MariaDB and MySQL")],
    view: view::new,
};

const OPTIONS: &[Opt] = &[
    Opt { about: "Server process IDs, or those of single PostgreSQL sessions", not_with: &["run", "server"], ..PID },
    option(
        "server",
        Takes::Text { what: "SERVER", check: |text| Servers::parse(text).map(|_| ()) },
        "Servers by kind, port or URL: postgres, mariadb, mysql:3307, postgres://localhost:5433/ [default: all]",
    )
    .without(&["run"]),
    option("slower", Takes::Time, "Report each query that takes this long or longer: 5ms, 1s"),
    option("cache", Takes::Nothing, "Also observe MariaDB's query cache (one more probe per query)"),
    option("each", Takes::Nothing, "Show everything after each interval, not only throughput").short('e').of_view(),
    option("fine", Takes::Nothing, "Show fine histograms: eight buckets per power of two").of_view(),
    top(20, "Maximum number of statements and programs to show"),
];

/// Observes queries in servers.
#[derive(Clone, Debug)]
pub struct Querystat {
    /// Which servers.
    pub servers: Servers,
    /// Queries that take as long as this become events; None: none is.
    pub slower_ns: Option<u64>,
    /// True if MariaDB's query cache is observed too, which costs a probe more for each query.
    pub cache: bool,
}

impl Querystat {
    /// Every server.
    pub const ALL: Querystat = Querystat { servers: Servers::All, slower_ns: None, cache: false };
}

source!(Querystat, |options| {
    let servers = match (options.word("server"), options.processes("pid")) {
        ("", []) => Servers::All,
        ("", pids) => Servers::Processes(pids.to_vec()),
        (text, _) => Servers::parse(text).map_err(SourceError::Refused)?,
    };
    let slower_ns = options.seconds("slower").map(|seconds| (seconds * 1e9) as u64);
    Querystat { servers, slower_ns, cache: options.is_given("cache") }
});

impl Querystat {
    fn observe(&self, _: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let set = |loader: &mut crate::Loader| loader.set("slower_ns", self.slower_ns.unwrap_or(0));
        let observing = Observing::begin(SPEC.name, OBJECT, &Tracked::All, set, crate::Loaded::attach)?;
        Ok(Box::new(observed::Observed::begin(self.clone(), observing)?))
    }
}
