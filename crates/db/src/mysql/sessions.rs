//! Sessions of MySQL and MariaDB: by the performance schema's threads where it is on, else by the processlist.
//!
//! `information_schema.PROCESSLIST` is not used: MariaDB makes a temporary table on disk each time it is read.
//!
//! MariaDB's threads have no text while they execute a prepared statement, and the processlist has: it is read instead
//! while somebody executes some.

use std::sync::Arc;

use fenxi_model::statement::Quotes;
use fenxi_wire::{WireError, client::ClientError};
use rustc_hash::FxHashMap;

use super::{MARK, activity, kernel::Threads, memory::Who, own::Own, rights::sees_others, transactions::Transactions};
use crate::{
    activity as class,
    client::Client,
    mark::is_marked,
    observer,
    sample::{Sample, Session, cut, put},
    server::{Server, ServerError},
    statements::Text,
};

/// How many texts of statements are known at a time.
const KNOWN: usize = 5_000;
/// How much of a text SHOW PROCESSLIST shows, in bytes at least.
const SHORT: usize = 100;
/// How much of a text is asked for.
const TEXT: usize = 4096;

/// Connects a sampler.
///
/// # Errors
/// When the server cannot be reached or refuses.
pub fn sampler(server: &Server) -> Result<Box<dyn observer::Sampler>, ServerError> {
    let mut client = server.client()?;
    let by_threads = threads_are_seen(&mut client)?;
    let lists_others = sees_others(&mut client)?;
    Ok(Box::new(Sampler {
        server: server.clone(),
        client,
        by_threads,
        lists_others,
        executes: false,
        is_quiet: false,
        transactions: Transactions::default(),
        texts: FxHashMap::default(),
        own: Own::of(Who::Sampler),
        threads: if server.is_saved() { None } else { Threads::find(server) },
    }))
}

/// Returns true if the performance schema is on, and we may read it.
pub fn threads_are_seen(client: &mut Client) -> Result<bool, ClientError> {
    let mut seen = false;
    let sql = format!("{MARK} SELECT count(*) FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()");
    match client.each(&sql, &mut |row| seen = row.i64(0) == Some(1)) {
        Err(error) if !error.is_refusal() => Err(error),
        _ => Ok(seen),
    }
}

struct Sampler {
    server: Server,
    client: Client,
    by_threads: bool,
    /// Whether the processlist shows sessions of others.
    lists_others: bool,
    /// Whether somebody executed a prepared statement at the last look.
    executes: bool,
    /// Whether all sessions were idle at the last look.
    is_quiet: bool,
    transactions: Transactions,
    /// Statements in normal form, by their text.
    texts: FxHashMap<Box<str>, Arc<Text>>,
    own: Own,
    /// The server's threads, where it runs on this host.
    threads: Option<Threads>,
}

/// Columns in the order of SHOW FULL PROCESSLIST, and the thread's number behind them.
mod at {
    pub const NUMBER: usize = 0;
    pub const USER: usize = 1;
    pub const HOST: usize = 2;
    pub const DATABASE: usize = 3;
    pub const COMMAND: usize = 4;
    pub const TIME: usize = 5;
    pub const STATE: usize = 6;
    pub const TEXT: usize = 7;
    pub const TID: usize = 8;
}

impl Sampler {
    /// The statement that asks for sessions: by threads, or the processlist.
    fn statement(&self, by_threads: bool) -> String {
        if by_threads {
            format!(
                "{MARK} SELECT PROCESSLIST_ID, PROCESSLIST_USER, PROCESSLIST_HOST, PROCESSLIST_DB, PROCESSLIST_COMMAND, PROCESSLIST_TIME, \
                 PROCESSLIST_STATE, LEFT(PROCESSLIST_INFO, {TEXT}), THREAD_OS_ID FROM performance_schema.threads \
                 WHERE PROCESSLIST_ID IS NOT NULL AND PROCESSLIST_ID <> CONNECTION_ID() AND PROCESSLIST_COMMAND <> 'Daemon' \
                 AND (PROCESSLIST_COMMAND <> 'Sleep' OR PROCESSLIST_ID IN ({})) LIMIT 2000",
                self.transactions.list()
            )
        } else {
            let full = if self.server.memory().has_long_texts { "" } else { "FULL " };
            format!("{MARK} SHOW {full}PROCESSLIST")
        }
    }
}

impl observer::Sampler for Sampler {
    fn finish(&mut self) -> Result<(), ClientError> {
        self.own.did_more();
        self.own.read(&mut self.client, &self.server)
    }

    fn sample(&mut self, into: &mut Sample) -> Result<(), ClientError> {
        self.transactions.read(&mut self.client, self.is_quiet)?;
        self.own.read(&mut self.client, &self.server)?;
        let by_threads = self.by_threads && !(self.executes && self.lists_others);
        let sql = self.statement(by_threads);
        let (transactions, texts, own) = (&self.transactions, &mut self.texts, self.server.own());
        let mut executes = false;
        let is_cut = !by_threads && self.server.memory().has_long_texts;
        let shown = if by_threads { Some(at::TID) } else { None };
        let tids = if by_threads { FxHashMap::default() } else { self.server.memory().tids.clone() };
        let read = self.client.each_hidden(&sql, &hides_text(at::TEXT), &mut |row| {
            let command = row.text(at::COMMAND).unwrap_or_default();
            let text = row.text(at::TEXT).unwrap_or_default();
            let number = row.i64(at::NUMBER).unwrap_or_default();
            let transaction = transactions.of(number);
            executes |= command == "Execute";
            let is_idle = matches!(command, "Sleep" | "Daemon") && transaction.is_none();
            if is_idle || own.contains(&number) || is_marked(text) {
                return;
            }
            let session = into.add();
            session.number = number;
            session.tid = shown.and_then(|place| row.i64(place)).or_else(|| tids.get(&number).copied());
            let user = row.text(at::USER).unwrap_or_default();
            session.is_client = !matches!(user, "system user" | "event_scheduler");
            put(&mut session.user, Some(user));
            // Without the port, which is another one each time.
            put(
                &mut session.client,
                row.text(at::HOST).map(|host| host.rsplit_once(':').map_or(host, |(host, _)| host)),
            );
            put(&mut session.database, row.text(at::DATABASE));
            put(&mut session.kind, Some(if session.is_client { "client" } else { user }));
            session.state_age_s = row.f64(at::TIME);
            if command != "Sleep" {
                session.statement_age_s = session.state_age_s;
            }
            classify(session, command, row.text(at::STATE).unwrap_or_default(), transaction.is_some_and(|t| t.waits));
            if let Some(transaction) = transaction {
                session.transaction_age_s = transaction.age_s;
                session.rows_locked = transaction.rows_locked;
                session.rows_changed = transaction.rows_changed;
            }
            // A text that SHOW PROCESSLIST has cut is of no statement.
            let is_whole = !is_cut || text.len() < SHORT;
            if is_whole && !text.is_empty() {
                session.statement = Some(texts.entry(cut(text, TEXT).into()).or_insert_with(|| normal(text)).clone());
                if text.len() < TEXT
                    && let Some(statement) = &session.statement
                {
                    self.server.observed().keep_example(&statement.digest, text, &session.database);
                }
            }
        });
        if let Err(error) = read {
            // A text may have been longer than an answer is allowed to be: the next connection asks for less.
            self.server.memory().has_long_texts |=
                !by_threads && matches!(error, ClientError::Session { source: WireError::Protocol { .. }, .. });
            return Err(error);
        }
        self.executes = executes;
        self.is_quiet = into.sessions().is_empty();
        if let Some(threads) = &self.threads {
            into.sessions_mut().iter_mut().for_each(|session| threads.complete(session));
        }
        if self.texts.len() > KNOWN {
            self.texts.clear();
        }
        Ok(())
    }
}

/// Puts the normal form of a statement in its place: values are not kept. Of our own statements the mark stays.
pub fn hides_text(place: usize) -> impl Fn(&mut [Option<String>]) {
    move |values| {
        if let Some(Some(text)) = values.get_mut(place) {
            *text = if is_marked(text) { MARK.to_owned() } else { normal(text).form.clone() };
        }
    }
}

/// A statement as a client sent it, in normal form.
fn normal(text: &str) -> Arc<Text> {
    Arc::new(Text::of(cut(text, TEXT), Quotes::Backslash, text.len() >= TEXT))
}

/// Sets what a session does.
fn classify(session: &mut Session, command: &str, state: &str, waits_for_row: bool) {
    if waits_for_row {
        session.activity = class::LOCK;
        session.wait_event.push_str("row lock");
    } else if command == "Sleep" {
        session.activity = class::IDLE_IN_TRANSACTION;
    } else {
        session.activity = activity::of(command, state);
    }
    let wait = activity::wait_class(session.activity);
    session.wait_class.push_str(wait);
    if session.wait_event.is_empty() && !wait.is_empty() {
        session.wait_event.push_str(state);
    }
    let shown = match (command, state) {
        ("Sleep", _) => "idle in transaction",
        (command, "") => command,
        (_, state) => state,
    };
    put(&mut session.state, Some(shown));
}
