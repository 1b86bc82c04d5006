//! Which reading is due: each has its own pace, and slows down when the server takes long to answer.

use std::time::Instant;

use fenxi_model::Rows;
use fenxi_wire::client::{Client, ClientError};

use crate::{
    check::{Finding, timed},
    moment::Interval,
    reading::{About, Active},
};

/// A reading takes at most this share of the time: one that answers in 50 ms is asked every 50 s at most.
const SHARE_OF_TIME: f64 = 0.001;

/// However long a reading takes, it comes this often.
const MOST_S: f64 = 60.0;

/// When something was done, and how often it is to be.
#[derive(Debug)]
pub struct Turn {
    wanted_s: f64,
    every_s: f64,
    last: Option<fenxi_model::Micros>,
}

impl Turn {
    /// Every so many seconds.
    pub fn every(seconds: u32) -> Turn {
        Turn { wanted_s: f64::from(seconds), every_s: f64::from(seconds), last: None }
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

    /// What was done at `began` has ended: the turns come so seldom that it takes its share of the time only.
    pub fn took(&mut self, began: Instant) {
        self.every_s = self.wanted_s.max(began.elapsed().as_secs_f64() / SHARE_OF_TIME).min(MOST_S);
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

    /// Asks once, and tells how it went.
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
        turn.took(Instant::now() - std::time::Duration::from_millis(20));
        assert!((20.0..25.0).contains(&turn.every_s), "{}", turn.every_s);
        turn.took(Instant::now() - std::time::Duration::from_secs(2));
        assert_eq!(turn.every_s, MOST_S);
        turn.took(Instant::now());
        assert_eq!(turn.every_s, 1.0);
    }
}
