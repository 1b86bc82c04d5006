//! Benchmarks that are run several times: the second run of a name is a separate result.

use rustc_hash::FxHashMap;

use super::names::Results;

/// Names that are remembered; beyond them counting begins anew.
const MOST: usize = 1 << 16;

/// Number of occurrences of each name.
#[derive(Clone, Debug, Default)]
pub struct Repeats {
    seen: FxHashMap<String, u32>,
}

impl Repeats {
    /// The results of the next run of `name`: those of the second end in `#2`.
    pub fn next(&mut self, name: &str) -> Results {
        Results::nth(self.count(name))
    }

    /// Returns true if `name` occurred.
    pub fn has(&self, name: &str) -> bool {
        self.seen.contains_key(name)
    }

    /// Counts a run of `name` and gives its number, from 1.
    pub fn count(&mut self, name: &str) -> u32 {
        if self.seen.len() >= MOST {
            self.seen.clear();
        }
        let times = self.seen.entry(name.to_owned()).or_default();
        *times = times.saturating_add(1);
        *times
    }
}
