//! The parts of a time as tables: what `fenxi explain` and `fenxi compare` show alike.

use fenxi_compare::{Part, Split};

/// A table of text; its first column are names, the last one words.
pub struct Table {
    /// Titles of the columns.
    pub header: Vec<&'static str>,
    /// Their cells.
    pub rows: Vec<Vec<String>>,
}

const NONE: &str = "-";

/// Columns of [`of_two`] to leave out first where the terminal is narrow: how it was measured, the interval.
pub const SPARE_OF_TWO: &[usize] = &[6, 4];
/// The same of [`of_one`].
pub const SPARE_OF_ONE: &[usize] = &[4, 2];

/// The quantity that was split, as a title.
pub fn title(split: &Split) -> String {
    let whole = match split.what {
        "latency" => "latency of a transaction",
        "elapsed" => "elapsed time",
        what => what,
    };
    format!("Where the {whole} went")
}

/// Two groups and the change between them.
pub fn of_two(split: &Split) -> Table {
    let whole = split.whole.change.as_ref().map_or(0.0, |change| change.value);
    let row = |part: &Part| {
        let change = part.change.as_ref();
        let share = change.filter(|_| whole != 0.0).map(|c| percent(c.value / whole));
        let interval = change.and_then(|c| c.interval).map(|[low, high]| range(split, [low, high], true));
        vec![
            part.name.to_owned(),
            mean(split, part, 0),
            mean(split, part, 1),
            change.map_or(NONE.to_owned(), |c| signed(split, c.value)),
            interval.unwrap_or_else(|| NONE.to_owned()),
            share.unwrap_or_else(|| NONE.to_owned()),
            measured(part),
        ]
    };
    let header = vec!["", "A", "B", "change", "95 % interval", "of the change", "measured"];
    Table { header, rows: split.parts.iter().chain([&split.whole]).map(row).collect() }
}

/// One group.
pub fn of_one(split: &Split) -> Table {
    let row = |part: &Part| {
        let interval = part.intervals[0].map(|interval| range(split, interval, false));
        vec![
            part.name.to_owned(),
            mean(split, part, 0),
            interval.unwrap_or_else(|| NONE.to_owned()),
            part.shares[0].map_or(NONE.to_owned(), percent),
            measured(part),
        ]
    };
    let header = vec!["", "mean", "95 % interval", "share", "measured"];
    Table { header, rows: split.parts.iter().chain([&split.whole]).map(row).collect() }
}

fn mean(split: &Split, part: &Part, group: usize) -> String {
    part.means[group].map_or(NONE.to_owned(), |mean| human(split, mean))
}

fn human(split: &Split, value: f64) -> String {
    split.measure().human(value).to_string()
}

fn signed(split: &Split, value: f64) -> String {
    format!("{}{}", if value > 0.0 { "+" } else { "" }, human(split, value))
}

fn range(split: &Split, [low, high]: [f64; 2], is_change: bool) -> String {
    let show = |value| if is_change { signed(split, value) } else { human(split, value) };
    format!("{} … {}", show(low), show(high))
}

/// A share as the columns of changes beside it are written.
fn percent(share: f64) -> String {
    fenxi_compare::percent(share).replace('%', " %")
}

/// How a part was measured; both ways where groups differ.
fn measured(part: &Part) -> String {
    let mut how: Vec<&str> = part.measured.iter().flatten().map(String::as_str).collect();
    how.dedup();
    how.join(" | ")
}
