//! Which reading is due: each has its own pace, and slows down when the server takes long to answer.

use std::{collections::VecDeque, time::Instant};

use fenxi_model::Rows;
use fenxi_wire::client::ClientError;

use crate::{
    client::Client,
    finding::{Finding, timed},
    moment::Interval,
    reading::{About, Active},
};

/// A reading takes at most this share of the time: one that answers in 50 ms is asked every 50 s at most.
const SHARE_OF_TIME: f64 = 0.001;

/// The share that the first one may have taken: it is planned, and fills caches.
const SHARE_OF_FIRST: f64 = 0.01;

/// Of so many readings the fastest counts: others waited for a CPU, too.
const OF: usize = 3;

/// However long a reading takes, it comes this often.
const MOST_S: f64 = 60.0;

/// When something was done, and how often it is to be.
#[derive(Debug)]
pub struct Turn {
    wanted_s: f64,
    every_s: f64,
    last: Option<fenxi_model::Micros>,
    /// How long the last ones took, behind the first.
    took_s: VecDeque<f64>,
    is_first: bool,
}

impl Turn {
    /// Every so many seconds.
    pub fn every(seconds: u32) -> Turn {
        let wanted_s = f64::from(seconds);
        Turn { wanted_s, every_s: wanted_s, last: None, took_s: VecDeque::with_capacity(OF), is_first: true }
    }

    /// The interval since the last turn, if this is one; the first and the last time always are.
    pub fn take(&mut self, about: &About<'_>) -> Option<Interval> {
        let t = about.interval.t;
        let since = self.last.map(|last| (t.0 - last.0) as f64 / 1e6);
        // A little early is in time: the next turn would be a whole poll late.
        let is_due = about.is_last || since.is_none_or(|since| since >= self.every_s - 0.1);
        if !is_due {
            return None;
        }
        self.last = Some(t);
        Some(Interval { t, dt: since })
    }

    /// Ends a turn whose work began at `began`: the turns come so seldom that they take their share of the time only.
    pub fn took(&mut self, began: Instant) {
        let took_s = began.elapsed().as_secs_f64();
        if std::mem::take(&mut self.is_first) {
            self.every_s = self.wanted_s.max(took_s / SHARE_OF_FIRST).min(MOST_S);
            return;
        }
        if self.took_s.len() == OF {
            self.took_s.pop_front();
        }
        self.took_s.push_back(took_s);
        let fastest_s = self.took_s.iter().copied().fold(f64::INFINITY, f64::min);
        self.every_s = self.wanted_s.max(fastest_s / SHARE_OF_TIME).min(MOST_S);
    }
}

/// A reading and its turns.
pub struct Due {
    reading: Box<dyn Active>,
    turn: Turn,
    /// The server refuses it.
    is_over: bool,
}

impl Due {
    /// As often as it wants.
    pub fn new(reading: Box<dyn Active>) -> Due {
        Due { turn: Turn::every(reading.every_s()), reading, is_over: false }
    }

    /// Reads when it is its turn. A reading that the server refuses is noted and not tried again.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn read(&mut self, client: &mut Client, about: &About<'_>, rows: &mut Rows) -> Result<(), ClientError> {
        if self.is_over {
            return Ok(());
        }
        let Some(interval) = self.turn.take(about) else { return Ok(()) };
        let began = Instant::now();
        match self.reading.read(client, &About { interval, ..*about }, rows) {
            Ok(()) => {}
            Err(error) if error.is_refusal() => {
                rows.note(about.server, None, &format!("{} are not read: {error}", self.reading.name()));
                self.is_over = true;
            }
            Err(error) => return Err(error),
        }
        self.turn.took(began);
        Ok(())
    }

    /// Asks once, and returns the outcome.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn check(&mut self, client: &mut Client, about: &About<'_>, rows: &mut Rows) -> Result<Finding, ClientError> {
        let (name, every_s) = (self.reading.name(), f64::from(self.reading.every_s()));
        timed(name, every_s, || self.reading.read(client, about, rows))
    }

    /// A kind of session without which it has no rows.
    pub fn only_with(&self) -> Option<&'static str> {
        self.reading.only_with()
    }

    /// Its name in messages.
    pub fn name(&self) -> &'static str {
        self.reading.name()
    }

    /// Forgets all counters.
    pub fn forget(&mut self) {
        self.reading.forget();
    }
}

#[cfg(test)]
mod tests {
    use fenxi_model::Micros;

    use super::*;

    #[test]
    fn turns_come_at_their_pace_first_and_last() {
        let mut turn = Turn::every(10);
        let mut at = |seconds: i64, is_last| {
            let interval = Interval { t: Micros(seconds * 1_000_000), dt: Some(1.0) };
            turn.take(&About { server: "s", interval, is_last }).map(|interval| interval.dt)
        };
        assert_eq!([at(0, false), at(1, false), at(10, false)], [Some(None), None, Some(Some(10.0))]);
        assert_eq!(at(13, true), Some(Some(3.0)));
    }

    #[test]
    fn what_takes_long_comes_seldom() {
        let mut turn = Turn::every(1);
        let mut took = |ms| {
            turn.took(Instant::now() - std::time::Duration::from_millis(ms));
            turn.every_s
        };
        // The first is planned, too.
        assert!((2.0..2.5).contains(&took(20)));
        assert!((40.0..45.0).contains(&took(40)));
        assert_eq!(took(0), 1.0);
        // One that had to wait slows nothing down, three of them do.
        assert_eq!([took(2000), took(2000), took(2000)], [1.0, 1.0, MOST_S]);
    }
}
