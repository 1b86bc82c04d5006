//! `memstat`: memory use, page cache residency of files, double caching of databases.

mod database;
mod files;
mod parts;
mod summary;
#[cfg(test)]
mod tests;

pub use database::Databases;
pub use files::Files;
pub use summary::{Layout, Summary};

use std::fmt;

use fenxi_model::{
    RowsOf, Unit,
    catalog::{file_cache, mem, page_cache},
};

use crate::{Frame, View};

/// Shows whatever a run has: the summary, else databases, else files.
pub struct Recorded {
    /// The views and which one it is to be, once a frame showed that.
    views: [Box<dyn View>; 3],
    chosen: Option<usize>,
}

impl Recorded {
    /// Shows one of these, by what comes.
    pub fn new(summary: Box<dyn View>, files: Box<dyn View>, databases: Box<dyn View>) -> Recorded {
        Recorded { views: [summary, files, databases], chosen: None }
    }
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorded").field("chosen", &self.chosen).finish_non_exhaustive()
    }
}

impl View for Recorded {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut String) {
        let chosen = *self.chosen.get_or_insert_with(|| {
            let is_server = |rows: RowsOf<'_, page_cache::Schema>| {
                (0..rows.n_rows()).any(|row| matches!(rows.str(row, page_cache::kind), Some("postgres" | "mariadb")))
            };
            match (frame.rows.of(&mem::TABLE), frame.rows.of(&page_cache::TABLE), frame.rows.of(&file_cache::TABLE)) {
                (Some(_), _, _) => 0,
                (None, Some(cache), _) if is_server(cache) => 2,
                (None, _, Some(_)) => 1,
                (None, _, None) => 0,
            }
        });
        self.views[chosen].frame(frame, out);
    }

    fn end(&mut self, out: &mut String) {
        match self.chosen {
            Some(chosen) => self.views[chosen].end(out),
            None => out.push_str("this run has no memory data\n"),
        }
    }
}

/// Bytes for a person, or a dash.
fn human(bytes: Option<f64>) -> String {
    bytes.map_or_else(|| "-".to_owned(), |bytes| Unit::Bytes.human(bytes).to_string())
}

/// A share in percent, or a dash; never more than the whole, as the last page is counted whole.
fn share(part: Option<f64>, whole: Option<f64>) -> String {
    match (part, whole) {
        (Some(part), Some(whole)) if whole > 0.0 => format!("{:.1}", (part / whole * 100.0).min(100.0)),
        _ => "-".to_owned(),
    }
}

/// Megabytes of 2^20, as `::memstat` has them.
const MB: f64 = (1 << 20) as f64;

/// Megabytes in words: whole ones, with a digit after the point where there are few.
fn mb(bytes: f64) -> String {
    let mb = bytes / MB;
    if mb > 0.0 && mb < 10.0 { format!("{mb:.1} MB") } else { format!("{mb:.0} MB") }
}

/// Terminals narrower than this get fewer columns.
const WIDE: usize = 74;

/// Whether what is shown must do with fewer columns.
fn is_narrow(width: Option<usize>) -> bool {
    width.is_some_and(|width| width < WIDE)
}

/// Adds `text` in lines of at most `width` characters where words allow, the second and later ones
/// indented by `indent`; whole where there is no terminal, so that it can be searched.
fn wrap(text: &str, indent: usize, width: Option<usize>, out: &mut String) {
    let words = text.trim_start_matches(' ');
    let mut length = text.len() - words.len();
    out.extend(std::iter::repeat_n(' ', length));
    for (i, word) in words.split(' ').enumerate() {
        let n = word.chars().count();
        if i > 0 && width.is_some_and(|width| length + 1 + n > width) {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            length = indent;
        } else if i > 0 {
            out.push(' ');
            length += 1;
        }
        out.push_str(word);
        length += n;
    }
    out.push('\n');
}
