//! Looks at sessions by memory, and asks the server only for what is new: names of databases, users, workers and events of
//! extensions. It begins with a proof, and repeats it now and then.

use std::{
    fmt::Write,
    time::{Duration, Instant},
};

use fenxi_procfs::stat;
use fenxi_wire::{Dialect, client::ClientError, host::Listener};
use rustc_hash::FxHashMap;
use rustix::time::{ClockId, clock_gettime};

use super::{
    events::Events,
    image::{Backend, Image, MemoryError},
    layout::{self, WORKER},
    program::Program,
    proof,
};
use crate::{
    client::Client,
    postgres::{
        MARK,
        activity::{self, Doing},
    },
    sample::{Sample, Session, put},
    server::{APPLICATION, Server},
    statements::TEXT,
};

/// How often the proof is repeated.
const PROVES: Duration = Duration::from_secs(60);
/// How often the server is asked for names, at most.
const ASKS: Duration = Duration::from_secs(1);
/// The most sessions of a look.
const MOST: usize = 2_000;
/// Workers whose names are known at a time.
const WORKERS: usize = 1000;
/// Seconds from 1970 to 2000, from which the server counts.
const EPOCH_S: i64 = 946_684_800;

/// Why sessions are not seen by memory.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    /// Memory is not what it has to be.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The server refuses, or the connection is lost.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// Names that sessions have only the numbers of.
pub struct Names<'a> {
    /// Of databases, by number.
    pub databases: &'a FxHashMap<String, String>,
    /// Of users, by number.
    pub users: &'a FxHashMap<String, String>,
}

/// Values that a sample of shared memory did not yield.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unknown {
    /// A database or a user has a number that is new.
    pub names: bool,
}

/// Looks at the sessions of a server.
#[derive(Debug)]
pub struct Looker {
    image: Image,
    events: Events,
    /// Kinds of workers, by process and when it began.
    workers: FxHashMap<(u32, i64), String>,
    /// The sessions of the last look.
    taken: Vec<Backend>,
    key: String,
    proved: Instant,
    asked: Option<Instant>,
}

impl Looker {
    /// Finds the memory of a server, and proves that it holds what the server reports. None where that runs on another host.
    ///
    /// # Errors
    /// When it runs here, and its memory may not be read or is not as expected; or when the connection is lost.
    pub fn begin(server: &Server, client: &mut Client) -> Result<Option<Looker>, LookError> {
        let target = server.target();
        if target.login.dialect != Dialect::Postgres || server.is_asked_once() || client.is_saved() {
            return Ok(None);
        }
        let endpoint = target.endpoints().ok().and_then(|endpoints| endpoints.into_iter().next());
        let Some(listener) = endpoint.and_then(|endpoint| Listener::find(&endpoint)) else { return Ok(None) };
        let own = client.about().number;
        let root = listener.processes().root();
        if stat::of_process(root, own).is_none_or(|(stat, _)| stat.ppid != listener.pid()) {
            // In a container numbers are others; and what listens here may hand on to another host.
            return Ok(None);
        }
        let version = &client.about().version;
        let major = version.split(|c: char| !c.is_ascii_digit()).next().and_then(|major| major.parse().ok());
        let Some(layout) = major.and_then(layout::of) else {
            return Err(MemoryError::Unknown(format!("PostgreSQL {version} is none of 14 to 18")).into());
        };
        let unknown = |error: &dyn std::fmt::Display| MemoryError::Unknown(error.to_string());
        let program = Program::of(listener.processes(), listener.pid(), layout).map_err(|error| unknown(&error))?;
        let mut looker = Looker {
            image: Image::open(listener.pid(), program, layout)?,
            events: Events::of(layout.major),
            workers: FxHashMap::default(),
            taken: Vec::new(),
            key: String::new(),
            proved: Instant::now(),
            asked: None,
        };
        looker.prove(client)?;
        Ok(Some(looker))
    }

    fn prove(&mut self, client: &mut Client) -> Result<(), LookError> {
        self.proved = Instant::now();
        proof::prove(&mut self.image, &mut self.events, client)
    }

    /// Adds the sessions that are not idle; what they execute is known by [`Looker::text`].
    ///
    /// # Errors
    /// When memory is not what it has to be, or the connection is lost.
    pub fn sample(&mut self, client: &mut Client, names: &Names<'_>, into: &mut Sample) -> Result<Unknown, LookError> {
        if self.proved.elapsed() >= PROVES {
            self.prove(client)?;
        }
        let layout = self.image.layout();
        let mut taken = std::mem::take(&mut self.taken);
        taken.clear();
        let all = self.image.look()?;
        let now = clock_gettime(ClockId::Realtime);
        let now_us = (now.tv_sec - EPOCH_S) * 1_000_000 + now.tv_nsec / 1000;
        taken.extend(
            all.iter().filter(|backend| is_seen(layout.kind(backend.kind), layout.state(backend.state), backend)),
        );
        taken.truncate(MOST);
        let next_xid = self.image.next_xid();
        let mut unknown = Unknown::default();
        let mut is_strange = false;
        let Looker { image, events, workers, key, .. } = self;
        image.applications(&mut taken, &mut |backend, application| {
            if application == APPLICATION {
                return false;
            }
            let session = into.add();
            let kind = match layout.kind(backend.kind) {
                WORKER if backend.leader.is_some() => "parallel worker",
                WORKER => {
                    let name = workers.get(&(backend.pid, backend.since[0]));
                    is_strange |= name.is_none();
                    name.map_or(WORKER, String::as_str)
                }
                kind => kind,
            };
            put(&mut session.kind, Some(kind));
            let (class, event) = events.name(backend.word);
            is_strange |= event.is_none();
            put(&mut session.wait_class, Some(class));
            put(&mut session.wait_event, event);
            put(&mut session.state, Some(layout.state(backend.state)));
            put(&mut session.application, Some(application));
            unknown.names |= name(names.databases, backend.database, key, &mut session.database);
            unknown.names |= name(names.users, backend.user, key, &mut session.user);
            // Numbers of transactions go round.
            let age = f64::from(next_xid.wrapping_sub(backend.xmin).cast_signed());
            session.xmin_age = (backend.xmin != 0).then_some(age);
            fill(session, backend, now_us);
            true
        })?;
        self.taken = taken;
        if is_strange && self.may_ask() {
            self.learn(client)?;
        }
        Ok(unknown)
    }

    /// Returns true if the server may be asked for something now: not more often than each second.
    pub fn may_ask(&mut self) -> bool {
        let may = self.asked.is_none_or(|asked| asked.elapsed() >= ASKS);
        if may {
            self.asked = Some(Instant::now());
        }
        may
    }

    /// Asks for the kinds of workers, and for the names of events that no version has by itself.
    fn learn(&mut self, client: &mut Client) -> Result<(), LookError> {
        let before: FxHashMap<u32, Backend> =
            self.image.look()?.iter().map(|backend| (backend.pid, *backend)).collect();
        let mut said: Vec<(u32, String, Option<String>)> = Vec::new();
        let sql = format!(
            "SELECT {MARK} pid, backend_type, wait_event FROM pg_stat_get_activity(NULL) WHERE pid IS NOT NULL"
        );
        client.each(&sql, &mut |row| {
            if let (Some(pid), Some(kind)) = (row.i64(0).and_then(|pid| u32::try_from(pid).ok()), row.text(1)) {
                said.push((pid, kind.to_owned(), row.text(2).map(str::to_owned)));
            }
        })?;
        if self.workers.len() > WORKERS {
            self.workers.clear();
        }
        let after = self.image.look()?;
        for (pid, kind, event) in said {
            let Some(is) = after.iter().find(|backend| backend.pid == pid) else { continue };
            self.workers.insert((pid, is.since[0]), kind);
            let was = before.get(&pid).map(|was| was.word);
            if let Some(event) = event.filter(|_| was == Some(is.word) && self.events.name(is.word).1.is_none()) {
                self.events.learn(is.word, &event);
            }
        }
        Ok(())
    }

    /// The text of what a session of the last look executes, by its place among them; None when it has gone on, or when it is no
    /// UTF-8, which the server knows to make of it.
    pub fn text(&mut self, place: usize) -> Option<&str> {
        let backend = *self.taken.get(place)?;
        let bytes = self.image.text(&backend, TEXT)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Some(text),
            // Cut within a letter.
            Err(error) if error.error_len().is_none() => std::str::from_utf8(&bytes[..error.valid_up_to()]).ok(),
            Err(_) => None,
        }
    }
}

/// Whether a session does something, by the same rules as the statement that asks for sessions.
fn is_seen(kind: &str, state: &str, backend: &Backend) -> bool {
    let is_idle_event = backend.word >> 24 == 5;
    match state {
        // One that just connects has no state yet.
        "" => kind != "client backend" && !kind.is_empty() && !is_idle_event,
        "idle" => backend.word == 0,
        "disabled" => backend.word >> 24 != 6,
        _ => true,
    }
}

/// Puts the name that belongs to a number; whether it is not known.
fn name(names: &FxHashMap<String, String>, number: u32, key: &mut String, into: &mut String) -> bool {
    if number == 0 {
        return false;
    }
    key.clear();
    let _ = write!(key, "{number}");
    let name = names.get(key.as_str());
    put(into, name.map(String::as_str));
    name.is_none()
}

/// A wait whose name is not known is one all the same.
fn known(word: u32, name: &str) -> &str {
    if word != 0 && name.is_empty() { "?" } else { name }
}

/// Fills in the fields that need no name.
fn fill(session: &mut Session, backend: &Backend, now_us: i64) {
    let doing = Doing {
        kind: &session.kind,
        state: &session.state,
        wait_type: known(backend.word, &session.wait_class),
        event: known(backend.word, &session.wait_event),
    };
    session.activity = activity::of(doing);
    session.leader = backend.leader.map(i64::from);
    session.is_client = activity::is_client(&session.kind, session.leader.is_some());
    session.number = i64::from(backend.pid);
    session.pid = Some(session.number);
    if let Some(client) = backend.client {
        session.client.clear();
        let _ = write!(session.client, "{client}");
    }
    if backend.query_id != 0 {
        let _ = write!(session.query_id, "{}", backend.query_id);
    }
    let age = |since: i64| (since != 0).then(|| (now_us - since) as f64 / 1e6);
    let [begun, transaction, statement, changed] = backend.since.map(age);
    session.session_age_s = begun;
    session.transaction_age_s = transaction;
    session.statement_age_s = statement;
    session.state_age_s = changed;
}
