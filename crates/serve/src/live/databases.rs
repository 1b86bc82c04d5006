//! Activity of database servers, one event for each reading: active sessions by class, the sessions behind them,
//! who blocks whom, and key figures.
//!
//! Only servers that the person who started this server named are ever looked at.

use std::collections::{BTreeMap, BTreeSet};

use fenxi_db::activity;
use fenxi_model::{
    Micros, Rows, RowsOf,
    catalog::{db, db_checkpoint, db_lock, db_session, db_setting, db_wait, event, note, sched},
};
use serde::Serialize;

/// Name of the event.
pub(super) const EVENT: &str = "database";
/// Groups of sessions of one reading that a browser is given; the largest are kept.
const MOST_SESSIONS: usize = 500;
/// Sessions between two readings: those of 100 samples of a busy server.
const MOST_SEEN: usize = 100_000;
/// Edges of waits of one reading.
const MOST_LOCKS: usize = 500;
/// Texts of statements that are kept for each server.
const MOST_TEXTS: usize = 5_000;
/// Bytes of a statement's text.
const MOST_TEXT: usize = 1_000;
/// Things that a server's readings could not show, which are repeated for who comes later.
const MOST_NOTES: usize = 12;

/// State of each server that is kept between two readings.
#[derive(Debug, Default)]
struct KnownServer {
    cpus: Option<f64>,
    vendor: String,
    version: String,
    /// Why it is not seen at the moment.
    trouble: Option<String>,
    notes: BTreeSet<String>,
    /// Sessions since the last reading, and when they were seen, microseconds.
    seen: Vec<(i64, Seen)>,
    /// The last edges of waits.
    locks: Vec<Lock>,
    /// When they were read, microseconds.
    locks_at: i64,
    texts: BTreeMap<String, String>,
}

/// A session in one state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Seen {
    session: i64,
    class: String,
    event: String,
    statement: Option<String>,
    pid: Option<i64>,
    user: Option<String>,
    application: Option<String>,
    client: Option<String>,
    database: Option<String>,
}

/// A session that waits for another one.
#[derive(Clone, Debug, Serialize)]
struct Lock {
    waiter: i64,
    blocker: i64,
    root: i64,
    depth: Option<f64>,
    direct: bool,
    lock: Option<String>,
    mode: Option<String>,
    relation: Option<String>,
    waited_s: Option<f64>,
    application: Option<String>,
    statement: Option<String>,
    blocker_state: Option<String>,
    blocker_transaction_age_s: Option<f64>,
    blocker_application: Option<String>,
    blocker_statement: Option<String>,
}

/// One reading of one server.
#[derive(Serialize)]
struct Told<'a> {
    server: &'a str,
    t_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reading: Option<Reading<'a>>,
}

#[derive(Serialize)]
struct Reading<'a> {
    dt: f64,
    vendor: &'a str,
    version: &'a str,
    cpus: Option<f64>,
    /// Mean sessions of clients by class of activity, as measured best.
    classes: BTreeMap<&'a str, f64>,
    figures: BTreeMap<&'static str, f64>,
    sessions: Vec<Share<'a>>,
    /// Mean sessions that are left out because there are too many.
    left_out: f64,
    locks: &'a [Lock],
    /// Statements by their digests.
    texts: BTreeMap<&'a str, &'a str>,
    notes: &'a BTreeSet<String>,
}

#[derive(Serialize)]
struct Share<'a> {
    #[serde(flatten)]
    seen: &'a Seen,
    sessions: f64,
}

/// A row of a whole server.
struct Of<'a> {
    server: &'a str,
    t: Micros,
    /// CPUs of this machine.
    here: Option<f64>,
    /// The row's number.
    row: usize,
}

/// All servers that are looked at.
#[derive(Debug, Default)]
pub(super) struct Databases {
    servers: BTreeMap<String, KnownServer>,
    /// CPUs of this machine.
    cpus: Option<f64>,
}

impl Databases {
    /// Takes the rows of a tick; the text of the event that they give, a list with what was read of each server.
    pub(super) fn take(&mut self, t: Micros, rows: &Rows) -> Option<String> {
        self.cpus = rows.of(&sched::TABLE).and_then(|here| here.f64(0, sched::cpus_online)).or(self.cpus);
        self.learn(rows);
        self.take_sessions(rows);
        self.take_locks(rows);
        let mut told = Vec::new();
        if let Some(servers) = rows.of(&db::TABLE) {
            for row in (0..servers.n_rows()).filter(|row| servers.str(*row, db::database).is_none()) {
                let (Some(server), Some(at)) = (servers.str(row, db::server), servers.micros(row, db::t)) else {
                    continue;
                };
                let known = self.servers.entry(server.to_owned()).or_default();
                let of = Of { server, t: at, here: self.cpus, row };
                let reading = known.reading(&of, rows, servers);
                told.push(text(&Told { server, t_ms: at.0 as f64 / 1e3, trouble: None, reading: Some(reading) }));
                known.seen.retain(|(seen_at, _)| *seen_at > at.0);
            }
        }
        for (server, known) in &self.servers {
            if let Some(trouble) = known.trouble.as_deref() {
                told.push(text(&Told { server, t_ms: t.0 as f64 / 1e3, trouble: Some(trouble), reading: None }));
            }
        }
        (!told.is_empty()).then(|| format!("[{}]", told.join(",")))
    }

    fn of(&mut self, server: &str) -> &mut KnownServer {
        self.servers.entry(server.to_owned()).or_default()
    }

    /// Learns the properties of servers, and whether they can be seen.
    fn learn(&mut self, rows: &Rows) {
        if let Some(settings) = rows.of(&db_setting::TABLE) {
            for row in (0..settings.n_rows()).filter(|row| settings.str(*row, db_setting::origin) == Some("server")) {
                let word = |place| settings.str(row, place);
                let (Some(server), Some(value)) = (word(db_setting::server), settings.str(row, db_setting::value))
                else {
                    continue;
                };
                let known = self.servers.entry(server.to_owned()).or_default();
                match word(db_setting::name) {
                    Some("cpus") => known.cpus = value.parse().ok(),
                    Some("vendor") => value.clone_into(&mut known.vendor),
                    Some("version") => value.clone_into(&mut known.version),
                    _ => {}
                }
            }
        }
        if let Some(notes) = rows.of(&note::TABLE) {
            for row in 0..notes.n_rows() {
                if let (Some(server), Some(message)) = (notes.str(row, note::file), notes.str(row, note::message)) {
                    let known = self.of(server);
                    match message.strip_prefix("not observed: ") {
                        Some(why) => known.trouble = Some(why.to_owned()),
                        None if known.notes.len() < MOST_NOTES => drop(known.notes.insert(message.to_owned())),
                        None => {}
                    }
                }
            }
        }
        if let Some(events) = rows.of(&event::TABLE) {
            for row in 0..events.n_rows() {
                let (kind, server) = (events.str(row, event::kind), events.str(row, event::subject));
                match (kind, server) {
                    (Some("connection lost"), Some(server)) => {
                        let why = events.str(row, event::message).unwrap_or_default();
                        self.of(server).trouble = Some(format!("connection lost: {why}"));
                    }
                    (Some("connected"), Some(server)) => self.of(server).trouble = None,
                    _ => {}
                }
            }
        }
    }

    fn take_sessions(&mut self, rows: &Rows) {
        let Some(found) = rows.of(&db_session::TABLE) else { return };
        for row in 0..found.n_rows() {
            let word = |place| found.str(row, place).map(str::to_owned);
            let class = found.str(row, db_session::activity).unwrap_or(activity::CPU);
            let is_shown = activity::is_work(class) || class == activity::IDLE_IN_TRANSACTION;
            let kind = found.str(row, db_session::kind).unwrap_or_default();
            let is_client = activity::is_of_client(kind, found.i64(row, db_session::leader).is_some());
            let (Some(server), Some(session), Some(t)) = (
                found.str(row, db_session::server),
                found.i64(row, db_session::session),
                found.micros(row, db_session::t),
            ) else {
                continue;
            };
            if !is_shown || !is_client {
                continue;
            }
            let (digest, text) = (word(db_session::digest), found.str(row, db_session::statement));
            let seen = Seen {
                session,
                class: class.to_owned(),
                event: word(db_session::wait_event).unwrap_or_default(),
                statement: digest.clone(),
                pid: found.i64(row, db_session::pid),
                user: word(db_session::user),
                application: word(db_session::application),
                client: word(db_session::client),
                database: word(db_session::database),
            };
            let known = self.of(server);
            // A server without readings is none that samples are shown of.
            if known.seen.len() < MOST_SEEN {
                known.seen.push((t.0, seen));
            }
            if let (Some(digest), Some(text)) = (digest, text) {
                // Rows carry their texts: those of statements that still run come again.
                if known.texts.len() >= MOST_TEXTS {
                    known.texts.clear();
                }
                known.texts.entry(digest).or_insert_with(|| shortened(text));
            }
        }
    }

    fn take_locks(&mut self, rows: &Rows) {
        let Some(found) = rows.of(&db_lock::TABLE) else { return };
        for row in 0..found.n_rows() {
            let word = |place| found.str(row, place).map(str::to_owned);
            let (Some(server), Some(t), Some(waiter), Some(blocker)) = (
                found.str(row, db_lock::server),
                found.micros(row, db_lock::t),
                found.i64(row, db_lock::waiter),
                found.i64(row, db_lock::blocker),
            ) else {
                continue;
            };
            let lock = Lock {
                waiter,
                blocker,
                root: found.i64(row, db_lock::root).unwrap_or(blocker),
                depth: found.f64(row, db_lock::depth),
                direct: found.str(row, db_lock::direct) != Some("no"),
                lock: word(db_lock::lock),
                mode: word(db_lock::mode),
                relation: word(db_lock::relation),
                waited_s: found.f64(row, db_lock::waited_s),
                application: word(db_lock::application),
                statement: word(db_lock::digest),
                blocker_state: word(db_lock::blocker_state),
                blocker_transaction_age_s: found.f64(row, db_lock::blocker_transaction_age_s),
                blocker_application: word(db_lock::blocker_application),
                blocker_statement: word(db_lock::blocker_digest),
            };
            let known = self.of(server);
            if std::mem::replace(&mut known.locks_at, t.0) != t.0 {
                known.locks.clear();
            }
            if known.locks.len() < MOST_LOCKS {
                known.locks.push(lock);
            }
        }
    }
}

impl KnownServer {
    /// A server without numbers of statements reports for locks who waits, and samples have the statement.
    fn name_statements(&mut self) {
        let of: BTreeMap<i64, &String> =
            self.seen.iter().filter_map(|(_, seen)| Some((seen.session, seen.statement.as_ref()?))).collect();
        for lock in &mut self.locks {
            for (statement, session) in
                [(&mut lock.statement, lock.waiter), (&mut lock.blocker_statement, lock.blocker)]
            {
                if statement.is_none() {
                    *statement = of.get(&session).map(|digest| (*digest).clone());
                }
            }
        }
    }

    fn reading<'a>(&'a mut self, of: &Of<'_>, rows: &'a Rows, servers: RowsOf<'_, db::Schema>) -> Reading<'a> {
        let (t, row) = (of.t, of.row);
        let dt = servers.f64(row, db::dt).unwrap_or(1.0);
        self.trouble = None;
        // Of another moment: no session waits any more.
        if (t.0 - self.locks_at).abs() as f64 > 1.5e6 * dt.max(1.0) {
            self.locks.clear();
        }
        self.name_statements();
        let samples = servers.f64(row, db::samples).filter(|n| *n > 0.0).unwrap_or(1.0);
        let this: &KnownServer = self;
        let mut counts: BTreeMap<&Seen, u32> = BTreeMap::new();
        let begin = t.0 - (dt * 1e6) as i64;
        for (_, seen) in this.seen.iter().filter(|(seen_at, _)| (begin + 1..=t.0).contains(seen_at)) {
            *counts.entry(seen).or_default() += 1;
        }
        let mut sessions: Vec<Share<'_>> =
            counts.into_iter().map(|(seen, count)| Share { seen, sessions: f64::from(count) / samples }).collect();
        sessions.sort_by(|a, b| b.sessions.total_cmp(&a.sessions));
        let left_out = sessions.iter().skip(MOST_SESSIONS).map(|share| share.sessions).fold(0.0, |sum, n| sum + n);
        sessions.truncate(MOST_SESSIONS);
        let shown = sessions.iter().filter_map(|share| share.seen.statement.as_deref());
        let waiting = this.locks.iter().flat_map(|l| [&l.statement, &l.blocker_statement]).filter_map(|d| d.as_deref());
        let texts = shown.chain(waiting).filter_map(|digest| this.texts.get_key_value(digest));
        let (classes, is_here) = classes(of, rows);
        Reading {
            dt,
            vendor: &this.vendor,
            version: &this.version,
            cpus: this.cpus.or(of.here.filter(|_| is_here)),
            classes,
            figures: figures(of, rows, servers),
            texts: texts.map(|(digest, text)| (digest.as_str(), text.as_str())).collect(),
            sessions,
            left_out,
            locks: &this.locks,
            notes: &this.notes,
        }
    }
}

/// Mean sessions of clients by class. Where the operating system was asked, its CPU time and run queue replace the samples
/// that found nothing else; then the server runs here.
fn classes<'a>(of: &Of<'_>, rows: &'a Rows) -> (BTreeMap<&'a str, f64>, bool) {
    let mut sums = BTreeMap::new();
    let Some(waits) = rows.of(&db_wait::TABLE) else { return (sums, false) };
    let mut of_os = BTreeMap::new();
    for row in 0..waits.n_rows() {
        let is_ours = waits.str(row, db_wait::server) == Some(of.server)
            && waits.micros(row, db_wait::t) == Some(of.t)
            && waits.str(row, db_wait::kind) == Some("client");
        let (Some(class), Some(time)) = (waits.str(row, db_wait::activity), waits.f64(row, db_wait::time)) else {
            continue;
        };
        let is_shown = activity::is_work(class) || class == activity::IDLE_IN_TRANSACTION;
        if !is_ours || !is_shown {
            continue;
        }
        match waits.str(row, db_wait::measured) {
            Some("sampled") => *sums.entry(class).or_default() += time,
            Some("os") => *of_os.entry(class).or_default() += time,
            _ => {}
        }
    }
    let is_here = of_os.contains_key(activity::CPU);
    if is_here {
        sums.remove(activity::CPU);
        sums.extend(of_os);
    }
    (sums, is_here)
}

/// Key figures of a server.
fn figures(of: &Of<'_>, rows: &Rows, servers: RowsOf<'_, db::Schema>) -> BTreeMap<&'static str, f64> {
    let get = |place| servers.f64(of.row, place);
    let (hits, misses) = (get(db::cache_hits_per_s), get(db::cache_misses_per_s));
    let looked_up = hits.zip(misses).filter(|(hits, misses)| hits + misses > 0.0);
    let checkpoints = rows.of(&db_checkpoint::TABLE).and_then(|found| {
        let is_ours = |row: &usize| {
            found.str(*row, db_checkpoint::server) == Some(of.server)
                && found.micros(*row, db_checkpoint::t) == Some(of.t)
        };
        let row = (0..found.n_rows()).find(is_ours)?;
        let (timed, requested) = (found.f64(row, db_checkpoint::timed), found.f64(row, db_checkpoint::requested));
        timed.or(requested).map(|_| timed.unwrap_or(0.0) + requested.unwrap_or(0.0))
    });
    let all = [
        ("transactions_per_s", get(db::commits_per_s).map(|n| n + get(db::rollbacks_per_s).unwrap_or(0.0))),
        ("statements_per_s", get(db::statements_per_s)),
        ("connections", get(db::sessions)),
        ("active_sessions", get(db::active_sampled).or_else(|| get(db::active_sessions))),
        ("cache_hit", looked_up.map(|(hits, misses)| 100.0 * hits / (hits + misses))),
        ("reads_per_s", misses),
        ("log_bytes_per_s", get(db::log_bytes_per_s)),
        ("temp_bytes_per_s", get(db::temp_bytes_per_s)),
        ("deadlocks", get(db::deadlocks)),
        ("checkpoints", checkpoints),
        ("oldest_transaction_s", get(db::oldest_transaction_s)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn shortened(text: &str) -> String {
    let mut end = text.len().min(MOST_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    if end < text.len() { format!("{}…", &text[..end]) } else { text.to_owned() }
}

fn text(told: &Told<'_>) -> String {
    // Numbers and texts can always be written.
    serde_json::to_string(told).unwrap_or_default()
}

#[cfg(test)]
mod tests;
