//! Counters of texts that are printed again and again: what they grew by since the text before.

use fenxi_model::Micros;
use rustc_hash::FxHashMap;

/// Counters that are remembered; beyond, all are forgotten, which costs one interval of rates.
const MOST: usize = 1 << 18;

/// The last value of each counter.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    before: FxHashMap<String, (Micros, f64)>,
}

impl Counters {
    /// Growth per second of the counter `key`, which is `value` at `t`; None for the first value, for one of the same
    /// moment, and for a counter that went back.
    pub(crate) fn rate(&mut self, key: &str, t: Micros, value: f64) -> Option<f64> {
        if let Some(before) = self.before.get_mut(key) {
            let (last, was) = std::mem::replace(before, (t, value));
            let seconds = t.seconds_since(last);
            return Some((value - was) / seconds).filter(|rate| seconds > 0.0 && *rate >= 0.0);
        }
        if self.before.len() >= MOST {
            self.before.clear();
        }
        self.before.insert(key.to_owned(), (t, value));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_went_back_or_is_new_has_no_rate() {
        let mut counters = Counters::default();
        let second = |n: i64| Micros(n * 1_000_000);
        assert_eq!(counters.rate("a", second(1), 10.0), None);
        assert_eq!(counters.rate("a", second(3), 16.0), Some(3.0));
        assert_eq!(counters.rate("a", second(3), 17.0), None);
        assert_eq!(counters.rate("a", second(4), 1.0), None);
        assert_eq!(counters.rate("b", second(4), 1.0), None);
        assert_eq!(counters.rate("a", second(5), 1.0), Some(0.0));
    }
}
