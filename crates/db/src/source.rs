//! The source `db`: all servers of a recording.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use fenxi_model::{
    Rows, Table,
    catalog::{
        db, db_checkpoint, db_index, db_io, db_lock, db_plan, db_pool, db_progress, db_replication, db_session,
        db_setting, db_statement, db_table, db_wait, db_wal,
    },
};
use fenxi_source::{Collector, Root, Source, SourceError, Spec, Take, Tick};

use crate::{
    gather::{Begun, Gathering},
    moment::Epoch,
    server::Server,
};

/// The source's name.
pub const SOURCE_NAME: &str = "db";

/// The most looks at sessions per second.
pub const MAX_RATE: u32 = 100;

/// How long a poller waits between two readings, at least: servers publish counters once a second.
const POLL: Duration = Duration::from_secs(1);

/// How long servers are waited for in all: for their first readings when a recording begins, and for the last ones when it
/// ends. One that answers needs tenths of a second; a recording is not held up by one that does not.
const PATIENCE: Duration = Duration::from_millis(1800);
/// How much of that they are waited for at the beginning.
const PATIENCE_AT_BEGIN: Duration = Duration::from_millis(1400);

/// Tables that it fills.
pub static TABLES: &[&Table] = &[
    &db::TABLE,
    &db_wait::TABLE,
    &db_session::TABLE,
    &db_statement::TABLE,
    &db_table::TABLE,
    &db_index::TABLE,
    &db_lock::TABLE,
    &db_io::TABLE,
    &db_wal::TABLE,
    &db_checkpoint::TABLE,
    &db_replication::TABLE,
    &db_progress::TABLE,
    &db_pool::TABLE,
    &db_plan::TABLE,
    &db_setting::TABLE,
];

static SPEC: Spec = Spec {
    name: SOURCE_NAME,
    summary: "sessions, waits, statements, tables, I/O and log of database servers",
    tables: TABLES,
    take: Take::EveryTick,
    default: false,
    live: false,
};

/// Sampling rate of servers.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// Looks at sessions per second, 1 to [`MAX_RATE`].
    pub samples_per_s: u32,
    /// Seconds between two readings of counters, at least 1.
    pub poll_s: f64,
}

impl Default for Rate {
    fn default() -> Rate {
        Rate { samples_per_s: 10, poll_s: 1.0 }
    }
}

/// Servers to be observed.
#[derive(Debug)]
pub struct Databases {
    servers: Vec<Server>,
    rate: Rate,
}

impl Databases {
    /// These servers, as one source.
    pub fn source(servers: Vec<Server>, rate: Rate) -> Arc<dyn Source> {
        Arc::new(Databases { servers, rate })
    }
}

impl Source for Databases {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, _root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let epoch = Epoch::begin();
        let step = Duration::from_secs_f64(1.0 / f64::from(self.rate.samples_per_s.clamp(1, MAX_RATE)));
        let poll = POLL.max(Duration::from_secs_f64(self.rate.poll_s.max(0.0)));
        let mut at_work = Vec::new();
        let mut notes = Vec::new();
        let mut refused = |server: &str, why: String| notes.push((server.to_owned(), why));
        let began = Instant::now();
        for server in &self.servers {
            match Gathering::start(&server.among(self.servers.len()), step, poll, epoch) {
                Ok(gathering) => at_work.push(gathering),
                Err(error) => refused(server.name(), format!("no thread can be started: {error}")),
            }
        }
        let mut late = Vec::new();
        at_work.retain(|gathering| match gathering.begun(began + PATIENCE_AT_BEGIN) {
            Begun::AtWork => true,
            Begun::Waits => {
                late.push(gathering.name().to_owned());
                true
            }
            Begun::Refused(why) => {
                refused(gathering.name(), why);
                false
            }
        });
        if at_work.is_empty() {
            let all: Vec<_> = notes.into_iter().map(|(_, why)| why).collect();
            return Err(SourceError::Refused(all.join("; ")));
        }
        let mut notes: Vec<_> =
            notes.into_iter().map(|(server, why)| (server, format!("not observed: {why}"))).collect();
        let seconds = PATIENCE_AT_BEGIN.as_secs_f64();
        notes.extend(late.into_iter().map(|server| {
            (server, format!("it has not answered all questions within {seconds} s: it is observed from when it does"))
        }));
        Ok(Box::new(Observing { at_work, notes, patience: PATIENCE.saturating_sub(began.elapsed()), until: None }))
    }
}

struct Observing {
    at_work: Vec<Gathering>,
    /// Notes to be made once of a server: that it could not be connected to, or is late.
    notes: Vec<(String, String)>,
    /// How long servers may still be waited for.
    patience: Duration,
    /// Until when, once they were asked for the last.
    until: Option<Instant>,
}

impl Collector for Observing {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        for (server, note) in self.notes.drain(..) {
            rows.note(&server, None, &note);
        }
        if tick.is_last {
            self.finish();
            let until = self.until.unwrap_or_else(Instant::now);
            for gathering in &self.at_work {
                if !gathering.ended(until) {
                    rows.note(
                        gathering.name(),
                        None,
                        "it has not answered the last questions in time: its last interval is missing",
                    );
                }
            }
        }
        for gathering in &self.at_work {
            gathering.take(tick.t, rows);
        }
        Ok(())
    }

    fn reads_at_end(&self) -> bool {
        true
    }

    fn finish(&mut self) {
        if self.until.is_none() {
            self.until = Some(Instant::now() + self.patience);
            self.at_work.iter().for_each(Gathering::finish);
        }
    }

    fn cpu_of_threads(&self) -> f64 {
        self.at_work.iter().map(Gathering::cpu_s).sum()
    }
}
