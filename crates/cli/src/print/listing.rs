//! Tables that fit a terminal: the widest texts are cut, prose is broken into lines, and what still has no room is left out
//! and named. Where there is no terminal nothing is changed.

use super::{columns, cut, wrapped};

/// Blanks between two columns.
const GAP: usize = 2;
/// Texts are not cut below this width.
const NARROWEST: usize = 12;
/// Names up to this length are never cut: they are what is typed next.
const NAME: usize = 30;

/// A table that was laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its lines.
    pub text: String,
    /// Titles of columns that had no room.
    pub left_out: Vec<String>,
}

impl Listed {
    /// The lines, and below them what was left out.
    pub fn with_note(self) -> String {
        match left_out(&self.left_out) {
            Some(note) => self.text + &note + "\n",
            None => self.text,
        }
    }
}

/// Prints what was left out of tables for lack of room.
pub fn left_out(columns: &[String]) -> Option<String> {
    (!columns.is_empty()).then(|| format!("(no room for: {})", columns.join(", ")))
}

/// A table whose columns `right` hold numbers, in at most `width` characters; `spare` are those to leave out first, in that order.
pub fn fitted(header: &[&str], right: &[usize], spare: &[usize], rows: &[Vec<String>], width: Option<usize>) -> Listed {
    let sizes: Vec<Size> = (0..header.len()).map(|i| Size::of(header[i], i, right.contains(&i), rows)).collect();
    let mut shown: Vec<usize> = (0..header.len()).collect();
    let Some(width) = width.filter(|width| total(shown.iter().map(|i| sizes[*i].whole)) > *width) else {
        return Listed { text: columns(header, right, rows), left_out: Vec::new() };
    };
    // The first column names the rows; the others go from the last one on.
    let others = (1..header.len()).rev().filter(|i| !spare.contains(i));
    let mut gone = Vec::new();
    for next in spare.iter().copied().chain(others) {
        if shown.len() == 1 || total(shown.iter().map(|i| sizes[*i].least)) <= width {
            break;
        }
        shown.retain(|i| *i != next);
        gone.push(next);
    }
    gone.sort_unstable();
    let widths = narrowed(&shown, &sizes, width);
    let titles: Vec<&str> = shown.iter().map(|i| header[*i]).collect();
    let numbers: Vec<usize> = (0..shown.len()).filter(|place| right.contains(&shown[*place])).collect();
    let rows: Vec<Vec<String>> = rows.iter().flat_map(|row| lines_of(row, &shown, &widths)).collect();
    let titled = |i: &usize| if header[*i].is_empty() { "bar".to_owned() } else { header[*i].to_owned() };
    Listed { text: columns(&titles, &numbers, &rows), left_out: gone.iter().map(titled).collect() }
}

/// How wide a column is, and how narrow it can be.
struct Size {
    whole: usize,
    least: usize,
}

impl Size {
    fn of(title: &str, place: usize, is_number: bool, rows: &[Vec<String>]) -> Size {
        let length = |text: &str| text.chars().count();
        let title = length(title);
        let cells = rows.iter().filter_map(|row| row.get(place)).map(|cell| length(cell));
        let whole = cells.max().unwrap_or(0).max(title);
        let is_name = place == 0 && whole <= NAME;
        // Times are as useless without their end as numbers are.
        let has_letters = |row: &Vec<String>| row.get(place).is_some_and(|cell| cell.contains(char::is_alphabetic));
        let is_number = is_number || !rows.iter().any(has_letters);
        let least = if is_number || is_name { whole } else { whole.min(title.max(NARROWEST)) };
        Size { whole, least }
    }
}

fn total(widths: impl ExactSizeIterator<Item = usize>) -> usize {
    let gaps = GAP * widths.len().saturating_sub(1);
    widths.sum::<usize>() + gaps
}

/// Takes from the widest of what can be narrower, until all of it fits.
fn narrowed(shown: &[usize], sizes: &[Size], width: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = shown.iter().map(|i| sizes[*i].whole).collect();
    while total(widths.iter().copied()) > width {
        let can = (0..shown.len()).filter(|place| widths[*place] > sizes[shown[*place]].least);
        let Some(widest) = can.max_by_key(|place| widths[*place]) else { break };
        widths[widest] -= 1;
    }
    widths
}

/// A row as lines: prose of the last column goes on below, other texts are cut.
fn lines_of(row: &[String], shown: &[usize], widths: &[usize]) -> Vec<Vec<String>> {
    let empty = String::new();
    let cell = |place: usize| row.get(shown[place]).unwrap_or(&empty);
    let last = shown.len() - 1;
    let mut first: Vec<String> = (0..last).map(|place| cut(cell(place), widths[place]).into_owned()).collect();
    let mut prose = wrapped(cell(last), widths[last]).into_iter().map(|line| cut(&line, widths[last]).into_owned());
    first.push(prose.next().unwrap_or_default());
    let further = prose.map(|line| {
        let mut row = vec![String::new(); last];
        row.push(line);
        row
    });
    std::iter::once(first).chain(further).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(of: &[&[&str]]) -> Vec<Vec<String>> {
        of.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect()
    }

    fn widest(text: &str) -> usize {
        text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
    }

    #[test]
    fn without_a_terminal_or_with_room_nothing_changes() {
        let rows = rows(&[&["name", "12", &"x".repeat(50)]]);
        let plain = columns(&["n", "v", "text"], &[1], &rows);
        for width in [None, Some(60), Some(200)] {
            let got = fitted(&["n", "v", "text"], &[1], &[], &rows, width);
            assert_eq!((got.text, got.left_out), (plain.clone(), Vec::new()), "{width:?}");
        }
    }

    #[test]
    fn prose_goes_on_below_and_other_texts_are_cut() {
        let rows = rows(&[&["cpu", &"k".repeat(40), "one row for each CPU and interval of the recording"]]);
        let got = fitted(&["table", "keys", "a row is"], &[], &[], &rows, Some(48));
        assert_eq!(got.left_out, Vec::<String>::new());
        assert!(widest(&got.text) <= 48 && got.text.contains('…'), "{}", got.text);
        assert!(got.text.lines().count() > 2 && got.text.contains("recording"), "{}", got.text);
    }

    #[test]
    fn numbers_are_whole_or_left_out_and_named() {
        let rows = rows(&[&["elapsed", "222 ms", "-68.4 %", "-82.0 % … -43.5 %", "better"]]);
        let header = ["", "A", "change", "interval", "verdict"];
        let got = fitted(&header, &[1, 2, 3], &[3], &rows, Some(40));
        assert_eq!(got.text, "              A   change  verdict\nelapsed  222 ms  -68.4 %  better\n");
        assert_eq!(got.left_out, ["interval"]);
        // Without a column to spare it is the last one that goes.
        let got = fitted(&header, &[1, 2, 3], &[], &rows, Some(40));
        assert_eq!(got.left_out, ["interval", "verdict"]);
        assert!(got.with_note().ends_with("(no room for: interval, verdict)\n"));
    }

    #[test]
    fn a_time_is_not_cut() {
        let rows = rows(&[&["a", "2026-11-28 07:45:49", &"c".repeat(60)]]);
        let got = fitted(&["run", "start", "command"], &[], &[], &rows, Some(40));
        assert!(got.text.contains("2026-11-28 07:45:49") && widest(&got.text) <= 40, "{}", got.text);
    }

    #[test]
    fn the_name_of_a_row_stays_whole() {
        let rows = rows(&[&["20261128T074453-sh-e738", &"c".repeat(60), "t"]]);
        let got = fitted(&["run", "command", "tags"], &[], &[], &rows, Some(50));
        assert!(got.text.contains("20261128T074453-sh-e738  ccc") && widest(&got.text) <= 50, "{}", got.text);
    }
}
