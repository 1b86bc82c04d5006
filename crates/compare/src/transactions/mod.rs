//! Transactions of runs and where their time went, as far as the runs' tables have it: one statement for each source.
//!
//! Which of the sources a part is taken from is decided in `fenxi_analyze`; here are the figures of each. Only the time in
//! which the load ran counts, and only sessions and processes of the server that it loaded.

mod active;
mod command;
mod server;

use std::collections::BTreeMap;

use fenxi_analyze::{Measured, Outcome, RunSummary, Source, Transactions, kind_name as name, of_class};
use fenxi_query::{Answer, Engine, Part, QueryError, Scope};
use fenxi_store::{RunEntry, Window};

use crate::group::Counted;
use server::Server;

/// A statement, for runs that have one of its tables.
struct SourceQuery {
    tables: &'static [&'static str],
    sql: &'static str,
}

macro_rules! asked {
    ($name:ident, $file:literal, $($table:literal),+) => {
        const $name: SourceQuery = SourceQuery { tables: &[$($table),+], sql: concat!(include_str!("span.sql"), include_str!($file)) };
    };
}

asked!(LOAD, "load.sql", "load");
asked!(SESSIONS, "sessions.sql", "db_wait", "db", "db_pool");
asked!(PROCESSES, "processes.sql", "process");
asked!(STATEMENTS, "statements.sql", "query");
asked!(CGROUPS, "cgroups.sql", "cgroup");
asked!(NETWORK, "network.sql", "db");

/// One row of an answer: numbers and words by column.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    numbers: BTreeMap<String, f64>,
    words: BTreeMap<String, String>,
}

impl Row {
    fn number(&self, column: &str) -> Option<f64> {
        self.numbers.get(column).copied()
    }

    pub(crate) fn word(&self, column: &str) -> &str {
        self.words.get(column).map_or("", String::as_str)
    }

    fn is(&self, column: &str) -> bool {
        self.word(column) == "true"
    }
}

/// Finds out for each run that shows transactions where their time went, and for each command what it waited for; `summaries` are those of `runs`.
///
/// # Errors
/// When the engine or the store fails.
pub fn add(engine: &Engine, runs: &[Counted], summaries: &mut [RunSummary]) -> Result<(), QueryError> {
    let mut parts: BTreeMap<Option<(i64, i64)>, Vec<usize>> = BTreeMap::new();
    for (i, (entry, window)) in runs.iter().enumerate() {
        let has_load = entry.manifest.file("load").is_some() || summaries[i].results.contains_key("latency_mean");
        if has_load {
            let since_begin = |micros: i64| micros.saturating_sub(entry.manifest.start.0);
            let edges = window.as_ref().map(|w| (since_begin(w.start.0), since_begin(w.end.0)));
            parts.entry(edges).or_default().push(i);
        }
    }
    for (edges, members) in parts {
        let part = edges.map(|(from, to)| Part { from_us: Some(from), to_us: Some(to) });
        let of_runs: Vec<&RunEntry> = members.iter().map(|i| &runs[*i].0).collect();
        let ask = |asked: &SourceQuery| answers(engine, asked, &of_runs, part);
        let [load, sessions, processes] = [ask(&LOAD)?, ask(&SESSIONS)?, ask(&PROCESSES)?];
        let [statements, cgroups, network] = [ask(&STATEMENTS)?, ask(&CGROUPS)?, ask(&NETWORK)?];
        for i in members {
            let rows =
                |of: &BTreeMap<String, Vec<Row>>| of.get(runs[i].0.manifest.id.as_str()).cloned().unwrap_or_default();
            let sources = TimeSources {
                load: rows(&load).pop().unwrap_or_default(),
                sessions: rows(&sessions),
                processes: rows(&processes),
                statements: rows(&statements).pop(),
                cgroups: rows(&cgroups),
                network: rows(&network).pop(),
            };
            summaries[i].transactions = sources.transactions(&summaries[i]);
        }
    }
    active::add(engine, runs, summaries)?;
    command::add(engine, runs, summaries)
}

/// A window of a run as a part of it.
pub(crate) fn part_of(entry: &RunEntry, window: Option<&Window>) -> Option<Part> {
    let since_begin = |micros: i64| Some(micros.saturating_sub(entry.manifest.start.0));
    window.map(|w| Part { from_us: since_begin(w.start.0), to_us: since_begin(w.end.0) })
}

/// Answers to `asked` of the runs that have one of its tables, by run.
fn answers(
    engine: &Engine,
    asked: &SourceQuery,
    runs: &[&RunEntry],
    part: Option<Part>,
) -> Result<BTreeMap<String, Vec<Row>>, QueryError> {
    let has = |entry: &&&RunEntry| asked.tables.iter().any(|table| entry.manifest.file(table).is_some());
    let ids: Vec<_> = runs.iter().filter(has).map(|entry| entry.manifest.id.clone()).collect();
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    Ok(rows(&engine.ours(asked.sql, &[], &Scope { runs: Some(ids), part })?))
}

/// The rows of an answer by run.
pub(crate) fn rows(answer: &Answer) -> BTreeMap<String, Vec<Row>> {
    let mut all = vec![Row::default(); answer.n_rows()];
    for column in &answer.columns {
        if column.ty.is_numeric() {
            for (row, value) in all.iter_mut().zip(answer.f64s(&column.name)) {
                row.numbers.extend(value.map(|value| (column.name.clone(), value)));
            }
        } else {
            for (row, value) in all.iter_mut().zip(answer.strings(&column.name)) {
                row.words.extend(value.map(|value| (column.name.clone(), value)));
            }
        }
    }
    let mut by_run: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for row in all {
        by_run.entry(row.word("run").to_owned()).or_default().push(row);
    }
    by_run
}

/// The sources of times in the tables of a run.
struct TimeSources {
    load: Row,
    sessions: Vec<Row>,
    processes: Vec<Row>,
    statements: Option<Row>,
    cgroups: Vec<Row>,
    network: Option<Row>,
}

impl TimeSources {
    fn transactions(&self, run: &RunSummary) -> Option<Transactions> {
        let result = |name: &str, unit: &str| result(run, name, unit);
        let latency_ms = self.load.number("latency_ms").or_else(|| result("latency_mean", "ms"))?;
        let per_s = self.load.number("per_s").or_else(|| result("throughput", "/s")).filter(|rate| *rate > 0.0)?;
        let by_driver = result("server_cpu_per_transaction", "s").map(|s| s * per_s);
        let server = Server::choose(&self.processes, run.params.get("server").map(String::as_str), by_driver);
        let mut notes = Vec::new();
        let sessions = |measured, word| self.sessions(measured, word);
        let mut sources = vec![sessions(Measured::Exact, "exact"), sessions(Measured::Os, "os")];
        if let Some(server) = &server {
            // Figures that the sessions' own poller took from the processes are of the server's clients only.
            if sources[1].amounts.is_empty() {
                notes.extend(server.notes());
            }
            sources.push(server.source());
        }
        sources.extend(self.statements.as_ref().map(statements));
        sources.push(sessions(Measured::Server, "server"));
        let mut told = Source::new(Measured::Os);
        told.add(name::CPU, by_driver, &[name::PROTOCOL]);
        told.add(name::RUN_QUEUE, result("server_wait_per_transaction", "s").map(|s| s * per_s), &[]);
        sources.push(told);
        let mut sampled = sessions(Measured::Sampled, "sampled");
        sampled.is_complete = self.sessions.iter().any(|row| row.word("measured") == "sampled");
        sampled.error = self.sessions.iter().filter_map(|row| row.number("error")).reduce(f64::max);
        sources.push(sampled);
        sources.extend(server.as_ref().map(Server::block_io));
        sources.push(self.driver(run, latency_ms, per_s));
        sources.extend(self.network.as_ref().map(|row| network(row, per_s)));
        sources.retain(|source| !source.amounts.is_empty() || source.is_complete);
        let servers = self.sessions.iter().filter_map(|row| row.number("servers")).fold(0.0, f64::max);
        if servers > 1.0 {
            notes.push(format!("sessions of {servers} servers are added up"));
        }
        let cpus = run.value("sched", "cpus_online");
        let (quota, doubt) = server::quota(&self.cgroups, server.as_ref(), cpus);
        notes.extend(doubt);
        Some(Transactions { latency_ms, per_s, sources, quota, notes })
    }

    /// Activities in which sessions were seen, as far as they were measured so.
    fn sessions(&self, measured: Measured, word: &str) -> Source {
        let mut source = Source::new(measured);
        for row in self.sessions.iter().filter(|row| row.word("measured") == word) {
            let Some(kind) = of_class(row.word("word")) else { continue };
            // A session that samples see between statements is on a CPU for it by the operating system's account.
            let also: &[&str] =
                if kind.name == name::CPU && measured != Measured::Sampled { &[name::PROTOCOL] } else { &[] };
            source.add(kind.name, row.number("time"), also);
        }
        source
    }

    /// Times that the driver itself reports: its own lag, waiting for a connection, and its threads' work.
    fn driver(&self, run: &RunSummary, latency_ms: f64, per_s: f64) -> Source {
        let mut source = Source::new(Measured::Driver);
        let lag_ms = self.load.number("lag_ms");
        let sessions = |ms: f64| ms * per_s / 1e3;
        source.add(name::LAG, lag_ms.map(sessions), &[]);
        let ms = |name: &str| result(run, name, "ms");
        // In a closed loop nothing is due before a connection is free.
        let waited = match (lag_ms, ms("latency_mean"), ms("service_mean"), ms("lag_mean")) {
            (Some(_), Some(latency), Some(service), Some(lag)) if latency > 0.0 => {
                Some((latency - service - lag).max(0.0) / latency * latency_ms)
            }
            _ => self.load.number("queue").map(|queue| (1e3 * queue / per_s - lag_ms.unwrap_or(0.0)).max(0.0)),
        };
        source.add(name::CONNECTION, waited.map(sessions), &[]);
        let seconds = |name: &str| result(run, name, "s").map(|seconds| seconds * per_s);
        source.add(name::THINK, seconds("think_time_per_transaction"), &[]);
        source.add(name::DRIVER_CPU, seconds("client_cpu_per_transaction"), &[]);
        // A thread that waits for a CPU keeps several answers waiting, so that its own wait is the minimum.
        let waited = seconds("client_delay_per_transaction").or_else(|| seconds("client_wait_per_transaction"));
        source.add(name::DRIVER_WAIT, waited, &[]);
        source
    }
}

/// A result of a run that has the unit.
fn result(run: &RunSummary, name: &str, unit: &str) -> Option<f64> {
    run.results.get(name).filter(|outcome: &&Outcome| outcome.unit == unit).map(|outcome| outcome.value)
}

/// Round trips between driver and server: as many as a transaction has requests, of the shortest that was measured.
fn network(row: &Row, per_s: f64) -> Source {
    let mut source = Source::new(Measured::Ping);
    let trips = row.number("trips").zip(row.number("round_trip_ms"));
    source.add(name::NETWORK, trips.map(|(trips, ms)| trips * ms * per_s / 1e3), &[]);
    source
}

/// Times measured inside statements.
fn statements(row: &Row) -> Source {
    let mut source = Source::new(Measured::Exact);
    source.add(name::CPU, row.number("cpu"), &[]);
    source.add(name::RUN_QUEUE, row.number("run_queue"), &[]);
    source.add(name::BLOCK_IO, row.number("block_io"), &[]);
    source.add(name::LOCKS, row.number("lock"), &[]);
    source.add(name::CLIENT, row.number("network"), &[name::IPC]);
    source.add(name::OTHER, row.number("other"), &[name::TIMEOUT, name::EXTENSION]);
    source
}
