//! `querystat`: queries inside a database server — how long, where their time went, who pushed their threads off the CPU.

mod dispatch;
mod forms;
mod observed;
mod servers;

use fenxi_model::catalog::{event, histogram, metric, preemption, query};
use fenxi_source::{Collector, Root, Source, SourceError, Spec, Take};

use crate::{
    Tracked,
    bpf::{Compiled, compiled},
    error::live_only,
    observing::Observing,
};
pub use servers::Servers;

static OBJECT: Compiled = compiled!("querystat");
static SPEC: Spec = Spec {
    name: "querystat",
    summary: "queries inside PostgreSQL, MariaDB and MySQL: latency, waits, pre-emption (eBPF)",
    tables: &[&query::TABLE, &histogram::TABLE, &preemption::TABLE, &event::TABLE, &metric::TABLE],
    take: Take::EveryTick,
    default: false,
};

/// Observes queries in servers.
#[derive(Clone, Debug)]
pub struct Querystat {
    /// Which servers.
    pub servers: Servers,
    /// Queries that take as long as this are events of their own; None: none is.
    pub slower_ns: Option<u64>,
    /// Whether MariaDB's query cache is observed too, which costs a probe more for each query.
    pub cache: bool,
}

impl Querystat {
    /// Every server.
    pub const ALL: Querystat = Querystat { servers: Servers::All, slower_ns: None, cache: false };
}

impl Source for Querystat {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        live_only(root)?;
        let set = |loader: &mut crate::Loader| loader.set("slower_ns", self.slower_ns.unwrap_or(0));
        let observing = Observing::begin(SPEC.name, OBJECT, &Tracked::All, set, crate::Loaded::attach)?;
        Ok(Box::new(observed::Observed::begin(self.clone(), observing)?))
    }
}
