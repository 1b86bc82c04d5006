//! Whether a value is unlike those of the hour before: by median and median absolute deviation, which a few outliers do
//! not move.

use std::collections::VecDeque;

/// How far back values count.
const HOUR_S: f64 = 3600.0;
/// Values this close together count once, as their mean, so that an hour of ticks of 10 ms is no more than 3600 values.
const MIN_S: f64 = 1.0;
/// With fewer values nothing is unusual yet.
pub(super) const ENOUGH: usize = 60;
/// The median absolute deviation of a normal distribution is so much of its standard deviation.
const OF_SD: f64 = 0.674_489_75;
/// No deviation counts as smaller than this share of the median: a flat line makes nothing unusual by its flatness.
const FLAT: f64 = 0.01;

/// The values of a series in the last hour.
#[derive(Clone, Debug, Default)]
pub(super) struct Hour {
    values: VecDeque<(f64, f64)>,
    /// Sum and number of the values that become the next one.
    next: (f64, u32),
    sorted: Vec<f64>,
    /// Median and deviation of the values as they are.
    known: Option<(f64, f64)>,
}

impl Hour {
    /// How many robust standard deviations `value` is from the median of the hour before `now`; None when too little is
    /// known. The value itself counts from the next one on.
    pub(super) fn distance(&mut self, now: f64, value: f64) -> Option<f64> {
        while self.values.front().is_some_and(|(t, _)| now - t > HOUR_S) {
            self.values.pop_front();
            self.known = None;
        }
        let distance = self.distance_of(value);
        let (sum, n) = (self.next.0 + value, self.next.1 + 1);
        self.next = (sum, n);
        // A tick that comes a little early is in time.
        if self.values.back().is_none_or(|(t, _)| now - t >= MIN_S - 0.005) {
            self.values.push_back((now, sum / f64::from(n)));
            (self.next, self.known) = ((0.0, 0), None);
        }
        distance
    }

    fn distance_of(&mut self, value: f64) -> Option<f64> {
        if self.values.len() < ENOUGH {
            return None;
        }
        let (median, deviation) = match self.known {
            Some(known) => known,
            None => *self.known.insert(spread(&self.values, &mut self.sorted)),
        };
        let smallest = (median.abs() * FLAT).max(f64::MIN_POSITIVE);
        Some((value - median) / deviation.max(smallest))
    }
}

/// Median and robust standard deviation.
fn spread(values: &VecDeque<(f64, f64)>, sorted: &mut Vec<f64>) -> (f64, f64) {
    sorted.clear();
    sorted.extend(values.iter().map(|(_, value)| *value));
    let middle = median(sorted);
    sorted.iter_mut().for_each(|value| *value = (*value - middle).abs());
    (middle, median(sorted) / OF_SD)
}

fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_in_robust_standard_deviations() {
        let mut hour = Hour::default();
        // 98, 99, 100, 101, 102 in turn: the median is 100, the median deviation 1.
        for i in 0..100 {
            assert_eq!(hour.distance(f64::from(i), 98.0 + f64::from(i % 5)).is_some(), i >= 60, "{i}");
        }
        let distance = hour.distance(100.0, 110.0).unwrap();
        assert!((distance - 10.0 * OF_SD).abs() < 1e-9, "{distance}");
        // A burst of outliers moves neither much.
        for i in 101..111 {
            hour.distance(f64::from(i), 1e6);
        }
        assert!((hour.distance(111.0, 90.0).unwrap() + 10.0 * OF_SD).abs() < 3.0);
    }

    #[test]
    fn a_flat_line_is_not_left_by_rounding() {
        let mut hour = Hour::default();
        for i in 0..100 {
            hour.distance(f64::from(i), 1000.0);
        }
        assert!(hour.distance(100.0, 1001.0).unwrap() < 1.0);
        assert!(hour.distance(101.0, 1200.0).unwrap() > 6.0);
    }

    #[test]
    fn an_hour_of_short_ticks_is_few_values_and_what_is_older_is_forgotten() {
        let mut hour = Hour::default();
        for i in 0..400_000 {
            hour.distance(f64::from(i) * 0.01, 1.0);
        }
        assert!(hour.values.len() <= 3700, "{}", hour.values.len());
        assert!(hour.values.front().unwrap().0 >= 4000.0 - HOUR_S - 2.0);
    }
}
