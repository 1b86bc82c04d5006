//! All results over runs in one table: a sparkline, the latest value, and the last change point of each.

use fenxi_compare::{Series, Trends};
use fenxi_model::Unit;

use super::{TrendArgs, share};
use crate::{print, progress::plural};

const HEADER: [&str; 7] = ["result", "points", "trend", "latest", "last change", "since", ""];
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The table, and what is not in it.
pub fn of(all: &Trends, args: &TrendArgs) -> String {
    let rows: Vec<Vec<String>> = all.series.iter().map(row).collect();
    let mut out = String::new();
    if !rows.is_empty() {
        out = print::table(&HEADER, 1..2, &[2, 5], &rows, args.form.is_markdown());
    }
    let least = all.least;
    let too_few = all.series.iter().filter(|series| series.points < least).count();
    let mut notes = Vec::new();
    if too_few > 0 {
        notes.push(format!(
            "{} with fewer than {least} points: no change point is looked for",
            plural(too_few as u64, "result")
        ));
    }
    if all.constant > 0 {
        let left_out = plural(all.constant as u64, "result");
        notes.push(format!("{left_out} not listed: they never varied, or have one value"));
    }
    for note in notes {
        let line = if out.is_empty() { "" } else { "\n" };
        out.push_str(&format!("{line}{note}\n"));
    }
    out
}

fn row(series: &Series) -> Vec<String> {
    let unit = Unit::from_symbol(&series.unit);
    let of = series.program.as_ref().map_or_else(String::new, |program| format!(" of {program}"));
    let last = series.change.as_ref();
    vec![
        format!("{}{of}", series.metric),
        series.points.to_string(),
        sparkline(&series.latest),
        series.latest.last().map_or_else(String::new, |value| unit.human(*value).to_string()),
        last.map_or_else(String::new, |change| share(change.level.before, change.level.after)),
        last.map_or_else(String::new, |change| change.first.name.clone()),
        last.map_or_else(String::new, |change| change.level.verdict.words().to_owned()),
    ]
}

/// Values between their minimum and maximum.
fn sparkline(values: &[f64]) -> String {
    let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(*v), high.max(*v)));
    let height = |value: f64| {
        let share = if high > low { (value - low) / (high - low) } else { 0.0 };
        (share * (BARS.len() - 1) as f64).round() as usize
    };
    values.iter().map(|value| BARS[height(*value).min(BARS.len() - 1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::sparkline;

    #[test]
    fn a_sparkline_has_values_between_their_ends() {
        assert_eq!(sparkline(&[1.0, 2.0, 8.0]), "▁▂█");
        assert_eq!(sparkline(&[5.0, 5.0]), "▁▁");
    }
}
