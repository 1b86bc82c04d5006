//! When a report was made that has how long it observed, if at all, but not when.

use fenxi_model::Micros;

use crate::Out;

/// Gives the reports of one input their times: each ends when the next begins.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reports {
    last: Option<Micros>,
}

impl Reports {
    /// The end of the last report.
    pub(super) fn last(&self) -> Option<Micros> {
        self.last
    }

    /// The report has its own end.
    pub(super) fn ended(&mut self, t: Micros) -> Option<Micros> {
        self.last = Some(t);
        self.last
    }

    /// The end of the next report, which observed for `seconds`.
    ///
    /// Counted from `--start`; else the last report is taken to end with the file's last writing.
    /// None when there is neither. Reports that follow without saying how long they observed are
    /// taken to be `--interval` apart, else a second, as they must differ in time.
    pub(super) fn next(&mut self, out: &mut Out<'_>, seconds: Option<f64>) -> Option<Micros> {
        let end = match (self.last, out.hints().start, out.counted_from()) {
            (Some(last), ..) => Some(later(last, seconds.or_else(|| Some(apart(out))))),
            (None, Some(start), _) => Some(later(start, seconds)),
            (None, None, modified) => {
                if modified.is_some() {
                    out.assume(
                        "the file's last writing as the time of its last report, as it has no times (or give --start)",
                    );
                }
                modified
            }
        };
        self.last = end;
        end
    }
}

fn apart(out: &mut Out<'_>) -> f64 {
    out.hints().interval_s.unwrap_or_else(|| {
        out.assume("one second between reports, as they do not say (or give --interval)");
        1.0
    })
}

fn later(t: Micros, seconds: Option<f64>) -> Micros {
    Micros(t.0.saturating_add((seconds.unwrap_or(0.0) * 1e6).round() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hints;

    #[test]
    fn reports_follow_each_other_from_the_start_or_the_files_last_writing() {
        let second = |s: i64| Some(Micros(s * 1_000_000));
        for (hints, first) in [
            (Hints { start: second(100), ..Hints::none("x") }, second(105)),
            (Hints { modified: second(200), ..Hints::none("x") }, second(200)),
            (Hints::none("x"), None),
        ] {
            let mut out = Out::new("test", hints, |_, _| {});
            let mut reports = Reports::default();
            assert_eq!(reports.next(&mut out, Some(5.0)), first);
            assert_eq!(reports.next(&mut out, Some(2.0)), first.map(|t| Micros(t.0 + 2_000_000)));
        }
    }
}
