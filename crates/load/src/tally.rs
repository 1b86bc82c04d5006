//! Counts and latency histograms of one thread in one interval, mergeable over threads and intervals. Latencies are
//! never averaged.

use std::{collections::BTreeMap, time::Duration};

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::policy::Failure;

/// The shortest latency that is distinguished from 0, in nanoseconds.
const SHORTEST_NS: u64 = 100;
/// The longest that is distinguished from longer ones: an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;
/// Three digits: within 0.1 %.
const DIGITS: u8 = 3;

/// Latencies in nanoseconds.
pub type Latencies = Histogram<u64>;

/// An empty histogram.
#[expect(clippy::expect_used, reason = "the bounds are constants that the library takes, which a test shows")]
pub fn latencies() -> Latencies {
    Histogram::new_with_bounds(SHORTEST_NS, LONGEST_NS, DIGITS).expect("the bounds are in order")
}

/// How histograms and errors travel between the processes of a load: what is there, as lists. Bounds are the same
/// everywhere, so that a histogram put together from them is the same one.
mod travel {
    pub mod latencies {
        use serde::{Deserialize, Deserializer, Serializer};

        use crate::tally::{Latencies, latencies};

        pub fn serialize<S: Serializer>(from: &Latencies, to: S) -> Result<S::Ok, S::Error> {
            to.collect_seq(from.iter_recorded().map(|value| (value.value_iterated_to(), value.count_at_value())))
        }

        pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Latencies, D::Error> {
            let mut all = latencies();
            for (value, count) in Vec::<(u64, u64)>::deserialize(from)? {
                all.saturating_record_n(value, count);
            }
            Ok(all)
        }
    }

    pub mod errors {
        use std::collections::BTreeMap;

        use serde::{Deserialize, Deserializer, Serializer};

        use crate::policy::Failure;

        type Errors = BTreeMap<Failure, (u64, String)>;

        pub fn serialize<S: Serializer>(from: &Errors, to: S) -> Result<S::Ok, S::Error> {
            to.collect_seq(from)
        }

        pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Errors, D::Error> {
            Ok(Vec::deserialize(from)?.into_iter().collect())
        }
    }
}

/// Counts and latencies.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tally {
    /// Transactions that were completed.
    pub transactions: u64,
    /// Statements of completed and of failed ones, by what they do.
    pub reads: u64,
    /// As `reads`.
    pub writes: u64,
    /// As `reads`: BEGIN, COMMIT and the like.
    pub others: u64,
    /// Rows that came.
    pub rows: u64,
    /// Transactions that were given up.
    pub failed: u64,
    /// Transaction retries.
    pub retries: u64,
    /// Connections that were made.
    pub connects: u64,
    /// Of those, ones in the place of a lost or ended one.
    pub reconnects: u64,
    /// From the intended start to the end, of completed transactions.
    #[serde(with = "travel::latencies")]
    pub latency: Latencies,
    /// From the start to the end.
    #[serde(with = "travel::latencies")]
    pub service: Latencies,
    /// By how much the driver was late: from when a transaction was due and a connection free.
    #[serde(with = "travel::latencies")]
    pub lag: Latencies,
    /// Errors, with the first message of each.
    #[serde(with = "travel::errors")]
    pub errors: BTreeMap<Failure, (u64, String)>,
    /// Transactions that are due and have no connection, at the end of the interval.
    pub waiting: u64,
    /// Transactions under way, at the end of the interval.
    pub running: u64,
    /// Connections that are logged in, at the end of the interval.
    pub connected: u64,
    /// CPU time of the driver's threads, in nanoseconds.
    pub cpu_ns: u64,
    /// Time that the driver's threads were runnable without a CPU, in nanoseconds; None where the kernel does not count it.
    #[serde(default)]
    pub queued_ns: Option<u64>,
    /// Times that a driver's thread took answers from a connection.
    #[serde(default)]
    pub answers: u64,
    /// Of how many of those it is known how long the answer had been there, and the sum of that, in nanoseconds.
    #[serde(default)]
    pub lates: (u64, u64),
    /// Times that something was sent to the server, with what was answered to it: round trips.
    #[serde(default)]
    pub round_trips: u64,
    /// Bytes of messages to the server and from it after logins; what TLS adds is not counted.
    #[serde(default)]
    pub message_bytes: (u64, u64),
    /// Think time that transactions took, in nanoseconds.
    #[serde(default)]
    pub think_ns: u64,
    /// The largest share of its time that a thread was busy.
    pub busiest: f64,
}

impl Default for Tally {
    fn default() -> Tally {
        Tally {
            transactions: 0,
            reads: 0,
            writes: 0,
            others: 0,
            rows: 0,
            failed: 0,
            retries: 0,
            connects: 0,
            reconnects: 0,
            latency: latencies(),
            service: latencies(),
            lag: latencies(),
            errors: BTreeMap::new(),
            waiting: 0,
            running: 0,
            connected: 0,
            cpu_ns: 0,
            queued_ns: Some(0),
            answers: 0,
            lates: (0, 0),
            round_trips: 0,
            message_bytes: (0, 0),
            think_ns: 0,
            busiest: 0.0,
        }
    }
}

impl Tally {
    /// Statements of all kinds.
    pub fn statements(&self) -> u64 {
        self.reads + self.writes + self.others
    }

    /// Errors of all kinds.
    pub fn error_count(&self) -> u64 {
        self.errors.values().map(|(count, _)| count).sum()
    }

    /// Counts an error; only the first of its kind is kept as text.
    pub fn fail(&mut self, failure: Failure, message: impl FnOnce() -> String) {
        self.errors.entry(failure).or_insert_with(|| (0, message())).0 += 1;
    }

    /// Counts an answer that was looked at: how long it had been there, if the kernel reports it.
    pub fn late(&mut self, late: Option<Duration>) {
        if let Some(late) = late {
            self.lates.0 += 1;
            self.lates.1 = self.lates.1.saturating_add(late.as_nanos() as u64);
        }
    }

    /// Delay between the arrival of a transaction's answers and the driver reading them, in nanoseconds. None where unknown.
    pub fn late_ns(&self) -> Option<f64> {
        let (n, sum) = self.lates;
        (n > 0 && self.transactions > 0).then(|| sum as f64 / n as f64 * self.answers as f64 / self.transactions as f64)
    }

    /// Adds what another thread counted in the same interval.
    pub fn beside(&mut self, other: &Tally) {
        self.count(other);
        self.waiting += other.waiting;
        self.running += other.running;
        self.connected += other.connected;
    }

    /// Adds what was counted in a later interval, of which what it ended with is kept.
    pub fn then(&mut self, other: &Tally) {
        self.count(other);
        (self.waiting, self.running, self.connected) = (other.waiting, other.running, other.connected);
    }

    fn count(&mut self, other: &Tally) {
        self.transactions += other.transactions;
        self.reads += other.reads;
        self.writes += other.writes;
        self.others += other.others;
        self.rows += other.rows;
        self.failed += other.failed;
        self.retries += other.retries;
        self.connects += other.connects;
        self.reconnects += other.reconnects;
        self.cpu_ns += other.cpu_ns;
        self.queued_ns = self.queued_ns.zip(other.queued_ns).map(|(mine, theirs)| mine + theirs);
        self.answers += other.answers;
        self.lates = (self.lates.0 + other.lates.0, self.lates.1 + other.lates.1);
        self.round_trips += other.round_trips;
        self.message_bytes =
            (self.message_bytes.0 + other.message_bytes.0, self.message_bytes.1 + other.message_bytes.1);
        self.think_ns = self.think_ns.saturating_add(other.think_ns);
        self.busiest = self.busiest.max(other.busiest);
        for (mine, theirs) in
            [(&mut self.latency, &other.latency), (&mut self.service, &other.service), (&mut self.lag, &other.lag)]
        {
            // The bounds are the same, so nothing is left out.
            let _ = mine.add(theirs);
        }
        for (failure, (count, message)) in &other.errors {
            self.errors.entry(*failure).or_insert_with(|| (0, message.clone())).0 += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_keeps_every_value_and_the_last_state() {
        let (mut a, mut b) = (Tally::default(), Tally { waiting: 3, transactions: 2, ..Tally::default() });
        a.latency.saturating_record(1_000_000);
        b.latency.saturating_record(LONGEST_NS * 2);
        b.fail(Failure::Lost, || "first".to_owned());
        b.fail(Failure::Lost, || "second".to_owned());
        a.waiting = 5;
        (a.queued_ns, b.queued_ns) = (Some(7), Some(3));
        (a.answers, b.answers) = (6, 4);
        (a.round_trips, b.round_trips, a.message_bytes, b.message_bytes) = (1, 2, (3, 4), (5, 6));
        (a.think_ns, b.think_ns) = (20, 30);
        for ns in [None, Some(3), Some(5)] {
            b.late(ns.map(Duration::from_nanos));
        }
        assert_eq!((a.late_ns(), b.late_ns()), (None, Some(4.0 * 4.0 / 2.0)));
        let mut later = a.clone();
        later.then(&b);
        a.beside(&b);
        assert_eq!((a.waiting, later.waiting, a.transactions), (8, 3, 2));
        assert_eq!((a.latency.len(), a.error_count(), a.queued_ns), (2, 2, Some(10)));
        assert_eq!((a.round_trips, a.message_bytes, a.think_ns), (3, (8, 10), 50));
        assert_eq!((a.answers, a.lates, later.late_ns()), (10, (2, 8), Some(4.0 * 10.0 / 2.0)));
        a.beside(&Tally { queued_ns: None, ..Tally::default() });
        assert_eq!(a.queued_ns, None, "of a part it is none of all");
        assert_eq!(a.errors[&Failure::Lost].1, "first");
        assert!(a.latency.max() >= LONGEST_NS && a.latency.min() >= 999_000);
    }

    #[test]
    fn a_tally_that_travelled_is_the_same() {
        let mut here = Tally { transactions: 3, cpu_ns: u64::MAX, busiest: 0.5, ..Tally::default() };
        for ns in [0, 1, 99, 100, 12_345, 1_000_000, 1_000_001, LONGEST_NS, LONGEST_NS * 2] {
            here.latency.saturating_record(ns);
        }
        here.lag.saturating_record(7);
        here.fail(Failure::Server(*b"40P01", 0), || "a deadlock".to_owned());
        here.fail(Failure::Worker, || "gone".to_owned());
        let there: Tally = serde_json::from_slice(&serde_json::to_vec(&here).unwrap()).unwrap();
        assert_eq!((&there.latency, &there.service, &there.lag), (&here.latency, &here.service, &here.lag));
        assert_eq!((there.latency.max(), there.latency.min()), (here.latency.max(), here.latency.min()));
        assert_eq!((there.errors, there.cpu_ns, there.busiest), (here.errors, here.cpu_ns, here.busiest));
    }
}
