//! One section of a `.xan` file: its columns, and where the cells of a row go.

use std::ops::Range;

use fenxi_model::Micros;

use super::{
    detail::{Detail, Kind},
    question,
};
use crate::{
    Out,
    generic::{
        labels::{Labels, unit_of},
        steps::Steps,
        when::{Times, When},
    },
    grouped, number,
};

/// Rows at the begin of a section that wait until the length of its intervals is known.
const MAX_HELD: usize = 1000;

/// A chart that a section asks for: `Plot:<title>:<type>:<dimensions>:<SQL>`.
#[derive(Clone, Debug, Default)]
pub(super) struct Plot {
    pub(super) title: String,
    pub(super) kind: String,
    pub(super) dims: u32,
    pub(super) sql: String,
}

/// Role of the first column.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum First {
    /// Not known before the first row.
    #[default]
    Unknown,
    /// The rows' time.
    Time(When),
    /// A label of the row.
    Label,
}

#[derive(Debug, Default)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) display: Option<String>,
    pub(super) plots: Vec<Plot>,
    pub(super) headers: Vec<String>,
    pub(super) first: First,
    /// Columns that had words in any row: they are labels.
    pub(super) words: Vec<bool>,
    pub(super) kind: Kind,
    rows: u64,
}

impl Section {
    pub(super) fn new(name: &str) -> Section {
        Section { name: name.to_owned(), ..Section::default() }
    }

    /// Reads a line between the section's name and its header; false when it is none of these.
    pub(super) fn describe(&mut self, text: &str) -> bool {
        if let Some(display) = text.strip_prefix("Display:") {
            self.display = Some(display.trim().to_owned());
            return true;
        }
        let Some(plot) = text.strip_prefix("Plot:") else { return false };
        let mut parts = plot.splitn(4, ':').map(str::trim);
        let mut next = || parts.next().unwrap_or("").to_owned();
        let (title, kind, dims, sql) = (next(), next(), next(), next());
        self.plots.push(Plot { title, kind, dims: dims.parse().unwrap_or(0), sql });
        true
    }

    /// Whether a line that begins with `-` is a row: a negative or missing first value.
    pub(super) fn is_row(&self, text: &str) -> bool {
        if self.headers.is_empty() || text.bytes().all(|b| matches!(b, b'-' | b' ' | b'\t')) {
            return false;
        }
        let mut ranges = Vec::new();
        split(text, &mut ranges);
        let negative = ranges.first().and_then(|r| text.get(r.clone())).and_then(value).is_some();
        negative || ranges.len() == self.headers.len()
    }
}

/// Cuts a line at tabs and at two blanks or more.
pub(super) fn split(line: &str, into: &mut Vec<Range<usize>>) {
    into.clear();
    let bytes = line.as_bytes();
    let (mut begin, mut at) = (0, 0);
    while at < bytes.len() {
        let blanks = bytes[at..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        if blanks == 1 && bytes[at] == b' ' || blanks == 0 {
            at += 1;
            continue;
        }
        if at > begin {
            into.push(begin..at);
        }
        at += blanks;
        begin = at;
    }
    if begin < bytes.len() {
        into.push(begin..bytes.len());
    }
}

/// Whether a cell marks a missing value.
fn missing(cell: &str) -> bool {
    matches!(cell, "" | "-" | "--" | "NULL" | "null" | "N/A" | "NaN")
}

/// A cell's number: `12`, `1,234,567`, `41%`.
pub(super) fn value(cell: &str) -> Option<f64> {
    let cell = cell.strip_suffix('%').unwrap_or(cell);
    number(cell).or_else(|| if cell.starts_with(|c: char| c.is_ascii_digit()) { grouped(cell) } else { None })
}

/// Reads section after section.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) title: String,
    pub(super) section: Section,
    pub(super) detail: Detail,
    times: Times,
    steps: Steps,
    labels: Labels,
    held: Vec<(Micros, String)>,
    ranges: Vec<Range<usize>>,
}

impl Reader {
    pub(super) fn new(out: &Out<'_>) -> Reader {
        Reader {
            title: String::new(),
            section: Section::default(),
            detail: Detail::default(),
            times: Times::new(out),
            steps: Steps::new(out.hints().interval_s),
            labels: Labels::default(),
            held: Vec::new(),
            ranges: Vec::new(),
        }
    }

    pub(super) fn begin_section(&mut self, mut section: Section, out: &mut Out<'_>) {
        section.kind = self.detail.kind(&section.name, out);
        self.times.restart(out);
        self.steps = Steps::new(out.hints().interval_s);
        self.labels = Labels::of("section", &section.name);
        self.section = section;
    }

    /// Gives what still waits, and keeps the section's charts as questions.
    pub(super) fn end_section(&mut self, out: &mut Out<'_>) {
        self.release(out);
        self.detail.end_section(out);
        if self.section.rows > 0 {
            question::keep(&self.title, &self.section, out);
        }
        self.section = Section::default();
    }

    pub(super) fn header(&mut self, text: &str) {
        split(text, &mut self.ranges);
        self.section.headers = self.ranges.iter().map(|r| text[r.clone()].to_owned()).collect();
        self.section.words = vec![false; self.section.headers.len()];
    }

    pub(super) fn row(&mut self, line: u64, text: &str, out: &mut Out<'_>) {
        let mut ranges = std::mem::take(&mut self.ranges);
        split(text, &mut ranges);
        if !self.fit(text, &mut ranges) {
            let why = format!("{} cells under {} columns", ranges.len(), self.section.headers.len());
            out.unknown(line, text, &why);
        } else {
            let cells = Cells { text, ranges: &ranges };
            self.section.rows += 1;
            if self.section.first == First::Unknown && !missing(cells.get(0)) {
                let when = When::detect(&self.section.headers[0], cells.get(0));
                let when = when.filter(|_| self.section.headers.len() > 1 && self.section.kind.may_be_timed());
                self.section.first = when.map_or(First::Label, First::Time);
            }
            match self.section.first.clone() {
                First::Time(when) => self.timed(line, &when, &cells, out),
                _ => self.labelled(line, &cells, out),
            }
        }
        self.ranges = ranges;
    }

    /// Whether the row has a cell for each column, after taking a comment off its end or off the
    /// header's.
    fn fit(&mut self, text: &str, ranges: &mut Vec<Range<usize>>) -> bool {
        let comment = |header: &String| header.starts_with('#');
        if self.section.rows == 0
            && let Some(at) = self.section.headers.iter().rposition(comment).filter(|at| *at > 0)
            && ranges.get(at).is_none_or(|r| text[r.clone()].starts_with('#'))
        {
            self.section.headers.truncate(at);
        }
        let columns = self.section.headers.len();
        if ranges.len() > columns && text[ranges[columns].clone()].starts_with('#') {
            ranges.truncate(columns);
        }
        ranges.len() == self.section.headers.len()
    }

    fn timed(&mut self, line: u64, when: &When, cells: &Cells<'_>, out: &mut Out<'_>) {
        let Some(t) = self.times.read(when, cells.get(0), out) else {
            out.unknown(line, cells.text, "no time in the first column");
            return;
        };
        if self.steps.known() || self.held.len() >= MAX_HELD {
            self.write(t, cells, out);
            return;
        }
        let base = self.label_words(cells, 1);
        self.steps.dt(self.labels.text(), t);
        self.labels.cut(base);
        self.held.push((t, cells.text.to_owned()));
        if self.steps.known() {
            self.release(out);
        }
    }

    /// Writes the rows that waited for the length of the section's intervals.
    fn release(&mut self, out: &mut Out<'_>) {
        self.steps.rewind();
        let mut ranges = Vec::new();
        for (t, text) in std::mem::take(&mut self.held) {
            split(&text, &mut ranges);
            self.write(t, &Cells { text: &text, ranges: &ranges }, out);
        }
    }

    fn write(&mut self, t: Micros, cells: &Cells<'_>, out: &mut Out<'_>) {
        let base = self.label_words(cells, 1);
        let dt = self.steps.dt(self.labels.text(), t);
        match &self.section.kind {
            Kind::Plain => {
                for (header, cell) in self.section.headers.iter().zip(cells.iter()).skip(1) {
                    if let Some(value) = value(cell) {
                        out.metric(t, dt, header, self.labels.text(), value, unit_of(header));
                    }
                }
            }
            kind => self.detail.timed(kind, (t, dt), &self.section.headers, cells, out),
        }
        self.labels.cut(base);
    }

    fn labelled(&mut self, line: u64, cells: &Cells<'_>, out: &mut Out<'_>) {
        let headers = &self.section.headers;
        if let Kind::Histogram { .. } = self.section.kind {
            self.detail.bucket(&self.section.kind, headers, cells, line, out);
            return;
        }
        let any = cells.iter().skip(1).any(|cell| value(cell).is_some());
        if headers.len() == 1
            && let Some(value) = value(cells.get(0))
        {
            out.metric(None, None, &headers[0], self.labels.text(), value, unit_of(&headers[0]));
            return;
        }
        if !any {
            let words: Vec<_> = match headers.len() {
                2 => vec![cells.get(1).to_owned()],
                _ => headers.iter().zip(cells.iter()).skip(1).map(|(h, c)| format!("{h}: {c}")).collect(),
            };
            out.fact(&self.section.name, cells.get(0), &words.join(", "));
            return;
        }
        let base = self.label_words(cells, 0);
        for (header, cell) in self.section.headers.iter().zip(cells.iter()).skip(1) {
            if let Some(value) = value(cell) {
                out.metric(None, None, header, self.labels.text(), value, unit_of(header));
            }
        }
        self.labels.cut(base);
    }

    /// Adds the words of the columns from `from` on (the first column whatever it is) to the labels;
    /// gives where they began.
    fn label_words(&mut self, cells: &Cells<'_>, from: usize) -> usize {
        let base = self.labels.len();
        // A row that waited is cut anew, and odd blanks may then make more cells than there are columns.
        let columns = self.section.headers.len().min(self.section.words.len());
        for (column, cell) in cells.iter().enumerate().take(columns).skip(from) {
            let word = value(cell).is_none() && !missing(cell);
            if column == 0 || word {
                self.labels.push(&self.section.headers[column], cell);
            }
            self.section.words[column] |= word;
        }
        base
    }
}

/// The cells of a row.
#[derive(Debug)]
pub(super) struct Cells<'a> {
    text: &'a str,
    ranges: &'a [Range<usize>],
}

impl<'a> Cells<'a> {
    /// Cell `i`, its escape taken off; empty beyond the last.
    pub(super) fn get(&self, i: usize) -> &'a str {
        let cell = self.ranges.get(i).and_then(|r| self.text.get(r.clone())).unwrap_or("");
        cell.strip_prefix('\\').unwrap_or(cell)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &'a str> + '_ {
        (0..self.ranges.len()).map(|i| self.get(i))
    }
}
