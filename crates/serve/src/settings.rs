//! Server settings.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use fenxi_model::Micros;
use fenxi_query::{Options, backend::Backend};
use fenxi_source::Source;
use fenxi_store::Store;

use crate::{Access, Tls};

/// Takes one line for each request.
pub type Audit = Arc<dyn Fn(&str) + Send + Sync>;

/// All settings of a server.
pub struct Settings {
    /// The store that it serves.
    pub store: Store,
    /// Addresses to listen on; port 0 takes any free one.
    pub listen: Vec<SocketAddr>,
    /// Names by which it is reached besides its addresses, as the one of a proxy before it.
    pub names: Vec<String>,
    /// Who may come in.
    pub access: Access,
    /// How connections are encrypted; None: not at all.
    pub tls: Option<Tls>,
    /// True if nothing may be changed through it.
    pub read_only: bool,
    /// True if questions that runs bring with them are asked.
    pub carried: bool,
    /// Backend that answers instead of this machine: a cluster.
    pub backend: Option<Arc<dyn Backend>>,
    /// Database servers that may be watched; None: none.
    pub databases: Option<Arc<dyn Source>>,
    /// Limits of a request.
    pub limits: Limits,
    /// The name of this machine, as live values carry it.
    pub host: String,
    /// Takes one line for each request.
    pub audit: Audit,
    /// The time.
    pub now: fn() -> Micros,
}

/// Limits of requests.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of memory of all engines together.
    pub memory_bytes: u64,
    /// Time for an answer, waiting included.
    pub time: Duration,
    /// Rows of an answer to a free statement.
    pub rows: usize,
    /// Requests that are answered at the same time, each by a separate engine.
    pub engines: usize,
    /// Requests that may wait for one.
    pub queue: usize,
    /// Bytes of an upload.
    pub upload_bytes: u64,
    /// Time for the import of an upload that has arrived, waiting not included.
    pub import_time: Duration,
    /// Uploads that are imported at the same time.
    pub imports: usize,
    /// Connections at the same time; no more than half the files that the process may open.
    pub connections: usize,
    /// Time from the begin of a connection to its first request.
    pub arrival: Duration,
    /// Time for which a client may be waited for in the middle of a request or an answer, besides what its bytes earn.
    pub patience: Duration,
    /// Archives that are given at the same time, and files that are taken.
    pub transfers: usize,
    /// Bytes of answers that wait for their clients, all together.
    pub answer_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        let cpus = std::thread::available_parallelism().map_or(2, usize::from);
        Limits {
            memory_bytes: 1 << 30,
            time: Duration::from_secs(30),
            rows: 100_000,
            // Two at least: one long statement must not keep everybody else waiting.
            engines: cpus.clamp(2, 8),
            queue: 256,
            upload_bytes: 1 << 30,
            import_time: Duration::from_secs(300),
            imports: 2,
            connections: 1024,
            arrival: Duration::from_secs(8),
            patience: Duration::from_secs(30),
            transfers: 4,
            answer_bytes: 256 << 20,
        }
    }
}

/// The minimum memory of an engine.
const LEAST_MEMORY: u64 = 64 << 20;
/// Share of an engine's memory that its answer may have, in this process, while it is written; as a divisor.
const ANSWERS: u64 = 8;
/// Share of its process's memory that the engine may plan with, as a divisor: functions, threads and what the allocator
/// keeps take the rest without asking.
const PLANNED: u64 = 2;
/// How many times its memory an engine may spill to disk.
const SPILL: u64 = 8;

impl Limits {
    /// Limits of each of `engines` that work at the same time; `carried` is whether questions that runs bring with them
    /// are asked.
    pub(crate) fn options(&self, engines: usize, carried: bool) -> Options {
        let cpus = std::thread::available_parallelism().map_or(2, usize::from);
        let memory = (self.memory_bytes / engines as u64).max(LEAST_MEMORY);
        let answer = memory / ANSWERS;
        let process = memory - answer;
        Options {
            memory_limit: Some(format!("{}MiB", (process / PLANNED) >> 20)),
            process_bytes: Some(process),
            // Written as text it is there twice.
            answer_bytes: Some(answer / 2),
            time: Some(self.time),
            threads: Some((cpus / 2).max(2)),
            spill_limit: Some(format!("{}MiB", (SPILL * memory) >> 20)),
            carried,
            time_parts: Some(fenxi_compare::time_parts),
            ..Options::default()
        }
    }

    /// Options of the only engine of a process that serves one client.
    pub fn one_engine(&self, carried: bool) -> Options {
        self.options(1, carried)
    }
}
