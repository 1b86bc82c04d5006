//! Which reading is due: each has its own pace, and slows down when the server takes long to answer.

use std::time::Instant;

use fenxi_model::Rows;
use fenxi_wire::client::{Client, ClientError};

use crate::{
    moment::Interval,
    reading::{About, Active},
};

/// A reading takes at most this share of the time: one that answers in 50 ms is asked every 5 s at most.
const SHARE_OF_TIME: f64 = 0.01;

/// When something was done, and how often it is to be.
#[derive(Debug)]
pub struct Turn {
    every_s: f64,
    last: Option<fenxi_model::Micros>,
}

impl Turn {
    /// Every so many seconds.
    pub fn every(seconds: u32) -> Turn {
        Turn { every_s: f64::from(seconds), last: None }
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

    /// Does not come more often than every `seconds`.
    fn slow_down(&mut self, seconds: f64) {
        self.every_s = self.every_s.max(seconds);
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
        self.turn.slow_down(began.elapsed().as_secs_f64() / SHARE_OF_TIME);
        Ok(())
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
}
