//! Takes a snapshot: everything is asked once, over the connections that an observation has.

use std::collections::BTreeMap;

use fenxi_model::{Micros, Rows};
use fenxi_wire::Dialect;

use super::{FORMAT, Head, Keeping, Snapshot};
use crate::{
    client::Client,
    gather::{Heard, heard},
    moment::Interval,
    mysql, postgres,
    sample::Sample,
    server::{Server, ServerError},
};

/// A snapshot, and what follows from it alone: settings, sessions, and what could not be seen.
#[derive(Debug)]
pub struct Taken {
    /// The server's answers.
    pub snapshot: Snapshot,
    /// Rows of that moment. There is no rate and no counter in them.
    pub rows: Rows,
}

/// Further answers: identity of the server, and since when its counters count.
#[derive(Debug, Default)]
struct Beside {
    identity: BTreeMap<String, String>,
    clock_s: Option<f64>,
    resets: BTreeMap<String, String>,
    version: String,
}

impl Beside {
    fn ask(server: &Server) -> Result<Beside, ServerError> {
        let mut client: Client = server.client()?;
        let dialect = server.target().login.dialect;
        let resets = match dialect {
            Dialect::Postgres => postgres::resets::resets(&mut client)?,
            Dialect::Mysql => BTreeMap::new(),
        };
        // The clock is asked last: counters are read next.
        let (identity, clock_s) = match dialect {
            Dialect::Postgres => postgres::resets::identity(&mut client)?,
            Dialect::Mysql => mysql::resets::identity(&mut client)?,
        };
        if dialect == Dialect::Mysql {
            mysql::own::Own::of(mysql::memory::Who::Beside).read(&mut client, server)?;
        }
        Ok(Beside { identity, clock_s, resets, version: client.about().version.to_string() })
    }
}

/// Asks a server for everything; `now` is the time of who asks.
///
/// # Errors
/// When the server cannot be reached or observed, or is lost meanwhile.
pub fn take(server: &Server, now: Micros) -> Result<Taken, ServerError> {
    if server.may_be_console() {
        let why = "the console of a pooler has no snapshots; name the server itself";
        return Err(ServerError::Unfit { server: server.name().to_owned(), why: why.to_owned() });
    }
    let (keeping, interval) = (Keeping::default(), Interval { t: now, dt: None });
    let kept = server.keeping(&keeping);
    let mut rows = Rows::new("");
    rows.set_source("db");
    let (mut sampler, mut poller) = (kept.sampler()?, kept.poller()?);
    let mut sample = Sample::default();
    sampler.sample(&mut sample)?;
    heard::sessions(server.name(), &sample, interval, &mut rows);
    let beside = Beside::ask(&kept)?;
    poller.hurry();
    kept.allow_poll();
    poller.poll(interval, &Heard::default(), &mut rows)?;
    sampler.finish()?;
    poller.finish()?;
    drop((sampler, poller));
    let all = match server.target().login.dialect {
        Dialect::Postgres => kept.ledger().amounts(),
        Dialect::Mysql => mysql::own::totals(&kept),
    };
    for caution in kept.cautions() {
        rows.note(server.name(), None, &caution);
    }
    let (answers, own) = keeping.take(all);
    let login = &server.target().login;
    let head = Head {
        format: FORMAT,
        server: server.name().to_owned(),
        dialect: if login.dialect == Dialect::Postgres { "postgres" } else { "mysql" }.to_owned(),
        version: beside.version,
        user: login.user.clone(),
        database: login.database.clone(),
        taken_us: now.0,
        clock_s: beside.clock_s,
        identity: beside.identity,
        resets: beside.resets,
        own,
    };
    Ok(Taken { snapshot: Snapshot { head, answers }, rows })
}
