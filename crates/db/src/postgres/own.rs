//! Counts of our own sessions in a server's counters, to be left out exactly: an idle server shows no transactions.
//!
//! A session counts its transactions itself and publishes them with its other figures: since PostgreSQL 15 a second after it
//! did so last, at the earliest, and on request ([`publish`]). Ours are asked to more often than they would by
//! themselves, so that it is known which of their transactions are in a reading. Older servers have no such request: there a reading
//! may have some of ours too many or too few, which the next one makes up for.

use std::sync::Arc;

use fenxi_wire::client::{ClientError, Counts, Tally};
use rustc_hash::FxHashMap;

use super::MARK;
use crate::{client::Client, own_amounts::Own};

/// The first major version that publishes on request.
const TOLD_SINCE: u32 = 15;
/// The request: for a session without any figure of a relation there would be nothing to publish.
const TELL: &str = "pg_stat_force_next_flush(), EXISTS (SELECT FROM pg_database)";
/// Milliseconds of a second, in which the server counts sessions' time.
const MS: f64 = 1e3;

/// Our own sessions of a server.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Those that may still do something, by their database.
    sessions: Vec<(String, Arc<Tally>)>,
    /// Counts of those that are closed.
    closed: FxHashMap<String, Counts>,
}

impl Ledger {
    /// Number of statements that all of them completed or failed, those not yet published included.
    pub fn statements(&mut self) -> f64 {
        self.amounts();
        // MySQL counts no login, which is answered here, and the word with which a session ends.
        let open = self.sessions.iter().map(|(_, tally)| tally.done());
        let open = open.map(|counts| (counts.answered + counts.refused).saturating_sub(counts.sessions));
        let closed = self.closed.values().map(|counts| counts.answered + counts.refused);
        open.chain(closed).sum::<u64>() as f64
    }

    /// Number of our sessions that are open.
    pub fn open_sessions(&self) -> f64 {
        self.sessions.len() as f64
    }

    /// Number of our own sessions, those that have ended included.
    pub fn connects(&self) -> f64 {
        let closed = self.closed.values().map(|counts| counts.sessions).sum::<u64>();
        (self.sessions.len() as u64 + closed) as f64
    }

    /// A session of ours begins.
    pub fn open(&mut self, database: &str, tally: &Arc<Tally>) {
        self.sessions.push((database.to_owned(), Arc::clone(tally)));
    }

    /// Amounts that the server has published for all of them, by database and counter.
    pub fn amounts(&mut self) -> Own {
        let Ledger { sessions, closed } = self;
        sessions.retain(|(database, tally)| {
            if tally.is_over() {
                add(closed.entry(database.clone()).or_default(), tally.published());
            }
            !tally.is_over()
        });
        let mut all: FxHashMap<&str, (Counts, u64)> =
            closed.iter().map(|(database, counts)| (database.as_str(), (*counts, 0))).collect();
        for (database, tally) in sessions.iter() {
            let (counts, open) = all.entry(database).or_default();
            add(counts, tally.published());
            *open += 1;
        }
        let amounts = |(counts, open): (Counts, u64)| {
            [
                ("xact_commit", counts.answered as f64),
                ("xact_rollback", counts.refused as f64),
                ("s.sessions", counts.sessions as f64),
                ("session_time", counts.lasted_s * MS),
                ("numbackends", open as f64),
            ]
            .map(|(name, amount)| (name.to_owned(), amount))
            .to_vec()
        };
        all.into_iter().map(|(database, of)| (database.to_owned(), amounts(of))).collect()
    }
}

fn add(sum: &mut Counts, more: Counts) {
    sum.answered += more.answered;
    sum.refused += more.refused;
    sum.sessions += more.sessions;
    sum.lasted_s += more.lasted_s;
}

/// Whether a server publishes on request.
fn can_tell(client: &Client) -> bool {
    let version = &client.about().version;
    let digits = version.find(|c: char| !c.is_ascii_digit()).unwrap_or(version.len());
    version[..digits].parse().is_ok_and(|major: u32| major >= TOLD_SINCE)
}

/// Lets the server publish what a session did so far. Who reads meanwhile must not look: hold the ledger. Of a session whose
/// server refuses, nothing is known to be published from then on, and it is not asked again.
///
/// # Errors
/// When the connection is lost.
pub fn publish(client: &mut Client) -> Result<(), ClientError> {
    if client.is_saved() {
        return Ok(());
    }
    if can_tell(client) && !client.tally().is_unknown() {
        match client.each_again(&format!("SELECT {MARK} {TELL}"), &mut |_| ()) {
            Err(error) if error.is_refusal() => client.tally().give_up(),
            done => _ = done?,
        }
    }
    client.tally().publish();
    Ok(())
}
