//! Figures of one interval of a database server: a line of `dbstat` and the tiles of `db top`.
//!
//! The rows of an interval have one time, whatever frame they come in: live, a frame is a tick of the recorder, and of a
//! run it is a moment.

use std::collections::BTreeMap;

use fenxi_db::activity as a;
use fenxi_model::{
    Micros, Rows, RowsOf,
    catalog::{db, db_checkpoint, db_statement, db_wait},
};

/// A class of activity as it is shown: its title, and the activities in it.
#[derive(Debug)]
pub struct Class {
    /// Title of its column.
    pub title: &'static str,
    /// Label in a word or two.
    pub name: &'static str,
    activities: &'static [&'static str],
}

/// The classes in the order in which they are stacked: what is the machine's below, what is the program's above.
pub const CLASSES: &[Class] = &[
    Class { title: "cpu", name: "CPU", activities: &[a::CPU] },
    Class { title: "runq", name: "run queue", activities: &[a::RUN_QUEUE] },
    Class { title: "io", name: "I/O", activities: &[a::USER_IO, a::SYSTEM_IO] },
    Class { title: "cmt", name: "commit", activities: &[a::COMMIT] },
    Class { title: "ltch", name: "latch", activities: &[a::CONCURRENCY] },
    Class { title: "lock", name: "lock", activities: &[a::LOCK] },
    Class { title: "oth", name: "other", activities: &[a::IPC, a::TIMEOUT, a::EXTENSION, a::REPLICATION, a::OTHER] },
    Class { title: "net", name: "client", activities: &[a::CLIENT] },
    Class { title: "itx", name: "idle in transaction", activities: &[a::IDLE_IN_TRANSACTION] },
];

/// The places of CPU and run queue in [`CLASSES`], which the operating system knows better than samples do.
const CPU: usize = 0;
const RUN_QUEUE: usize = 1;
/// The place of the only class that is no work.
pub const IDLE_IN_TRANSACTION: usize = 8;

/// The class of an activity; None for one that is not shown.
pub fn class_of(activity: &str) -> Option<usize> {
    CLASSES.iter().position(|class| class.activities.contains(&activity))
}

/// One interval of one server. What is not known is None.
#[derive(Clone, Debug)]
pub struct Line {
    /// The end of the interval.
    pub t: Micros,
    /// Its length in seconds.
    pub dt: f64,
    /// Name of the server.
    pub server: String,
    /// Open connections.
    pub sessions: Option<f64>,
    /// Mean number of active sessions of clients.
    pub active: Option<f64>,
    /// Mean number of sessions of clients in each of [`CLASSES`].
    pub classes: [Option<f64>; CLASSES.len()],
    /// Transactions per second, those rolled back included.
    pub transactions_per_s: Option<f64>,
    /// Statements per second.
    pub statements_per_s: Option<f64>,
    /// Mean time of a statement.
    pub mean_ms: Option<f64>,
    /// Share of blocks found in the server's own cache.
    pub hit_percent: Option<f64>,
    /// Blocks requested from the operating system, per second.
    pub reads_per_s: Option<f64>,
    /// Bytes of write-ahead or redo log per second.
    pub log_bytes_per_s: Option<f64>,
    /// Bytes written to temporary files per second.
    pub temp_bytes_per_s: Option<f64>,
    /// Checkpoints begun in the interval.
    pub checkpoints: Option<f64>,
    /// Age of the oldest open transaction.
    pub oldest_transaction_s: Option<f64>,
}

/// Figures of one reading of statements, which comes less often than lines do.
#[derive(Clone, Copy, Debug)]
struct Statements {
    t: Micros,
    dt: f64,
    calls_per_s: f64,
    /// Seconds in statements per second.
    time: Option<f64>,
}

/// Makes lines of rows.
#[derive(Debug, Default)]
pub struct Lines {
    only: Option<String>,
    /// The last readings of each server's statements.
    statements: BTreeMap<String, Vec<Statements>>,
}

/// A frame holds no more readings of statements than these.
const READINGS: usize = 4;

impl Lines {
    /// Of all servers, or of one.
    pub fn new(only: Option<String>) -> Lines {
        Lines { only, statements: BTreeMap::new() }
    }

    /// The intervals whose rows are in `rows`, in the order of their times.
    pub fn take(&mut self, rows: &Rows) -> Vec<Line> {
        self.take_statements(rows);
        let Some(servers) = rows.of(&db::TABLE) else { return Vec::new() };
        let is_wanted = |server: &str| self.only.as_deref().is_none_or(|only| only == server);
        // A row without a database is of the whole server.
        let whole = (0..servers.n_rows()).filter(|row| servers.str(*row, db::database).is_none());
        let lines = whole.filter_map(|row| {
            let server = servers.str(row, db::server).filter(|server| is_wanted(server))?;
            let mut line = of_row(servers, row, server)?;
            line.classes = classes(rows, &line, servers.f64(row, db::samples));
            line.checkpoints = checkpoints(rows, &line);
            self.fill_statements(&mut line);
            Some(line)
        });
        let mut lines: Vec<Line> = lines.collect();
        lines.sort_by_key(|line| line.t);
        lines
    }

    /// Adds up what statements took. Those that functions ran are in the ones that called them, and our own are no load.
    fn take_statements(&mut self, rows: &Rows) {
        let Some(found) = rows.of(&db_statement::TABLE) else { return };
        let mut sums: BTreeMap<(&str, Micros), Statements> = BTreeMap::new();
        for row in 0..found.n_rows() {
            let is_own = found.str(row, db_statement::digest) == Some("fenxi-db");
            let is_nested = found.str(row, db_statement::nested) == Some("yes");
            let (Some(server), Some(t), Some(dt), Some(calls)) = (
                found.str(row, db_statement::server),
                found.micros(row, db_statement::t),
                found.f64(row, db_statement::dt),
                found.f64(row, db_statement::calls_per_s),
            ) else {
                continue;
            };
            let sum = sums.entry((server, t)).or_insert(Statements { t, dt, calls_per_s: 0.0, time: None });
            if is_own || is_nested {
                continue;
            }
            sum.calls_per_s += calls;
            if let Some(time) = found.f64(row, db_statement::time) {
                *sum.time.get_or_insert(0.0) += time;
            }
        }
        for ((server, _), sum) in sums {
            let kept = self.statements.entry(server.to_owned()).or_default();
            kept.truncate(READINGS - 1);
            kept.insert(0, sum);
        }
    }

    /// Fills in the last reading of statements, which holds until the next one is due.
    fn fill_statements(&self, line: &mut Line) {
        let Some(kept) = self.statements.get(&line.server) else { return };
        let Some(last) = kept.iter().find(|reading| reading.t <= line.t) else { return };
        if line.t.0 - last.t.0 > (last.dt.max(line.dt) * 1.5e6) as i64 {
            return;
        }
        line.statements_per_s.get_or_insert(last.calls_per_s);
        line.mean_ms = last.time.filter(|_| last.calls_per_s > 0.0).map(|time| time / last.calls_per_s * 1e3);
    }
}

fn of_row(rows: RowsOf<'_, db::Schema>, row: usize, server: &str) -> Option<Line> {
    let get = |place| rows.f64(row, place);
    let (hits, misses) = (get(db::cache_hits_per_s), get(db::cache_misses_per_s));
    let looked_up = hits.zip(misses).map(|(hits, misses)| (hits, hits + misses));
    Some(Line {
        t: rows.micros(row, db::t)?,
        dt: rows.f64(row, db::dt).unwrap_or(0.0),
        server: server.to_owned(),
        sessions: get(db::sessions),
        active: get(db::active_sampled).or_else(|| get(db::active_sessions)),
        transactions_per_s: get(db::commits_per_s).map(|n| n + get(db::rollbacks_per_s).unwrap_or(0.0)),
        statements_per_s: get(db::statements_per_s),
        hit_percent: looked_up.filter(|(_, all)| *all > 0.0).map(|(hits, all)| 100.0 * hits / all),
        reads_per_s: misses,
        log_bytes_per_s: get(db::log_bytes_per_s),
        temp_bytes_per_s: get(db::temp_bytes_per_s),
        oldest_transaction_s: get(db::oldest_transaction_s),
        classes: [None; CLASSES.len()],
        mean_ms: None,
        checkpoints: None,
    })
}

/// Mean sessions of clients by class. Where the operating system was asked, its CPU time and run queue replace the
/// samples that found nothing else.
fn classes(rows: &Rows, line: &Line, samples: Option<f64>) -> [Option<f64>; CLASSES.len()] {
    // A sample without a session is 0; no sample is no value.
    let mut sums = [samples.filter(|n| *n > 0.0).map(|_| 0.0); CLASSES.len()];
    sums[RUN_QUEUE] = None;
    let Some(waits) = rows.of(&db_wait::TABLE) else { return sums };
    let mut of_os = [None; 2];
    for row in 0..waits.n_rows() {
        let is_ours = waits.str(row, db_wait::server) == Some(&line.server)
            && waits.micros(row, db_wait::t) == Some(line.t)
            && waits.str(row, db_wait::kind) == Some("client");
        let class = waits.str(row, db_wait::activity).and_then(class_of);
        let (true, Some(class), Some(time)) = (is_ours, class, waits.f64(row, db_wait::time)) else { continue };
        match waits.str(row, db_wait::measured) {
            Some("sampled") => *sums[class].get_or_insert(0.0) += time,
            Some("os") if class <= RUN_QUEUE => *of_os[class].get_or_insert(0.0) += time,
            _ => {}
        }
    }
    if of_os[CPU].is_some() {
        [sums[CPU], sums[RUN_QUEUE]] = of_os;
    }
    sums
}

fn checkpoints(rows: &Rows, line: &Line) -> Option<f64> {
    let found = rows.of(&db_checkpoint::TABLE)?;
    let is_ours = |row: &usize| {
        found.str(*row, db_checkpoint::server) == Some(&line.server)
            && found.micros(*row, db_checkpoint::t) == Some(line.t)
    };
    let row = (0..found.n_rows()).find(is_ours)?;
    let (timed, requested) = (found.f64(row, db_checkpoint::timed), found.f64(row, db_checkpoint::requested));
    if timed.is_none() && requested.is_none() { None } else { Some(timed.unwrap_or(0.0) + requested.unwrap_or(0.0)) }
}
