//! When the recorded command is looked at between two ticks: often in its first seconds, so that one that is over soon is known as
//! well as another, and ever more seldom later. What looking costs is bounded.

/// Seconds between two looks at the begin.
const MIN_S: f64 = 0.010;
/// Looks in the time that it has run so far: the wait for the next one is that part of it.
const LOOKS: f64 = 100.0;
/// Looking takes this part of one CPU at most.
const MOST_CPU: f64 = 0.01;

/// The looks at one command.
#[derive(Debug)]
pub(crate) struct Pace {
    began: f64,
    interval_s: f64,
    last: f64,
    cost_s: f64,
}

impl Pace {
    /// Of a command that began at `now`, in a recording with a tick each `interval_s`.
    pub(crate) fn begin(now: f64, interval_s: f64) -> Pace {
        Pace { began: now, interval_s, last: now, cost_s: 0.0 }
    }

    /// When to look next, after the tick at `tick` and before the one at `until`; None when that tick comes soon enough.
    pub(crate) fn next(&self, tick: f64, until: f64) -> Option<f64> {
        let last = self.last.max(tick);
        let wait = MIN_S.max((last - self.began) / LOOKS).max(self.cost_s / MOST_CPU);
        let at = last + wait;
        (wait < self.interval_s && at < until - MIN_S / 2.0).then_some(at)
    }

    /// A look at `now` took so much CPU time: what one costs is a mean of the last ones.
    pub(crate) fn looked(&mut self, now: f64, cpu_s: f64) {
        self.last = now;
        self.cost_s += (cpu_s - self.cost_s) / 4.0;
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;

    /// The moments of looks at a command of so many seconds, each of which takes `cost_s`.
    fn looks(seconds: f64, interval_s: f64, cost_s: f64) -> Vec<f64> {
        let (mut pace, mut at, mut tick) = (Pace::begin(0.0, interval_s), Vec::new(), 0.0);
        while tick < seconds {
            match pace.next(tick, tick + interval_s) {
                Some(now) => {
                    pace.looked(now, cost_s);
                    at.push(now);
                }
                None => tick += interval_s,
            }
        }
        at.retain(|at| *at < seconds);
        at
    }

    #[test]
    fn a_short_command_is_looked_at_often_and_a_long_one_ever_more_seldom() {
        assert!((18..=20).contains(&looks(0.2, 1.0, 0.0).len()));
        let of_long = looks(600.0, 1.0, 0.0);
        assert!((300..800).contains(&of_long.len()), "{}", of_long.len());
        assert!(
            of_long.last().is_some_and(|last| *last < 110.0),
            "a hundredth of the time is more than an interval then"
        );
        assert!(looks(1.0, 0.01, 0.0).is_empty(), "each tick looks");
    }

    #[test]
    fn what_looking_costs_is_bounded() {
        // Two milliseconds a look are a hundredth of a CPU at five looks a second.
        let n = looks(10.0, 1.0, 0.002).len();
        assert!((40..70).contains(&n), "{n}");
        assert!(looks(10.0, 1.0, 0.5).len() < 12);
    }
}
