//! How much CPU time an observer may take for what it learns of programs: one that is always on must not cost more on a machine
//! where many programs begin.

use fenxi_sys::clock::thread_cpu_ns;

use crate::kernel::now_ns;

/// CPU time that comes in at a rate and is spent by work; what took more than there was is paid off before anything else is done.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Seconds per second; None: no limit.
    rate: Option<f64>,
    most_s: f64,
    left_s: f64,
    at_ns: u64,
}

impl Budget {
    /// All that is wanted.
    pub(crate) const UNLIMITED: Budget = Budget { rate: None, most_s: 0.0, left_s: 0.0, at_ns: 0 };

    /// `rate` seconds per second, `most_s` seconds of them now and after a time without work.
    pub(crate) fn new(rate: f64, most_s: f64) -> Budget {
        Budget { rate: Some(rate), most_s, left_s: most_s, at_ns: now_ns() }
    }

    pub(crate) fn is_limited(&self) -> bool {
        self.rate.is_some()
    }

    /// Does a piece of work of this thread; None: there is no time for it now.
    pub(crate) fn spend<T>(&mut self, work: impl FnOnce() -> T) -> Option<T> {
        let Some(rate) = self.rate else { return Some(work()) };
        let now = now_ns();
        let passed_s = now.saturating_sub(self.at_ns) as f64 / 1e9;
        self.left_s = (self.left_s + passed_s * rate).min(self.most_s);
        self.at_ns = now;
        if self.left_s <= 0.0 {
            return None;
        }
        let before = thread_cpu_ns();
        let done = work();
        self.left_s -= thread_cpu_ns().saturating_sub(before) as f64 / 1e9;
        Some(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_took_more_than_there_was_is_paid_off_first() {
        let burn = || {
            let until = thread_cpu_ns() + 20_000_000;
            while thread_cpu_ns() < until {}
        };
        let mut budget = Budget::new(1e-6, 0.01);
        assert_eq!(budget.spend(burn), Some(()));
        assert_eq!((budget.spend(burn), budget.spend(burn)), (None, None));
        assert!(budget.left_s < 0.0, "{budget:?}");
        let mut all = Budget::UNLIMITED;
        assert_eq!((all.spend(burn), all.spend(|| 7)), (Some(()), Some(7)));
    }

    #[test]
    fn time_without_work_is_saved_up_to_a_bound() {
        let mut budget = Budget { rate: Some(1e6), most_s: 0.5, left_s: -3.0, at_ns: 0 };
        assert_eq!(budget.spend(|| 1), Some(1));
        assert!((0.0..=0.5).contains(&budget.left_s), "{budget:?}");
    }
}
