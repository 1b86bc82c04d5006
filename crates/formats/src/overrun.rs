//! When an input without times began.
//!
//! A tool writes its last sample when the file is last written, so what only counts its samples *ends* then. How long it
//! lasts is known when all of it was read: it is read twice, at first for its length only.

use super::{AnyFormat, Hints, Input, Out, Tally};

/// Reads an input once for its time range and counts, and drops its rows.
pub fn survey(format: &AnyFormat, input: &mut Input<'_>, hints: &Hints) -> Tally {
    let hints = Hints { overrun_s: None, ..hints.clone() };
    let mut out = Out::new(format.name(), hints, |rows, _| rows.clear());
    format.read(input, &mut out);
    out.finish()
}

/// By how many seconds the rows of `input` would be later than its last writing, did those without times begin then. 0 for an
/// input with times, or when the user gives its begin.
pub fn overrun(format: &AnyFormat, input: &mut Input<'_>, hints: &Hints) -> f64 {
    if hints.modified.is_none() || hints.start.is_some() {
        return 0.0;
    }
    overrun_in(&survey(format, input, hints), hints)
}

/// As [`overrun`], of an input whose whole [`survey`] is known.
pub fn overrun_in(survey: &Tally, hints: &Hints) -> f64 {
    match (survey.last, hints.modified) {
        (Some(last), Some(modified)) if survey.timed_by_writing && hints.start.is_none() => {
            last.seconds_since(modified).max(0.0)
        }
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use fenxi_model::Micros;

    use super::*;
    use crate::{fixtures::read_with, format};

    #[test]
    fn a_file_without_times_ends_when_it_was_last_written() {
        let modified = Micros::parse("2026-01-02T03:04:05");
        let hints = || Hints { modified, ..Hints::none("x") };
        let vmstat = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n";
        let lines = " 1  0      0 100000  10000 500000    0    0     1     2   30   40  1  1 98  0  0\n".repeat(11);
        let read = read_with(format("vmstat").unwrap(), [vmstat, &lines].concat().as_bytes(), hints());
        assert_eq!(read.tally.last, modified);
        assert_eq!(read.tally.first, Micros::parse("2026-01-02T03:03:55"));
        let started = Hints { start: Micros::parse("2026-01-01T00:00:00"), ..hints() };
        let read = read_with(format("vmstat").unwrap(), [vmstat, &lines].concat().as_bytes(), started);
        assert_eq!(read.tally.last, Micros::parse("2026-01-01T00:00:10"));
    }

    #[test]
    fn days_without_a_date_end_when_the_file_was_last_written() {
        let modified = Micros::parse("2026-01-05T03:04:05");
        let hints = Hints { modified, ..Hints::none("x") };
        let text: String = std::iter::once("time,ops\n".to_owned())
            .chain((0..9).map(|i| format!("{:02}:00:00,{i}\n", [20, 2, 8, 14, 20, 2, 8, 20, 2][i])))
            .collect();
        let read = read_with(format("csv").unwrap(), text.as_bytes(), hints);
        assert_eq!(read.tally.last, Micros::parse("2026-01-05T02:00:00"));
        // The first row's interval began six hours before it.
        assert_eq!(read.tally.first, Micros::parse("2026-01-02T14:00:00"));
    }
}
