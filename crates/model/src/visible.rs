//! Text of others as it may be shown: names of runs and processes, remarks, errors of servers. The author of such a
//! name must not move a terminal's cursor with it, colour what follows, or turn the direction of a line.
//!
//! Such a character is shown as `?`, one for one, as `ps` does it: widths stay as they were measured, and
//! every terminal can show it.

use std::borrow::Cow;

use crate::Rows;

/// The replacement of a character that must not reach a terminal.
pub const HIDDEN: char = '?';

/// Returns true if a terminal would obey `c` rather than show it: controls (C0, DEL, C1), marks, overrides and isolates of
/// the direction of text, separators of lines and paragraphs.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
            | '\u{fff9}'..='\u{fffb}')
}

/// `text` on one line: every hidden character as `?`, newlines and tabs among them.
pub fn visible(text: &str) -> Cow<'_, str> {
    shown(text, is_hidden)
}

/// `text` with its newlines and tabs, and every other hidden character as `?`.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    shown(text, |c| is_hidden(c) && !matches!(c, '\n' | '\t'))
}

fn shown(text: &str, hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.chars().any(&hidden) {
        text.chars().map(|c| if hidden(c) { HIDDEN } else { c }).collect::<String>().into()
    } else {
        text.into()
    }
}

impl Rows {
    /// The rows for a view that lays out text; None where all of their labels and texts are visible as they are.
    pub fn made_visible(&self) -> Option<Rows> {
        self.any_text(|text| text.contains(is_hidden)).then(|| self.map_text(visible))
    }
}

#[cfg(test)]
mod tests {
    use super::{is_hidden, visible, visible_lines};
    use crate::{Micros, Rows, catalog::process};

    #[test]
    fn every_control_becomes_a_question_mark_and_nothing_else_changes() {
        let hostile: String = (0..=0x10_ffff).filter_map(char::from_u32).filter(|c| is_hidden(*c)).collect();
        assert_eq!(hostile.chars().filter(|c| c.is_control()).count(), 65);
        let shown = visible(&hostile);
        assert_eq!(shown.chars().count(), hostile.chars().count());
        assert!(shown.chars().all(|c| c == '?'), "{shown:?}");
        let fine = "böse Übel …│█ 日本 é👩‍👩‍👧";
        assert_eq!(visible(fine), fine);
        assert_eq!(visible("a\u{1b}[31m\n\t\u{202e}b"), "a?[31m???b");
        assert_eq!(visible_lines("a\u{9b}\r\n\tb"), "a??\n\tb");
    }

    #[test]
    fn rows_are_made_visible_and_keep_all_else() {
        let mut rows = Rows::new("h\u{7f}");
        rows.row(&process::TABLE, Micros(1), 1.0).str(process::comm, "a\nb").i64(process::pid, 7);
        rows.row(&process::TABLE, Micros(1), 1.0).str(process::comm, "c");
        rows.row(&process::TABLE, Micros(1), 1.0).str(process::command, "\u{1b}[2J").f64(process::usr, 2.5);
        let shown = rows.made_visible().expect("something is hidden");
        let table = shown.of(&process::TABLE).expect("has rows");
        let text = |row, place| table.str(row, place);
        assert_eq!([text(0, process::comm), text(1, process::comm)], [Some("a?b"), Some("c")]);
        assert_eq!([text(2, process::comm), text(2, process::command)], [None, Some("?[2J")]);
        assert_eq!((table.i64(0, process::pid), table.f64(2, process::usr), table.n_rows()), (Some(7), Some(2.5), 3));
        assert_eq!((table.micros(1, process::t), text(1, process::host)), (Some(Micros(1)), Some("h?")));
        let mut plain = Rows::new("h");
        plain.row(&process::TABLE, Micros(1), 1.0).str(process::comm, "c");
        assert!(plain.made_visible().is_none());
    }
}
