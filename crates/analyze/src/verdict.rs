//! Verdict of a comparison: better, worse, different, same, unclear or insufficient, by p-value and margin.

use fenxi_model::Better;

use crate::{Compared, Interval};

/// When a difference counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Probability that an interval holds the true change.
    pub level: f64,
    /// The share of false findings among the findings that is accepted.
    pub alpha: f64,
    /// A change of less than this share is of no interest; groups are the same when they surely differ by
    /// less.
    pub margin: f64,
    /// True if metrics are what one transaction takes, see [`crate::per_transaction`].
    pub per_transaction: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { level: 0.95, alpha: 0.05, margin: 0.02, per_transaction: false }
    }
}

/// Verdict of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The second group is worse, by more than the margin.
    Worse,
    /// The second group is better, by more than the margin.
    Better,
    /// They differ by more than the margin; which is better depends.
    Different,
    /// They differ by less than the margin, if at all: the whole interval lies within it.
    Same,
    /// There may be a difference, or one of which the interval leaves open whether it is more than the margin; more runs would
    /// show it.
    Unclear,
    /// With so few runs no difference could be distinguished from chance.
    Insufficient,
}

impl Verdict {
    /// Every verdict.
    pub const ALL: [Verdict; 6] =
        [Verdict::Worse, Verdict::Better, Verdict::Different, Verdict::Same, Verdict::Unclear, Verdict::Insufficient];

    /// The verdict in words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Worse => "worse",
            Verdict::Better => "better",
            Verdict::Different => "different",
            Verdict::Same => "same",
            Verdict::Unclear => "unclear",
            Verdict::Insufficient => "insufficient runs",
        }
    }
}

/// Judges a comparison by its p value adjusted for all comparisons made beside it.
pub fn judge(compared: &Compared, adjusted_p: f64, better: Better, settings: &Settings) -> Verdict {
    if compared.least_p > settings.alpha || adjusted_p.is_nan() {
        return Verdict::Insufficient;
    }
    let Some(interval) = compared.change.interval else { return Verdict::Insufficient };
    let margin = if compared.is_relative { settings.margin } else { 0.0 };
    if interval.is_within(Interval { low: -margin, high: margin }) {
        return Verdict::Same;
    }
    if adjusted_p > settings.alpha || interval.contains(0.0) {
        return Verdict::Unclear;
    }
    if compared.change.value.abs() <= margin {
        // There is a difference, and the interval leaves open whether it is more than the margin.
        return Verdict::Unclear;
    }
    match (better, compared.change.value > 0.0) {
        (Better::Neither, _) => Verdict::Different,
        (Better::Higher, true) | (Better::Lower, false) => Verdict::Better,
        _ => Verdict::Worse,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{compare, permutation_test};

    fn verdict(a: &[f64], b: &[f64], better: Better) -> Verdict {
        let compared = compare(a, b, 0.95).unwrap();
        judge(&compared, permutation_test(a, b).unwrap_or(f64::NAN), better, &Settings::default())
    }

    #[test]
    fn every_verdict_is_given_where_it_is_due() {
        let base = [100.0, 101.0, 99.0, 100.5, 99.5];
        let scaled = |by: f64| base.map(|v| v * by);
        assert_eq!(verdict(&base, &scaled(1.2), Better::Higher), Verdict::Better);
        assert_eq!(verdict(&base, &scaled(1.2), Better::Lower), Verdict::Worse);
        assert_eq!(verdict(&base, &scaled(0.8), Better::Higher), Verdict::Worse);
        assert_eq!(verdict(&base, &scaled(0.8), Better::Neither), Verdict::Different);
        let steady = [100.0, 100.1, 99.9, 100.0, 100.05];
        assert_eq!(verdict(&steady, &steady, Better::Higher), Verdict::Same);
        // Surely different, and by less than anybody cares.
        assert_eq!(verdict(&steady, &steady.map(|v| v * 1.01), Better::Higher), Verdict::Same);
        // Surely different, but perhaps by more than the margin.
        assert_eq!(verdict(&base, &scaled(1.0183), Better::Higher), Verdict::Unclear);
        assert_eq!(
            verdict(&[80.0, 120.0, 100.0, 90.0, 110.0], &[85.0, 125.0, 100.0, 95.0, 115.0], Better::Higher),
            Verdict::Unclear
        );
        assert_eq!(verdict(&[1.0, 1.0, 1.0], &[9.0, 9.0, 9.0], Better::Higher), Verdict::Insufficient);
        assert_eq!(verdict(&[0.0; 5], &[0.0; 5], Better::Lower), Verdict::Same);
    }
}
