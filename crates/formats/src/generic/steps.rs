//! Lengths of intervals where rows carry only the time of their end, series by series.

use std::hash::{Hash, Hasher};

use fenxi_model::Micros;
use rustc_hash::{FxHashMap, FxHasher};

/// Series that are distinguished; beyond it the lengths begin anew.
const MAX_SERIES: usize = 1 << 18;

/// Finds how long the interval was that ended at a row's time.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    usual: Option<f64>,
    last: FxHashMap<u64, (Micros, Option<f64>)>,
}

impl Steps {
    /// Where nothing else is known an interval is `usual` seconds long.
    pub(super) fn new(usual: Option<f64>) -> Steps {
        Steps { usual, last: FxHashMap::default() }
    }

    /// Whether a first row's length is known.
    pub(super) fn known(&self) -> bool {
        self.usual.is_some()
    }

    /// Forgets the rows so far but not the usual length: they are to be read once more.
    pub(super) fn rewind(&mut self) {
        self.last.clear();
    }

    /// The length of the interval of the series `key` that ended at `t`; the same for the same `t`
    /// again. The first row's, and one that goes back in time, is the usual one.
    pub(super) fn dt(&mut self, key: &str, t: Micros) -> Option<f64> {
        let mut hasher = FxHasher::default();
        key.hash(&mut hasher);
        if self.last.len() >= MAX_SERIES {
            self.last.clear();
        }
        let entry = self.last.entry(hasher.finish()).or_insert((t, self.usual));
        if t > entry.0 {
            // Not `seconds_since`: times of a damaged file can be as far apart as numbers go.
            let distance = (t.0 as f64 - entry.0.0 as f64) / 1e6;
            self.usual.get_or_insert(distance);
            *entry = (t, Some(distance));
        } else if t < entry.0 {
            *entry = (t, self.usual);
        }
        entry.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_series_has_its_own_steps() {
        let mut steps = Steps::new(None);
        let at = |s: i64| Micros(s * 1_000_000);
        assert_eq!((steps.dt("a", at(0)), steps.dt("b", at(1)), steps.known()), (None, None, false));
        assert_eq!((steps.dt("a", at(10)), steps.dt("b", at(11))), (Some(10.0), Some(10.0)));
        steps.rewind();
        assert_eq!(
            (steps.dt("a", at(0)), steps.dt("a", at(0)), steps.dt("a", at(30))),
            (Some(10.0), Some(10.0), Some(30.0))
        );
        assert_eq!(steps.dt("a", at(5)), Some(10.0));
    }
}
