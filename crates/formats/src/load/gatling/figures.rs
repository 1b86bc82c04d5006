//! Figures that Gatling reports of a request: of all, of those that ended well, and of those that did not.

use crate::{
    Out,
    load::names::{self, LATENCY_BUCKETS, Name, Results, percentile_name},
};

/// A figure of all, of those that ended well (OK), and of those that failed (KO).
pub(super) type Parts = [Option<f64>; 3];

/// Kind of a figure.
#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    Count,
    Rate,
    Latency(Name),
    Percentile(f64),
}

/// Writes the figures of one request, the counts first: what nothing was counted of has no latency.
pub(super) struct Figures<'n> {
    operation: &'n str,
    counts: Parts,
}

impl<'n> Figures<'n> {
    /// Figures of the request called `operation`, empty for all.
    pub(super) fn of(operation: &'n str) -> Figures<'n> {
        Figures { operation, counts: [None; 3] }
    }

    pub(super) fn write(&mut self, out: &mut Out<'_>, what: What, parts: Parts) {
        let mut results = Results::default();
        let [all, _, failed] = parts;
        match what {
            What::Count => {
                self.counts = parts;
                results.of(out, names::TRANSACTIONS, self.operation, all);
                results.of(out, names::ERRORS, self.operation, failed);
            }
            What::Rate => {
                results.of(out, names::THROUGHPUT, self.operation, all);
                results.of(out, names::ERRORS_PER_S, self.operation, failed);
            }
            What::Latency(name) => {
                for (suffix, ms) in self.latencies(parts) {
                    results.derived(out, name, suffix, self.operation, ms);
                }
            }
            What::Percentile(percent) => {
                for (suffix, ms) in self.latencies(parts) {
                    let joint = if suffix.is_empty() { "" } else { "_" };
                    let name = format!("latency_{}{joint}{suffix}", percentile_name(percent));
                    results.named(out, &name, self.operation, ms, "ms", "lower");
                }
            }
        }
    }

    /// Latencies and how their names end. Gatling prints 0 where nothing was measured; and where all ended alike, the parts
    /// are the whole.
    fn latencies(&self, parts: Parts) -> impl Iterator<Item = (&'static str, Option<f64>)> {
        let some = |at: usize| self.counts[at].is_none_or(|count| count > 0.0);
        let both = some(1) && some(2);
        let all = parts[0].filter(|_| some(0));
        let part = move |at: usize| parts[at].filter(|_| both);
        [("", all), ("ok", part(1)), ("failed", part(2))].into_iter()
    }

    /// Writes a range of latencies, as `800 ms <= t < 1200 ms`, and how many are in it; false when it is none.
    pub(super) fn range(&self, out: &mut Out<'_>, title: &str, count: Option<f64>) -> bool {
        let Some((lo, hi)) = bounds(title) else { return false };
        let operation = self.operation;
        let labels =
            if operation.is_empty() { "status=ok".to_owned() } else { format!("operation={operation},status=ok") };
        if let Some(count) = count.filter(|count| *count > 0.0) {
            out.bucket(None, None, LATENCY_BUCKETS, &labels.replace(", ", "; "), lo, hi, "ms", count);
        }
        true
    }
}

/// `t < 800 ms`, `800 ms <= t < 1200 ms` and `t >= 1200 ms`; older versions have `>` and the first `<` without `=`.
fn bounds(title: &str) -> Option<(f64, Option<f64>)> {
    let ms = |text: &str| crate::number(text.trim().strip_suffix("ms")?.trim());
    let (left, right) = title.split_once('t')?;
    let left = left.trim_end_matches(['<', '=', ' ', '≤']);
    let lo = if left.is_empty() { None } else { Some(ms(left)?) };
    let right = right.trim();
    match right.strip_prefix(['>', '≥']) {
        Some(rest) if lo.is_none() => Some((ms(rest.trim_start_matches('='))?, None)),
        Some(_) => None,
        None => Some((lo.unwrap_or(0.0), Some(ms(right.strip_prefix('<')?)?))),
    }
}

#[cfg(test)]
mod tests {
    use super::bounds;

    #[test]
    fn ranges_have_bounds() {
        assert_eq!(bounds("t < 800 ms"), Some((0.0, Some(800.0))));
        assert_eq!(bounds("800 ms <= t < 1200 ms"), Some((800.0, Some(1200.0))));
        assert_eq!(bounds("800 ms < t < 1200 ms"), Some((800.0, Some(1200.0))));
        assert_eq!(bounds("t >= 1200 ms"), Some((1200.0, None)));
        assert_eq!((bounds("failed"), bounds("status is 404")), (None, None));
    }
}
