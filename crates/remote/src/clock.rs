//! How far the recorder's clock is from an agent's, as NTP finds it: of many exchanges the fastest are the most exact, as what a
//! round trip took is all that their answers can be wrong by.

use std::collections::VecDeque;

/// Exchanges that are kept.
const KEPT: usize = 128;
/// Seconds of exchanges from which a drift can be computed.
const SPAN_S: f64 = 8.0;
/// Limit of a clock's drift in a second before its drift was seen: crystals are within 100 parts per million.
const UNSEEN_DRIFT: f64 = 100e-6;
/// Error limit of a drift that was seen.
const SEEN_DRIFT: f64 = 5e-6;
/// So many exchanges in a row that contradict the others mean that a clock was set or stopped.
const STEPS: usize = 3;

/// A question and its answer, in nanoseconds of two monotonic clocks.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// When it was asked, on our clock.
    pub asked: i64,
    /// When the question came, on the other clock.
    pub got: i64,
    /// When the answer was sent, on the other clock.
    pub sent: i64,
    /// When the answer came, on our clock.
    pub answered: i64,
}

/// The longest time of a clock that is believed, nanoseconds: sums and differences of three of them do not overflow.
pub const LONGEST_NS: i64 = 1 << 60;
/// By what two clocks may differ in how long an answer took: they are read one after the other.
const SLACK_NS: i64 = 1_000_000;

impl Exchange {
    /// Returns true if clocks can have shown these times: none is absurd, and no answer comes before its question.
    pub fn is_possible(&self) -> bool {
        let times = [self.asked, self.got, self.sent, self.answered];
        let (there, here) = (self.sent.saturating_sub(self.got), self.answered.saturating_sub(self.asked));
        times.iter().all(|t| (-LONGEST_NS..=LONGEST_NS).contains(t))
            && there >= 0
            && here >= 0
            && there <= here.saturating_add(SLACK_NS)
    }

    fn round_trip_s(&self) -> f64 {
        ((self.answered - self.asked) - (self.sent - self.got)).max(0) as f64 / 1e9
    }

    /// The other clock less ours, nanoseconds.
    fn offset_ns(&self) -> i64 {
        // Halves of sums, which do not overflow.
        (self.got - self.asked) / 2 + (self.sent - self.answered) / 2
    }

    fn middle(&self) -> i64 {
        self.asked / 2 + self.answered / 2
    }
}

/// Estimate of the other clock at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The other clock less ours, nanoseconds.
    pub offset_ns: i64,
    /// How wrong that can be, seconds.
    pub uncertainty_s: f64,
    /// Seconds that ours gains on the other one per second.
    pub drift: f64,
    /// The shortest of the last round trips, seconds.
    pub round_trip_s: f64,
}

/// Follows another clock.
#[derive(Debug, Default)]
pub struct Follower {
    exchanges: VecDeque<Exchange>,
    /// The last ones that contradict those, in a row.
    apart: Vec<Exchange>,
    line: Option<Line>,
}

/// The offset as a line over time.
#[derive(Clone, Copy, Debug)]
struct Line {
    at: i64,
    offset_ns: i64,
    slope: f64,
    /// Whether the slope was seen.
    is_seen: bool,
    /// The last moment that it was drawn from.
    last: i64,
    bound_s: f64,
    round_trip_s: f64,
}

impl Follower {
    /// Number of known exchanges.
    pub fn len(&self) -> usize {
        self.exchanges.len()
    }

    /// Learns from an exchange, if it is possible; gives the seconds by which the other clock stepped against ours, if it did.
    pub fn add(&mut self, exchange: Exchange) -> Option<f64> {
        if !exchange.is_possible() {
            return None;
        }
        let mut stepped = None;
        if let Some(estimate) = self.at(exchange.middle()) {
            let by_s = exchange.offset_ns().saturating_sub(estimate.offset_ns) as f64 / 1e9;
            if by_s.abs() > exchange.round_trip_s() / 2.0 + estimate.uncertainty_s + 1e-3 {
                self.apart.push(exchange);
                if self.apart.len() < STEPS {
                    return None;
                }
                self.exchanges.clear();
                self.exchanges.extend(self.apart.drain(..));
                stepped = Some(by_s);
            } else {
                self.apart.clear();
                self.exchanges.push_back(exchange);
            }
        } else {
            self.exchanges.push_back(exchange);
        }
        if self.exchanges.len() > KEPT {
            self.exchanges.pop_front();
        }
        self.line = self.draw();
        stepped
    }

    /// Estimate at `own` nanoseconds of our clock; None before the first exchange.
    pub fn at(&self, own: i64) -> Option<Estimate> {
        let line = self.line?;
        let ahead = own.saturating_sub(line.at) as f64;
        let age_s = own.saturating_sub(line.last).max(0) as f64 / 1e9;
        let wander = if line.is_seen { SEEN_DRIFT } else { UNSEEN_DRIFT };
        Some(Estimate {
            offset_ns: line
                .offset_ns
                .saturating_add((line.slope * ahead).round() as i64)
                .clamp(-LONGEST_NS, LONGEST_NS),
            uncertainty_s: line.bound_s + wander * age_s,
            drift: -line.slope,
            round_trip_s: line.round_trip_s,
        })
    }

    fn draw(&self) -> Option<Line> {
        let fastest = self.exchanges.iter().map(Exchange::round_trip_s).fold(f64::INFINITY, f64::min);
        let last = self.exchanges.back()?.middle();
        // Those that were hardly held up.
        let good: Vec<&Exchange> =
            self.exchanges.iter().filter(|e| e.round_trip_s() <= fastest * 1.5 + 20e-6).collect();
        let newest = *good.last()?;
        let span_s = (newest.middle() - good.first()?.middle()) as f64 / 1e9;
        if span_s < SPAN_S || good.len() < STEPS {
            // The fastest of those since a drift can have moved it by much.
            let recent = self.exchanges.iter().filter(|e| (last - e.middle()) as f64 / 1e9 <= SPAN_S);
            let best = recent.min_by(|a, b| a.round_trip_s().total_cmp(&b.round_trip_s()))?;
            let (offset_ns, round_trip_s) = (best.offset_ns(), best.round_trip_s());
            let at = best.middle();
            return Some(Line {
                at,
                offset_ns,
                slope: 0.0,
                is_seen: false,
                last: at,
                bound_s: round_trip_s / 2.0,
                round_trip_s,
            });
        }
        // Least squares, about the newest so that the numbers stay small.
        let (at, base) = (newest.middle(), newest.offset_ns());
        let points: Vec<(f64, f64)> =
            good.iter().map(|e| ((e.middle() - at) as f64, (e.offset_ns() - base) as f64)).collect();
        let n = points.len() as f64;
        let (mean_x, mean_y) =
            (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
        let spread: f64 = points.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
        let slope = points.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum::<f64>() / spread;
        let offset_ns = base.saturating_add((mean_y - slope * mean_x).round() as i64).clamp(-LONGEST_NS, LONGEST_NS);
        Some(Line { at, offset_ns, slope, is_seen: true, last: at, bound_s: fastest / 2.0, round_trip_s: fastest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exchanges with a clock that is `offset_s` ahead and gains `drift`, over ways whose delays an own sequence of numbers makes.
    fn follow(follower: &mut Follower, from_s: f64, seconds: usize, other: impl Fn(f64) -> f64) -> Option<f64> {
        let mut seed = 12345_u64;
        let mut way = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let share = (seed >> 40) as f64 / (1 << 24) as f64;
            // Mostly 0.2 ms, at times held up by up to 30 ms in one direction.
            0.0002 + if share > 0.7 { 0.03 * (share - 0.7) / 0.3 } else { 0.00005 * share }
        };
        let mut stepped = None;
        for n in 0..seconds {
            let asked = from_s + n as f64;
            let got = asked + way();
            let answered = got + 0.0001 + way();
            let ns = |s: f64| (s * 1e9).round() as i64;
            let exchange = Exchange {
                asked: ns(asked),
                got: ns(other(got)),
                sent: ns(other(got + 0.0001)),
                answered: ns(answered),
            };
            stepped = follower.add(exchange).or(stepped);
        }
        stepped
    }

    fn wrong_by(follower: &Follower, own_s: f64, other: impl Fn(f64) -> f64) -> (f64, Estimate) {
        let estimate = follower.at((own_s * 1e9) as i64).unwrap();
        ((own_s * 1e9 + estimate.offset_ns as f64 - other(own_s) * 1e9).abs() / 1e9, estimate)
    }

    #[test]
    fn offset_and_drift_are_found_through_a_jittery_way() {
        let other = |t: f64| 5000.0 + t * (1.0 + 200e-6);
        let mut follower = Follower::default();
        for seconds in [2, 10, 60] {
            follower = Follower::default();
            follow(&mut follower, 1000.0, seconds, other);
            let (wrong, estimate) = wrong_by(&follower, 1000.0 + seconds as f64, other);
            assert!(wrong < 0.0021 && (seconds == 2 || wrong < 0.0003), "{seconds} s: {wrong} {estimate:?}");
            assert!(wrong <= estimate.uncertainty_s + 1.5e-3, "{wrong} {estimate:?}");
        }
        let (_, estimate) = wrong_by(&follower, 1060.0, other);
        assert!((estimate.drift + 200e-6).abs() < 10e-6, "{estimate:?}");
        // Cut off for ten minutes: worse, and its error bound shows it.
        let (wrong, late) = wrong_by(&follower, 1660.0, other);
        assert!(wrong < late.uncertainty_s && late.uncertainty_s < 0.005, "{wrong} {late:?}");
    }

    #[test]
    fn a_clock_that_lies_changes_nothing_and_overflows_nowhere() {
        let mut follower = Follower::default();
        follow(&mut follower, 100.0, 20, |t| t + 7.0);
        let before = follower.at(120_000_000_000);
        let lies = [i64::MIN, i64::MIN / 2, -LONGEST_NS - 1, -1, 0, 1, LONGEST_NS + 1, i64::MAX / 2, i64::MAX];
        for (asked, got) in lies.iter().flat_map(|asked| lies.map(|got| (*asked, got))) {
            for (sent, answered) in lies.iter().flat_map(|sent| lies.map(|answered| (*sent, answered))) {
                let exchange = Exchange { asked, got, sent, answered };
                if !exchange.is_possible() {
                    assert_eq!(follower.add(exchange), None, "{exchange:?}");
                }
                // A possible exchange may be wrong, and is computed with all the same.
                let mut other = Follower::default();
                for _ in 0..4 {
                    other.add(exchange);
                    other.add(Exchange { asked: 0, got: -LONGEST_NS, sent: -LONGEST_NS, answered: LONGEST_NS });
                    lies.iter().for_each(|own| _ = other.at(*own));
                }
            }
        }
        assert_eq!(follower.at(120_000_000_000), before);
        let backwards = Exchange { asked: 0, got: 10, sent: 5, answered: 20 };
        assert!(!backwards.is_possible());
        assert!(Exchange { sent: 10, ..backwards }.is_possible());
    }

    #[test]
    fn a_clock_that_stood_still_is_noticed() {
        let mut follower = Follower::default();
        assert_eq!(follow(&mut follower, 100.0, 30, |t| t + 7.0), None);
        let stepped = follow(&mut follower, 130.0, 10, |t| t + 4.0).unwrap();
        assert!((stepped + 3.0).abs() < 0.02, "{stepped}");
        assert!(wrong_by(&follower, 140.0, |t| t + 4.0).0 < 0.001);
    }
}
