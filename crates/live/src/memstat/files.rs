//! Page cache residency of files.

use std::fmt::Write;

use fenxi_model::{RowsOf, catalog::file_cache, visible};

use super::{human, is_narrow, parts::sum, share};
use crate::{Frame, View};

/// Shows `file_cache`, most cached first.
#[derive(Debug)]
pub struct Files {
    top: usize,
    width: Option<usize>,
    begun: bool,
}

impl Files {
    /// Shows the first `top` files and the sum of all, on a terminal of `width` columns if it is one.
    pub fn new(top: usize, width: Option<usize>) -> Files {
        Files { top, width, begun: false }
    }
}

impl View for Files {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut String) {
        if self.begun {
            let _ = writeln!(out, "\n{}", frame.t.iso());
        }
        self.begun = true;
        match frame.rows.of(&file_cache::TABLE) {
            Some(rows) => Table { rows, top: self.top, width: self.width }.show((0..rows.n_rows()).collect(), out),
            None => out.push_str("no files\n"),
        }
    }
}

/// Files as lines.
pub struct Table<'a> {
    pub rows: RowsOf<'a, file_cache::Schema>,
    pub top: usize,
    pub width: Option<usize>,
}

/// Characters before a file's name in a narrow table.
const BEFORE_NAME: usize = 28;

impl Table<'_> {
    /// The files `chosen`, of which the first ones are shown, and their sum.
    pub fn show(&self, mut chosen: Vec<usize>, out: &mut String) {
        let cached = |row: usize| self.rows.f64(row, file_cache::cached_bytes);
        // Unknown comes last; of equals the larger first, then by name.
        chosen.sort_by(|a, b| {
            let size = |row: usize| self.rows.f64(row, file_cache::size_bytes).unwrap_or(-1.0);
            let key = |row: usize| (cached(row).unwrap_or(-1.0), size(row));
            let ((a_cached, a_size), (b_cached, b_size)) = (key(*a), key(*b));
            b_cached.total_cmp(&a_cached).then(b_size.total_cmp(&a_size)).then_with(|| self.path(*a).cmp(self.path(*b)))
        });
        self.cells(["size", "cached", "%", "dirty", "opened"], "file", out);
        for row in chosen.iter().take(self.top) {
            self.file(*row, out);
        }
        let all = |place| sum(&chosen.iter().map(|row| self.rows.f64(*row, place)).collect::<Vec<_>>());
        let n = chosen.len();
        let narrow = is_narrow(self.width);
        let (of, s) = (if narrow { "" } else { "total of " }, if n == 1 { "" } else { "s" });
        let mut name = format!("{of}{n} file{s}");
        if n > self.top && !narrow {
            let _ = write!(name, ", {} not shown", n - self.top);
        }
        let unknown = chosen.iter().filter(|row| cached(**row).is_none()).count();
        if unknown > 0 && !narrow {
            let _ = write!(name, ", {unknown} not known");
        }
        let sums = [all(file_cache::size_bytes), all(file_cache::cached_bytes), all(file_cache::dirty_bytes)];
        self.line(sums, "", &name, out);
        if unknown > 0 && narrow {
            let _ = writeln!(out, "{unknown} not known");
        }
    }

    fn file(&self, row: usize, out: &mut String) {
        let get = |place| self.rows.f64(row, place);
        let opened = opened(get(file_cache::direct_opens), get(file_cache::buffered_opens));
        let bytes = [get(file_cache::size_bytes), get(file_cache::cached_bytes), get(file_cache::dirty_bytes)];
        if let Some(width) = self.width.filter(|_| is_narrow(self.width)) {
            self.line(bytes, opened, &end_of(self.path(row), width.saturating_sub(BEFORE_NAME)), out);
            return;
        }
        match self.rows.str(row, file_cache::opened_by) {
            Some(by) => self.line(bytes, opened, &format!("{}  ({by})", self.path(row)), out),
            None => self.line(bytes, opened, self.path(row), out),
        }
    }

    /// Path of a row's file.
    fn path(&self, row: usize) -> &str {
        self.rows.str(row, file_cache::path).unwrap_or("-")
    }

    fn line(&self, [size, cached, dirty]: [Option<f64>; 3], opened: &str, name: &str, out: &mut String) {
        let share = share(cached, size);
        self.cells([&human(size), &human(cached), &share, &human(dirty), opened], name, out);
    }

    fn cells(&self, [size, cached, share, dirty, opened]: [&str; 5], name: &str, out: &mut String) {
        // Names may hold what would move a terminal's cursor.
        let name = visible(name);
        let _ = if is_narrow(self.width) {
            writeln!(out, "{cached:>9} {share:>6}  {opened:<8}  {name}")
        } else {
            writeln!(out, "{size:>9} {cached:>9} {share:>6} {dirty:>9}  {opened:<8}  {name}")
        };
    }
}

/// The end of a path in at most `width` characters: it is more useful than the beginning.
fn end_of(path: &str, width: usize) -> String {
    let n = path.chars().count();
    if n <= width {
        return path.to_owned();
    }
    std::iter::once('…').chain(path.chars().skip(n + 1 - width.max(1))).collect()
}

fn opened(direct: Option<f64>, buffered: Option<f64>) -> &'static str {
    match (direct.unwrap_or(0.0) > 0.0, buffered.unwrap_or(0.0) > 0.0) {
        (true, true) => "both",
        (true, false) => "direct",
        (false, true) => "buffered",
        (false, false) => "-",
    }
}
