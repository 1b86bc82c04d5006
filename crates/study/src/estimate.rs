//! Estimate of the remaining duration of a study, from finished runs.

use std::collections::BTreeMap;

use crate::{
    design::{Design, Slot},
    plan::{StudyPlan, Warmup},
};

/// Seconds that runs took, by cell.
#[derive(Clone, Debug, Default)]
pub struct Estimate {
    seconds: BTreeMap<usize, Vec<f64>>,
    /// Seconds of one run as the plan has them, where it does.
    planned: Option<f64>,
    /// Seconds beside the measured command, as far as the plan has them.
    beside: f64,
}

impl Estimate {
    /// An estimate that knows the plan only.
    pub fn new(plan: &StudyPlan) -> Estimate {
        let warmup = match plan.warmup {
            Some(Warmup::Seconds(seconds)) => seconds,
            _ => 0.0,
        };
        Estimate { seconds: BTreeMap::new(), planned: plan.duration_s, beside: plan.cooldown_s + warmup }
    }

    /// A run of `cell` was measured for `seconds`.
    pub fn add(&mut self, cell: usize, seconds: f64) {
        self.seconds.entry(cell).or_default().push(seconds);
    }

    /// Seconds that `slots` will take; None when nothing is known.
    pub fn rest(&self, slots: impl Iterator<Item = Slot>) -> Option<f64> {
        slots.map(|slot| self.one(slot.cell)).try_fold(0.0, |sum, seconds| Some(sum + seconds?))
    }

    /// Seconds that a run of `cell` will take: as its own took, or those of other cells on average.
    pub fn one(&self, cell: usize) -> Option<f64> {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let own = self.seconds.get(&cell).map(|values| mean(values));
        let means: Vec<f64> = self.seconds.values().map(|values| mean(values)).collect();
        let of_others = (!means.is_empty()).then(|| mean(&means));
        Some(own.or(of_others).or(self.planned)? + self.beside)
    }

    /// Seconds of the whole design.
    pub fn whole(&self, design: &Design) -> Option<f64> {
        self.rest(design.order.iter().copied())
    }
}
