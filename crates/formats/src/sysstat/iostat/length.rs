//! How long iostat's reports are, where only its basic columns show it.

use crate::{Splitter, banner, number};

/// A first report that is this many times as long as the others is the one since boot.
const MUCH_LONGER: f64 = 3.0;
/// The shortest uptime that a separate first report is taken for, in seconds.
const SHORTEST_UPTIME: f64 = 60.0;

/// Properties of the reports by the begin of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Lengths {
    /// Length of all but the first report in seconds, when it is known.
    pub(super) usual: Option<f64>,
    /// Whether the first report is a sample as the others are (`-y`), rather than the average since boot; None where its length
    /// is unknown.
    pub(super) first_is_sample: Option<bool>,
}

/// Derives lengths from what was moved over what was moved per second, which basic reports both have.
pub(super) fn lengths(head: &str) -> Lengths {
    let mut splitter = Splitter::default();
    let mut places = None;
    let mut reports: Vec<(f64, f64)> = Vec::new();
    for line in head.lines() {
        if banner(line).is_some() && !reports.is_empty() {
            break;
        }
        let fields = splitter.blanks(line);
        if fields.iter().any(|name| matches!(name, "Device" | "Device:")) {
            places = fields
                .iter()
                .position(|n| n.ends_with("_read/s"))
                .zip(fields.iter().position(|n| n.ends_with("_read")));
            reports.push((0.0, 0.0));
        } else if let Some((rate, sum)) = places.filter(|_| fields.len() > 4)
            && let Some(report) = reports.last_mut()
        {
            // The device that moved most gives the length most exactly, for reads and for writes.
            for offset in 0..2 {
                let values = number(fields.get(rate + offset)).zip(number(fields.get(sum + offset)));
                if let Some((rate, sum)) = values.filter(|(rate, sum)| *rate > 0.0 && *sum > report.0) {
                    *report = (sum, sum / rate);
                }
            }
        }
    }
    let exact = |report: &(f64, f64)| Some(report.1).filter(|_| report.0 >= 50.0);
    let mut others: Vec<f64> = reports.iter().skip(1).filter_map(exact).collect();
    others.sort_by(f64::total_cmp);
    let usual = others.get(others.len() / 2).map(|length| length.round().max(1.0));
    let first_is_sample = reports.first().and_then(exact).and_then(|first| match usual {
        Some(usual) => Some(first < usual * MUCH_LONGER),
        None => (first < SHORTEST_UPTIME).then_some(true),
    });
    Lengths { usual, first_is_sample }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_reports_tell_how_long_they_are() {
        let head = "Device:  tps  kB_read/s  kB_wrtn/s  kB_read  kB_wrtn";
        let report =
            |rate: f64, seconds: f64| format!("{head}\nsda 1.00 0.00 {rate:.2} 0 {}\n", (rate * seconds).round());
        let text = |lengths: &[f64]| lengths.iter().map(|s| report(123.4, *s)).collect::<String>();
        let told = |l: &[f64]| lengths(&text(l));
        assert_eq!(told(&[86_400.0, 5.0, 5.01, 4.99]), Lengths { usual: Some(5.0), first_is_sample: Some(false) });
        assert_eq!(told(&[5.0, 5.01, 5.0]), Lengths { usual: Some(5.0), first_is_sample: Some(true) });
        assert_eq!(told(&[4000.0]), Lengths::default());
        assert_eq!(lengths("Device r/s w/s rkB/s\nsda 1 2 3\n"), Lengths::default());
    }
}
