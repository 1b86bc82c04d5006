//! Amounts that our own sessions add to the server's counters, so that an idle server does not look busy: statements,
//! temporary tables that its own views make, full scans, bytes.
//!
//! Asking costs as much as all other status, so it is asked seldom; in between, our sessions go on as they did.

use std::time::{Duration, Instant};

use fenxi_wire::client::ClientError;
use rustc_hash::FxHashMap;

use super::{MARK, memory::Who, status::UnderWay};
use crate::{client::Client, own_amounts, server::Server};

/// Variables that a session counts for itself. Of all others SHOW SESSION STATUS shows the server's.
pub const OF_STATEMENTS: &[&str] = &[
    "Bytes_received",
    "Bytes_sent",
    "Created_tmp_disk_tables",
    "Created_tmp_tables",
    "Handler_read_key",
    "Handler_write",
    "Select_full_join",
    "Select_scan",
    "Table_open_cache_hits",
];

/// Between the first two readings, and between others.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));

/// Counters of the work of one of our own sessions.
#[derive(Debug)]
pub struct Own {
    /// Which one it is.
    who: Who,
    last: Option<(Instant, FxHashMap<String, f64>)>,
    /// How often it was asked to read since then.
    turns: u32,
    is_known: bool,
    /// So many of the next turns are read, however soon they come.
    due: u8,
}

impl Own {
    /// Of the sampler's session or the poller's: what an earlier one of the same kind added is no more.
    pub fn of(who: Who) -> Own {
        Own { who, last: None, turns: 0, is_known: false, due: 0 }
    }

    /// The session did what it does not always do: the next turn counts that, and the one behind it no more.
    pub fn did_more(&mut self) {
        self.due = 2;
    }

    /// Reads it when it is time to, and lets the poller know.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn read(&mut self, client: &mut Client, server: &Server) -> Result<(), ClientError> {
        if client.is_saved() {
            return Ok(());
        }
        self.turns += 1;
        let pause = if self.is_known { PAUSES.1 } else { PAUSES.0 };
        if self.due == 0 && self.last.as_ref().is_some_and(|(at, _)| at.elapsed() < pause) {
            return Ok(());
        }
        self.due = self.due.saturating_sub(1);
        let mut now = FxHashMap::default();
        let sql = format!("{MARK} SHOW SESSION STATUS WHERE Variable_name IN ('{}')", OF_STATEMENTS.join("','"));
        let asked = client.each(&sql, &mut |row| {
            if let (Some(name), Some(value)) = (row.text(0), row.f64(1)) {
                now.insert(name.to_owned(), value);
            }
        });
        match asked {
            Err(error) if !error.is_refusal() => return Err(error),
            _ => {}
        }
        let at = Instant::now();
        server.memory().totals.insert(self.who, now.clone());
        if let Some((before, last)) = &self.last {
            let per = match self.who {
                Who::Sampler => (at - *before).as_secs_f64(),
                Who::Poller | Who::Beside => f64::from(self.turns),
            };
            let rate = |(name, value): (&String, &f64)| Some((name.clone(), (value - last.get(name)?).max(0.0) / per));
            server.memory().spent.insert(self.who, now.iter().filter_map(rate).collect());
            self.is_known = true;
        }
        self.last = Some((at, now));
        self.turns = 0;
        Ok(())
    }
}

/// Counters of statements and of sessions: ours are counted where they are sent.
pub const STATEMENTS: &str = "Questions";
const CONNECTS: &str = "Connections";

/// Amounts that our sessions have added to counters until now, as far as known: all of their statements, and the
/// amounts that they reported last of themselves.
pub fn totals(server: &Server) -> own_amounts::Own {
    let mut sums: FxHashMap<String, f64> = FxHashMap::default();
    for (name, amount) in server.memory().totals.values().flatten() {
        *sums.entry(name.clone()).or_default() += amount;
    }
    let mut ledger = server.ledger();
    sums.insert(STATEMENTS.to_owned(), ledger.statements());
    sums.insert(CONNECTS.to_owned(), ledger.connects());
    own_amounts::Own::from_iter([(String::new(), sums.into_iter().collect())])
}

/// Which of our statements were under way while the server was read: `before` were answered until then, and `now` after it.
pub fn under_way(server: &Server, before: f64, now: &own_amounts::Own) -> UnderWay {
    if server.is_asked_once() {
        return UnderWay::default();
    }
    let meanwhile = (amount(now, STATEMENTS) - before - 1.0).max(0.0);
    UnderWay { unanswered: server.ledger().open_sessions() - 1.0, meanwhile }
}

fn amount(own: &own_amounts::Own, name: &str) -> f64 {
    own.get("").and_then(|amounts| amounts.iter().find(|(of, _)| of == name)).map_or(0.0, |(_, amount)| *amount)
}

/// Amounts that our sessions added in an interval of so many seconds; exact for their statements. Between two snapshots
/// all are those that were kept, else amounts that are reported seldom go on as they did.
pub fn added(
    server: &Server,
    (now, before): (&own_amounts::Own, &own_amounts::Own),
    seconds: f64,
) -> FxHashMap<String, f64> {
    let exact = now
        .get("")
        .into_iter()
        .flatten()
        .filter(|(name, _)| server.is_saved() || [STATEMENTS, CONNECTS].contains(&name.as_str()));
    let exact = exact.map(|(name, amount)| (name.clone(), amount - self::amount(before, name)));
    let mut all = if server.is_saved() { FxHashMap::default() } else { spent(server, seconds) };
    all.extend(exact);
    all
}

/// Amounts that our sessions add in an interval of so many seconds.
fn spent(server: &Server, seconds: f64) -> FxHashMap<String, f64> {
    let mut sums: FxHashMap<String, f64> = FxHashMap::default();
    for (who, of_session) in &server.memory().spent {
        let times = if *who == Who::Sampler { seconds } else { 1.0 };
        for (name, rate) in of_session {
            *sums.entry(name.clone()).or_default() += rate * times;
        }
    }
    sums
}
