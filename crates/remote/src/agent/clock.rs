//! The clocks of an agent, which a test can set wrong.

use rustix::time::{ClockId, clock_gettime};

/// A variable that sets an agent's clocks wrong: `SECONDS[,PPM]`, ahead by so much and faster by so many parts per million. The
/// clocks of one machine cannot be distinguished otherwise, and what becomes of a host with a wrong clock has to be tried.
pub const CLOCK_VARIABLE: &str = "FENXI_AGENT_CLOCK";

/// Clocks, perhaps wrong ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnClock {
    ahead_ns: i64,
    /// Seconds that it gains in a second.
    drift: f64,
    /// The moment from which it drifts.
    since_ns: i64,
}

impl OwnClock {
    /// The system's, or as set by the variable.
    pub fn of_environment() -> OwnClock {
        std::env::var(CLOCK_VARIABLE).ok().and_then(|text| OwnClock::parse(&text)).unwrap_or_default()
    }

    fn parse(text: &str) -> Option<OwnClock> {
        let (seconds, ppm) = text.split_once(',').unwrap_or((text, "0"));
        let ahead = seconds.trim().parse::<f64>().ok().filter(|s| s.abs() < 1e8)?;
        let ppm = ppm.trim().parse::<f64>().ok().filter(|ppm| ppm.abs() < 1e5)?;
        Some(OwnClock { ahead_ns: (ahead * 1e9) as i64, drift: ppm / 1e6, since_ns: now(ClockId::Monotonic) })
    }

    /// Nanoseconds of the monotonic clock.
    pub fn steady_ns(&self) -> i64 {
        self.wrong(now(ClockId::Monotonic))
    }

    /// Nanoseconds of the wall clock, and of the monotonic clock at the same moment.
    pub fn both_ns(&self) -> (i64, i64) {
        let steady = now(ClockId::Monotonic);
        let wall = now(ClockId::Realtime);
        (wall + self.wrong(steady) - steady, self.wrong(steady))
    }

    /// Nanoseconds from now until the monotonic clock shows `steady_ns`.
    pub fn until_ns(&self, steady_ns: i64) -> i64 {
        (steady_ns.saturating_sub(self.steady_ns()) as f64 / (1.0 + self.drift)) as i64
    }

    fn wrong(&self, steady: i64) -> i64 {
        steady + self.ahead_ns + ((steady - self.since_ns) as f64 * self.drift) as i64
    }
}

fn now(id: ClockId) -> i64 {
    let now = clock_gettime(id);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_set_wrong_by_so_much() {
        let clock = OwnClock::parse("-3,200").unwrap();
        let ahead = |steady: i64| clock.wrong(steady) - steady;
        assert_eq!(ahead(clock.since_ns), -3_000_000_000);
        assert_eq!(ahead(clock.since_ns + 1_000_000_000), -3_000_000_000 + 200_000);
        assert!(OwnClock::parse("soon").is_none());
        let (wall, steady) = OwnClock::default().both_ns();
        assert!(wall > steady);
    }
}
