//! A report as text of 80 columns, and as Markdown.

use std::fmt::Write;

use fenxi_model::Unit;

use super::{Column, DbReport, Line, Section};

/// The width of text.
const WIDTH: usize = 80;
/// Widest key, widest cell.
const KEY: usize = 30;
/// How much of a statement is shown: two lines.
const STATEMENT: usize = 2 * (WIDTH - 4);

/// A table: headings, and lines of as many cells. Those before `keys` are words.
struct Grid {
    keys: usize,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl DbReport {
    /// As text of 80 columns.
    pub fn text(&self) -> String {
        let mut out = String::new();
        self.heading().iter().for_each(|line| wrapped(line, &mut out));
        for section in &self.sections {
            let _ = write!(out, "\n{}\n{}\n", section.title, "=".repeat(section.title.chars().count()));
            section.text(self, &mut out);
            out += &section.below();
        }
        out
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let mut lines = self.heading().into_iter();
        let mut out = format!("# {}\n", lines.next().unwrap_or_default());
        lines.for_each(|line| out += &format!("\n{line}\n"));
        for section in &self.sections {
            let _ = write!(out, "\n## {}\n\n", section.title);
            let grid = section.grid(self, true);
            let row = |cells: &[String]| {
                format!("| {} |\n", cells.iter().map(|c| escaped(c)).collect::<Vec<_>>().join(" | "))
            };
            let rule = |place| if place < grid.keys { "---" } else { "---:" }.to_owned();
            out += &row(&grid.head);
            out += &row(&(0..grid.head.len()).map(rule).collect::<Vec<_>>());
            grid.rows.iter().for_each(|cells| out += &row(cells));
            let below = section.below();
            out += &if below.is_empty() { below } else { format!("\n{below}") };
        }
        out
    }

    /// The first lines: server, periods, remarks.
    pub(super) fn heading(&self) -> Vec<String> {
        let mut lines = vec![format!("Database report: {}", self.server)];
        for period in &self.periods {
            let label = if period.label.is_empty() { String::new() } else { format!("{}: ", period.label) };
            let runs = if period.runs.len() == 1 { String::new() } else { format!(", {} runs", period.runs.len()) };
            let length = Unit::Seconds.human(period.seconds);
            lines.push(format!("{label}{} from {}, {length}{runs}", period.selector, period.start));
        }
        lines.extend(self.remarks.iter().cloned());
        lines
    }

    /// Headings of a column: one for each period.
    pub(super) fn headings(&self, column: &Column) -> Vec<String> {
        if self.periods.len() < 2 || column.is_of_all {
            return vec![column.heading.clone()];
        }
        self.periods.iter().map(|period| format!("{} {}", column.heading, period.label)).collect()
    }
}

impl Section {
    /// What stands below the lines.
    pub(super) fn below(&self) -> String {
        match (self.more, self.question.as_str()) {
            (0, _) => String::new(),
            (more, "") => format!("and {more} more\n"),
            (more, question) => format!("and {more} more: fenxi ask {question}\n"),
        }
    }

    fn grid(&self, report: &DbReport, with_text: bool) -> Grid {
        let mut head = self.keys.clone();
        self.columns.iter().for_each(|column| head.extend(report.headings(column)));
        let only = report.periods.len() > 1 && self.lines.iter().any(|line| line.only_in.is_some());
        head.extend(only.then(|| "only in".to_owned()));
        let has_text = with_text && self.lines.iter().any(|line| line.text.is_some());
        head.extend(has_text.then(|| "statement".to_owned()));
        let row = |line: &Line| {
            let mut cells = line.keys.clone();
            cells.extend(line.cells.iter().flatten().map(|cell| cell.shown.clone()));
            cells.extend(only.then(|| line.only_in.clone().unwrap_or_default()));
            cells.extend(has_text.then(|| line.text.clone().unwrap_or_default()));
            cells
        };
        Grid { keys: self.keys.len(), head, rows: self.lines.iter().map(row).collect() }
    }

    /// Lines in blocks that are as wide as the text: keys stand in each.
    fn text(&self, report: &DbReport, out: &mut String) {
        let grid = self.grid(report, false);
        let widths = grid.widths(report.periods.len().max(1));
        let mut next = grid.keys;
        while next < grid.head.len() {
            let begin = next;
            let mut used: usize = widths[..grid.keys].iter().map(|width| width + 2).sum();
            while next < grid.head.len() && (next == begin || used + widths[next] <= WIDTH) {
                used += widths[next] + 2;
                next += 1;
            }
            let places: Vec<usize> = (0..grid.keys).chain(begin..next).collect();
            if begin > grid.keys {
                out.push('\n');
            }
            out.push_str(&grid.line(&grid.head, &places, &widths));
            let is_last = next >= grid.head.len();
            for (row, line) in grid.rows.iter().zip(&self.lines) {
                out.push_str(&grid.line(row, &places, &widths));
                if let Some(text) = line.text.as_ref().filter(|_| is_last) {
                    statement(text, out);
                }
            }
        }
    }
}

impl Grid {
    /// Widths of all columns. Words of all periods have room beside each other.
    fn widths(&self, periods: usize) -> Vec<usize> {
        let width = |place: usize| {
            let cells = self.rows.iter().map(|row| row[place].chars().count()).max().unwrap_or(0);
            let most = if place < self.keys { KEY } else { (WIDTH - KEY - 2) / periods - 2 };
            cells.min(most).max(self.head[place].chars().count())
        };
        (0..self.head.len()).map(width).collect()
    }

    fn line(&self, cells: &[String], places: &[usize], widths: &[usize]) -> String {
        let mut out = String::new();
        for place in places {
            let (text, width) = (shortened(&cells[*place], widths[*place]), widths[*place]);
            // Numbers stand below each other, words begin together.
            let is_word =
                *place < self.keys || self.rows.iter().any(|row| row[*place].starts_with(char::is_alphabetic));
            let padding = " ".repeat(width - text.chars().count());
            out += &if is_word { text + &padding } else { padding + &text };
            out += "  ";
        }
        out.trim_end().to_owned() + "\n"
    }
}

/// A text whose middle is left out where it is too long: how it begins and ends tells most.
fn shortened(text: &str, width: usize) -> String {
    let n = text.chars().count();
    if n <= width {
        return text.to_owned();
    }
    let (begin, end) = (width.saturating_sub(1).div_ceil(2), width.saturating_sub(1) / 2);
    let mut out: String = text.chars().take(begin).collect();
    out.push('…');
    out.extend(text.chars().skip(n - end));
    out
}

/// A statement below its line.
fn statement(text: &str, out: &mut String) {
    let short: Vec<char> = shortened(text, STATEMENT).chars().collect();
    for part in short.chunks(WIDTH - 4) {
        let _ = writeln!(out, "    {}", part.iter().collect::<String>());
    }
}

/// A sentence, in as many lines as it takes.
fn wrapped(text: &str, out: &mut String) {
    let mut used = 0;
    for word in text.split(' ') {
        let n = word.chars().count();
        if used > 0 && used + 1 + n > WIDTH {
            out.push('\n');
            used = 0;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += n;
    }
    out.push('\n');
}

/// A cell of Markdown.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ").replace('<', "&lt;")
}
