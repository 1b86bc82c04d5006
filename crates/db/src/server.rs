//! A server to be observed, and how it is connected to.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use fenxi_wire::{client::ClientError, target::Target};

use crate::{
    client::Client,
    mysql::memory::Memory,
    observed::Observed,
    own_amounts::Own,
    postgres::own::Ledger,
    product::Product,
    snapshot::{Answer, Keeping, Played},
};

/// The name that connections of a poller carry, by which they leave themselves out.
pub const APPLICATION: &str = "fenxi-db";
/// The database that is the console of a pooler.
pub(crate) const CONSOLE: &str = "pgbouncer";
/// Timeout of a login.
pub const LOGIN: Duration = Duration::from_secs(5);
/// Timeout of a statement of the poller. The server is given 2 s; this is when the client gives up by itself.
pub const ANSWER: Duration = Duration::from_secs(3);
/// The longest message that is taken: texts are cut at the server.
const LONGEST: usize = 8 << 20;
/// The most rows of an answer: statements have separate limits, which a broken server need not keep.
const MOST_ROWS: u64 = 100_000;
/// The most bytes of an answer.
const MOST_BYTES: u64 = 32 << 20;
/// Limit of all answers kept in a poll, in bytes, where few servers are observed, and where many are. Ten thousand
/// statements, sessions and tables take 40 MB.
const KEPT: (u64, u64) = (48 << 20, 8 << 20);
/// Limit of the answer kept of a look at sessions, in bytes: more than the longest message.
const KEPT_OF_SAMPLE: u64 = 16 << 20;

/// Why a server is not observed.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// It cannot be reached, or refuses.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// It can be reached, and cannot be observed.
    #[error("{server}: {why}")]
    Unfit {
        /// Its name.
        server: String,
        /// Why, and the way out.
        why: String,
    },
}

/// A server to be observed.
#[derive(Clone, Debug)]
pub struct Server {
    target: Target,
    product: &'static dyn Product,
    name: String,
    /// Numbers of our own sessions: MySQL's have no application by which they are known.
    own: Arc<Mutex<BTreeSet<i64>>>,
    /// Counts of our own sessions' work in a PostgreSQL.
    ledger: Arc<Mutex<Ledger>>,
    /// State of a MySQL that outlives a connection.
    memory: Arc<Mutex<Memory>>,
    /// Data on statements from samples and readings, for plans.
    observed: Arc<Mutex<Observed>>,
    /// Bytes of answers that may still be kept until the next poll, and until the next look at sessions.
    allowance: Arc<AtomicU64>,
    allowance_of_sample: Arc<AtomicU64>,
    /// Bytes that a poll may keep.
    kept: u64,
    /// Cautions for the user about its logins, and whether each was reported.
    cautions: Arc<Mutex<BTreeMap<String, bool>>>,
    answers: Answers,
}

/// Rows as they are kept.
type Rows = Vec<Vec<Option<String>>>;

/// Source of answers, and whether they are kept.
#[derive(Clone, Debug, Default)]
enum Answers {
    /// The server gives them.
    #[default]
    Given,
    /// The server gives them, and they are kept.
    Kept(Keeping),
    /// They were kept.
    Saved(Arc<Played>),
}

impl Server {
    /// The server that a target leads to, which is of this kind.
    pub(crate) fn of(target: &Target, product: &'static dyn Product) -> Server {
        Server {
            product,
            name: target.server(),
            target: target.for_application(APPLICATION),
            own: Arc::default(),
            ledger: Arc::default(),
            memory: Arc::default(),
            observed: Arc::default(),
            allowance: Arc::new(AtomicU64::new(KEPT.0)),
            allowance_of_sample: Arc::new(AtomicU64::new(KEPT_OF_SAMPLE)),
            kept: KEPT.0,
            cautions: Arc::default(),
            answers: Answers::Given,
        }
    }

    /// The same server, whose answers are kept.
    pub(crate) fn keeping(&self, keeping: &Keeping) -> Server {
        Server { answers: Answers::Kept(keeping.clone()), ..Server::of(&self.target, self.product) }
    }

    /// The same server, which answers what two snapshots of it hold.
    pub(crate) fn saved(self, target: Target, played: &Arc<Played>) -> Server {
        let name = played.first().server.clone();
        Server { name, target, answers: Answers::Saved(Arc::clone(played)), ..self }
    }

    /// Whether its answers are those of snapshots.
    pub(crate) fn is_saved(&self) -> bool {
        matches!(self.answers, Answers::Saved(_))
    }

    /// Whether answers have to hold everything at once: nothing can be asked later.
    pub(crate) fn is_asked_once(&self) -> bool {
        !matches!(self.answers, Answers::Given)
    }

    /// Amounts that our own sessions added to counters so far, by row and counter.
    pub(crate) fn own_amounts(&self, count: impl FnOnce() -> Own) -> Own {
        if let Answers::Saved(played) = &self.answers {
            return played.own();
        }
        let own = count();
        if let Answers::Kept(keeping) = &self.answers {
            keeping.keep_own(&own);
        }
        own
    }

    /// The same server, as one of so many whose answers are in memory at the same time.
    pub(crate) fn among(&self, servers: usize) -> Server {
        Server { kept: (2 * KEPT.0 / servers.max(1) as u64).clamp(KEPT.1, KEPT.0), ..self.clone() }
    }

    /// Lets the next poll keep its share.
    pub(crate) fn allow_poll(&self) {
        self.allowance.store(self.kept, Ordering::Relaxed);
    }

    /// Lets the next look at sessions keep its share.
    pub(crate) fn allow_sample(&self) {
        self.allowance_of_sample.store(KEPT_OF_SAMPLE, Ordering::Relaxed);
    }

    /// Takes warnings about logins that were not reported yet.
    pub fn cautions(&self) -> Vec<String> {
        let mut known = self.cautions.lock().unwrap_or_else(PoisonError::into_inner);
        let mut new = Vec::new();
        for (caution, told) in known.iter_mut() {
            if !std::mem::replace(told, true) {
                new.push(caution.clone());
            }
        }
        new
    }

    /// Something else that the user should know, once.
    pub(crate) fn caution(&self, what: &str) {
        let mut known = self.cautions.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(what.to_owned()).or_default();
    }

    /// Its address without credentials: `host:port`, or the path of its socket.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if another one is this one: at the same address, and not the console of a pooler before it.
    pub fn is_same(&self, other: &Server) -> bool {
        self.name == other.name && self.may_be_console() == other.may_be_console()
    }

    /// Whether its URL leads to what is the console of a pooler, if it is one.
    pub(crate) fn may_be_console(&self) -> bool {
        self.target.login.database == CONSOLE
    }

    /// The kind of server it is.
    pub(crate) fn product(&self) -> &'static dyn Product {
        self.product
    }

    /// The same server, with what a look at sessions may keep.
    pub(crate) fn for_samples(&self) -> Server {
        Server { allowance: Arc::clone(&self.allowance_of_sample), ..self.clone() }
    }

    /// Where it is, and who logs in.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// A connection to it, as a poller wants it: with a limit to each statement, and to the length of answers.
    pub(crate) fn client(&self) -> Result<Client, ServerError> {
        self.client_of(&self.target)
    }

    /// As [`Server::client`], to another of its databases.
    pub(crate) fn client_in(&self, database: &str) -> Result<Client, ServerError> {
        self.client_of(&self.target.to_database(database))
    }

    /// The grant that lets a user see sessions of others.
    pub(crate) fn grant(&self) -> String {
        self.product.grant(&self.target.login.user)
    }

    /// Numbers that our own sessions have or had.
    pub(crate) fn own(&self) -> MutexGuard<'_, BTreeSet<i64>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Our own sessions of a PostgreSQL. Its holder knows that none of them publishes what it did.
    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`Server::ledger`], unless another one holds it.
    pub(crate) fn free_ledger(&self) -> Option<MutexGuard<'_, Ledger>> {
        self.ledger.try_lock().ok()
    }

    /// State of a MySQL that outlives connections.
    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Data on statements from samples and readings, for plans.
    pub(crate) fn observed(&self) -> MutexGuard<'_, Observed> {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`Server::client_in`]; nothing of what it returns is kept, as it has values.
    pub(crate) fn client_for_plans(&self, database: &str) -> Result<Client, ServerError> {
        Server { answers: Answers::Given, ..self.clone() }.client_in(database)
    }

    /// Keeps an answer that we made of one, where answers are kept.
    pub(crate) fn keep_answer(&self, answer: Answer) {
        if let Answers::Kept(keeping) = &self.answers {
            keeping.keep(answer);
        }
    }

    /// Rows that were kept so, if any; None where a server answers.
    pub(crate) fn saved_answer(&self, database: &str, sql: &str) -> Option<Option<Rows>> {
        let Answers::Saved(played) = &self.answers else { return None };
        Some(played.answer(database, sql).ok().map(|answer| answer.rows.clone()))
    }

    /// A connection with limits, in which nothing is set.
    pub(crate) fn unsettled(&self, target: &Target) -> Result<Client, ServerError> {
        let keeping = match &self.answers {
            Answers::Given => None,
            Answers::Kept(keeping) => Some(keeping.clone()),
            Answers::Saved(played) => return Ok(Client::of_saved(played, self.product.home(target))),
        };
        let mut client = Client::connect(&target.to_database(self.product.home(target)), LOGIN, keeping)?;
        self.own().insert(i64::from(client.about().number));
        self.ledger().open(&target.login.database, client.tally());
        client.limit(ANSWER, (LONGEST, MOST_ROWS, MOST_BYTES), &self.allowance);
        let mut known = self.cautions.lock().unwrap_or_else(PoisonError::into_inner);
        client.cautions().into_iter().for_each(|caution| {
            known.entry(caution).or_default();
        });
        drop(known);
        Ok(client)
    }

    fn client_of(&self, target: &Target) -> Result<Client, ServerError> {
        let mut client = self.unsettled(target)?;
        if client.is_saved() {
            return Ok(client);
        }
        match self.product.settle(&mut client, &|| Client::connect(target, LOGIN, None))? {
            Some(why) => Err(ServerError::Unfit { server: self.name.clone(), why: why.to_owned() }),
            None => Ok(client),
        }
    }
}

#[cfg(test)]
mod tests {
    use fenxi_wire::target::{Surroundings, Target};

    use super::*;

    #[test]
    fn two_databases_of_a_server_are_one_server_and_a_console_is_another() {
        let server = |url: &str| Server::new(&Target::parse(url, &Surroundings::default()).unwrap());
        let shop = server("postgres://a@db1:6432/shop");
        assert!(shop.is_same(&server("postgres://b@db1:6432/app")));
        assert!(!shop.is_same(&server("postgres://a@db1:5432/shop")));
        assert!(!shop.is_same(&server("postgres://a@db1:6432/pgbouncer")));
    }
}
