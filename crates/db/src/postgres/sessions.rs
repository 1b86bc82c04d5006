//! Sessions of PostgreSQL, by the function behind `pg_stat_activity`: the view looks up names each time and costs seven
//! times as much. Names of databases and users are looked up once. The function is asked about those sessions only that
//! may be at work: it makes texts of the addresses of all others, too.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use fenxi_model::statement::Quotes;
use fenxi_wire::client::ClientError;
use rustc_hash::FxHashMap;

use super::{
    MARK,
    activity::{self, Doing},
    memory::{
        image::MemoryError,
        looker::{LookError, Looker, Names},
    },
    own,
    statements::hides_text,
};
use crate::{
    client::Client,
    observed::is_planned,
    observer,
    sample::{Sample, Session, cut, put},
    server::{APPLICATION, Server, ServerError},
    statements::{TEXT, Text},
};

/// How many texts of statements are known at a time.
const KNOWN: usize = 5_000;
/// The most sessions of a sample.
const MOST: usize = 2_000;

/// How often the sampler lets the server publish its transactions, at least: by itself it would a second after the last time.
const PUBLISHES: Duration = Duration::from_millis(750);

/// Sessions that may be at work: all columns of a session cost several times as much as these two, and most are idle.
const CANDIDATES: &str = "(pg_stat_get_backend_xact_start(i.id) IS NOT NULL OR (pg_stat_get_backend_wait_event(i.id) \
     IS DISTINCT FROM 'ClientRead' AND (pg_stat_get_backend_wait_event_type(i.id) IS DISTINCT FROM 'Activity' \
     OR pg_stat_get_backend_wait_event(i.id) LIKE 'WalSender%')))";

/// All but the sampler's own session, which is at work each time: whatever else were known of it would be for nothing.
const OTHERS: &str = "pg_stat_get_backend_pid(i.id) <> pg_backend_pid()";

/// Connects a sampler.
///
/// # Errors
/// When the server cannot be reached or refuses.
pub fn sampler(server: &Server) -> Result<Box<dyn observer::Sampler>, ServerError> {
    let mut client = server.client()?;
    let sessions = Sessions::new(&mut client)?;
    let looker = match Looker::begin(server, &mut client) {
        Ok(looker) => looker,
        Err(LookError::Memory(why)) => {
            server.caution(&asked(&why));
            None
        }
        Err(LookError::Client(error)) if error.is_refusal() => None,
        Err(LookError::Client(error)) => return Err(error.into()),
    };
    own::publish(&mut client)?;
    Ok(Box::new(Sampler { server: server.clone(), client, sessions, looker, published: Instant::now() }))
}

/// Why sessions are not seen by memory, and what follows.
fn asked(why: &MemoryError) -> String {
    format!("the server is asked for its sessions, which costs it more than reading its memory would: {why}")
}

struct Sampler {
    server: Server,
    client: Client,
    sessions: Sessions,
    /// Where the server's memory may be read.
    looker: Option<Looker>,
    published: Instant,
}

impl observer::Sampler for Sampler {
    fn sample(&mut self, into: &mut Sample) -> Result<(), ClientError> {
        let done = |client: &Client| {
            let done = client.tally().done();
            done.answered + done.refused
        };
        let before = done(&self.client);
        let seen = match &mut self.looker {
            Some(looker) => self.sessions.look(looker, &mut self.client, into),
            None => self.sessions.sample(&mut self.client, into).map_err(LookError::from),
        };
        match seen {
            Ok(()) if done(&self.client) == before => {
                self.sessions.tell_examples(&self.server, into);
                return Ok(());
            }
            Ok(()) => {}
            Err(LookError::Client(error)) => return Err(error),
            // A server that is gone does not answer either.
            Err(LookError::Memory(why)) => {
                into.clear();
                self.looker = None;
                self.sessions.sample(&mut self.client, into)?;
                self.server.caution(&asked(&why));
            }
        }
        self.sessions.tell_examples(&self.server, into);
        if self.published.elapsed() >= PUBLISHES
            && let Some(_ledger) = self.server.free_ledger()
        {
            own::publish(&mut self.client)?;
            self.published = Instant::now();
        }
        Ok(())
    }
}

/// Places of the columns of the sampler's statement.
mod at {
    pub const PID: usize = 0;
    pub const LEADER: usize = 1;
    pub const DATABASE: usize = 2;
    pub const USER: usize = 3;
    pub const APPLICATION: usize = 4;
    pub const CLIENT: usize = 5;
    pub const STATE: usize = 6;
    pub const WAIT_TYPE: usize = 7;
    pub const WAIT_EVENT: usize = 8;
    pub const QUERY_ID: usize = 9;
    pub const KIND: usize = 10;
    pub const TRANSACTION_AGE: usize = 11;
    pub const STATEMENT_AGE: usize = 12;
    pub const STATE_AGE: usize = 13;
    pub const SESSION_AGE: usize = 14;
    pub const XMIN_AGE: usize = 15;
    pub const TEXT: usize = 16;
}

/// Known names and texts of a server's sessions.
struct Sessions {
    sql: String,
    /// Whether statements have numbers, by which their texts are known.
    has_ids: bool,
    databases: FxHashMap<String, String>,
    users: FxHashMap<String, String>,
    /// Statements in normal form, by the server's number for them, or by their text.
    texts: FxHashMap<Box<str>, Arc<Text>>,
    /// Texts that are new, as sessions have them.
    new: Vec<(Arc<Text>, String)>,
}

impl Sessions {
    fn new(client: &mut Client) -> Result<Sessions, ClientError> {
        let mut columns = Vec::new();
        let sql = format!(
            "SELECT {MARK} unnest(proargnames) FROM pg_proc WHERE proname = 'pg_stat_get_activity' AND pronamespace = 'pg_catalog'::regnamespace"
        );
        client.each(&sql, &mut |row| columns.extend(row.text(0).map(str::to_owned)))?;
        let has = |name: &str| columns.iter().any(|column| column == name);
        let or_null = |name: &'static str| if has(name) { name } else { "NULL" };
        let has_ids = has("query_id") && computes_ids(client)?;
        let text = if has_ids {
            // One that waits for a table while its statement is analysed has no number yet.
            "CASE WHEN query_id IS NULL AND wait_event_type = 'Lock' THEN left(query, 4096) END"
        } else {
            "left(query, 4096)"
        };
        let age = |column: &str| format!("extract(epoch FROM clock_timestamp() - {column})");
        let sql = format!(
            "SELECT {MARK} a.pid, {leader}, datid, usesysid, application_name, host(client_addr), state, wait_event_type, wait_event, {id}, \
             backend_type, {transaction}, {statement}, {changed}, {begun}, age(backend_xmin), {text} FROM pg_stat_get_backend_idset() AS i(id), \
             LATERAL pg_stat_get_activity(pg_stat_get_backend_pid(i.id)) AS a WHERE {OTHERS} AND {CANDIDATES} \
             AND application_name IS DISTINCT FROM '{APPLICATION}' AND (state <> 'idle' \
             OR (state = 'idle' AND wait_event IS NULL) OR (state IS NULL AND wait_event_type IS DISTINCT FROM 'Activity')) \
             LIMIT {MOST}",
            leader = or_null("leader_pid"),
            id = or_null("query_id"),
            transaction = age("xact_start"),
            statement = age("query_start"),
            changed = age("state_change"),
            begun = age("backend_start"),
        );
        let mut sessions = Sessions {
            sql,
            has_ids,
            databases: FxHashMap::default(),
            users: FxHashMap::default(),
            texts: FxHashMap::default(),
            new: Vec::new(),
        };
        sessions.learn_names(client)?;
        Ok(sessions)
    }

    fn learn_names(&mut self, client: &mut Client) -> Result<(), ClientError> {
        for (sql, into) in
            [("oid, datname FROM pg_database", &mut self.databases), ("oid, rolname FROM pg_roles", &mut self.users)]
        {
            client.each(&format!("SELECT {MARK} {sql}"), &mut |row| {
                if let (Some(oid), Some(name)) = (row.text(0), row.text(1)) {
                    into.insert(oid.to_owned(), name.to_owned());
                }
            })?;
        }
        Ok(())
    }

    fn sample(&mut self, client: &mut Client, into: &mut Sample) -> Result<(), ClientError> {
        let (mut strangers, mut unknown) = (false, false);
        let Sessions { sql, has_ids, databases, users, texts, new } = self;
        client.each_hidden_again(sql, &hides_text(at::TEXT), &mut |row| {
            let kind = row.text(at::KIND).unwrap_or_default();
            let (state, wait_type) = (row.text(at::STATE), row.text(at::WAIT_TYPE));
            // Sessions of others show nothing to a role that they are none of.
            if kind.is_empty() {
                into.hidden += 1;
                return;
            }
            // One that just connects has no state yet: no one is hidden, and no statement is executed.
            if kind == "client backend" && state.is_none() {
                return;
            }
            let session = into.add();
            let event = row.text(at::WAIT_EVENT).unwrap_or_default();
            let doing =
                Doing { kind, state: state.unwrap_or_default(), wait_type: wait_type.unwrap_or_default(), event };
            session.activity = activity::of(doing);
            session.leader = row.i64(at::LEADER);
            session.is_client = activity::is_client(kind, session.leader.is_some());
            session.number = row.i64(at::PID).unwrap_or_default();
            session.pid = Some(session.number);
            let name = |names: &FxHashMap<String, String>, oid: Option<&str>| {
                oid.filter(|oid| *oid != "0").map(|oid| names.get(oid).cloned().ok_or(()))
            };
            for (into, names, place) in
                [(&mut session.database, &*databases, at::DATABASE), (&mut session.user, &*users, at::USER)]
            {
                match name(names, row.text(place)) {
                    Some(Ok(name)) => put(into, Some(&name)),
                    Some(Err(())) => strangers = true,
                    None => {}
                }
            }
            put(&mut session.application, row.text(at::APPLICATION));
            put(&mut session.client, row.text(at::CLIENT));
            put(&mut session.kind, Some(kind));
            put(&mut session.state, state);
            put(&mut session.wait_class, wait_type);
            put(&mut session.wait_event, Some(event));
            put(&mut session.query_id, row.text(at::QUERY_ID).filter(|id| *id != "0"));
            session.transaction_age_s = row.f64(at::TRANSACTION_AGE);
            session.statement_age_s = row.f64(at::STATEMENT_AGE);
            session.state_age_s = row.f64(at::STATE_AGE);
            session.session_age_s = row.f64(at::SESSION_AGE);
            session.xmin_age = row.f64(at::XMIN_AGE);
            if let Some(text) = row.text(at::TEXT).filter(|text| !text.is_empty()) {
                session.statement =
                    Some(texts.entry(cut(text, TEXT).into()).or_insert_with(|| learned(text, new)).clone());
            } else if *has_ids {
                session.statement = texts.get(session.query_id.as_str()).cloned();
                unknown |= session.statement.is_none() && !session.query_id.is_empty();
            }
        })?;
        if unknown {
            self.learn_statements(client, into)?;
        }
        if strangers {
            self.learn_names(client)?;
        }
        if self.texts.len() > KNOWN {
            self.texts.clear();
        }
        Ok(())
    }

    /// As [`Sessions::sample`], by the server's memory.
    fn look(&mut self, looker: &mut Looker, client: &mut Client, into: &mut Sample) -> Result<(), LookError> {
        let Sessions { databases, users, .. } = self;
        if looker.sample(client, &Names { databases, users }, into)?.names && looker.may_ask() {
            self.learn_names(client)?;
        }
        let mut is_unknown = false;
        for (place, session) in into.sessions_mut().iter_mut().enumerate() {
            let has_id = self.has_ids && !session.query_id.is_empty();
            if self.has_ids {
                session.statement = self.texts.get(session.query_id.as_str()).cloned();
                // One that waits for a table while its statement is analysed has no number yet.
                if session.statement.is_some() || (!has_id && session.wait_class != "Lock") {
                    continue;
                }
            }
            let Some(text) = looker.text(place) else {
                is_unknown |= has_id;
                continue;
            };
            let key = if has_id { session.query_id.as_str() } else { text };
            session.statement =
                Some(self.texts.entry(key.into()).or_insert_with(|| learned(text, &mut self.new)).clone());
        }
        if is_unknown && looker.may_ask() {
            self.learn_statements(client, into)?;
        }
        if self.texts.len() > KNOWN {
            self.texts.clear();
        }
        Ok(())
    }

    /// Lets plans be asked for of texts that are new.
    fn tell_examples(&mut self, server: &Server, sample: &Sample) {
        for (statement, text) in self.new.drain(..) {
            let is_its =
                |session: &&Session| session.statement.as_ref().is_some_and(|its| its.digest == statement.digest);
            if let Some(session) = sample.sessions().iter().find(is_its) {
                server.observed().keep_example(&statement.digest, &text, &session.database);
            }
        }
    }

    /// Asks for the texts of statements whose numbers are new, and completes the sample.
    fn learn_statements(&mut self, client: &mut Client, into: &mut Sample) -> Result<(), ClientError> {
        let mut pids = String::new();
        for session in into.sessions().iter().filter(|s| s.statement.is_none() && !s.query_id.is_empty()) {
            pids.push_str(if pids.is_empty() { "" } else { ", " });
            pids.push_str(&session.number.to_string());
        }
        let sql = format!(
            "SELECT {MARK} query_id, left(query, 4096) FROM pg_stat_get_activity(NULL) WHERE query_id IS NOT NULL AND pid IN ({pids})"
        );
        client.each_hidden(&sql, &hides_text(1), &mut |row| {
            if let (Some(id), Some(text)) = (row.text(0), row.text(1).filter(|text| !text.is_empty())) {
                let id = cut(id, TEXT);
                self.texts.entry(id.into()).or_insert_with(|| learned(text, &mut self.new));
            }
        })?;
        for session in into.sessions_mut().iter_mut().filter(|s| s.statement.is_none()) {
            session.statement = self.texts.get(session.query_id.as_str()).cloned();
        }
        Ok(())
    }
}

/// As [`normal`], of a text that is new: a whole one is an example of its statement.
fn learned(text: &str, new: &mut Vec<(Arc<Text>, String)>) -> Arc<Text> {
    let form = normal(text);
    if !is_cut(text) && is_planned(text) {
        new.push((Arc::clone(&form), text.to_owned()));
    }
    form
}

/// A statement as a session has it, in normal form.
fn normal(text: &str) -> Arc<Text> {
    Arc::new(Text::of(cut(text, TEXT), Quotes::Standard, is_cut(text)))
}

/// Returns true if a text was cut, by the server (`track_activity_query_size`) or by us.
pub fn is_cut(text: &str) -> bool {
    text.len() >= 1023 && matches!(text.len(), 1023 | 2047 | 4095..)
}

/// Whether the server gives statements numbers: `auto` does when a module asks for them.
fn computes_ids(client: &mut Client) -> Result<bool, ClientError> {
    let sql = format!(
        "SELECT {MARK} setting = 'on' OR (setting = 'auto' AND EXISTS (SELECT FROM pg_settings WHERE name = 'pg_stat_statements.max')) \
         FROM pg_settings WHERE name = 'compute_query_id'"
    );
    let mut computes = false;
    client.each(&sql, &mut |row| computes = row.is_yes(0) == Some(true))?;
    Ok(computes)
}
