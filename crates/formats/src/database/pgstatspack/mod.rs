//! Reports of pgstatspack: what PostgreSQL counted between two snapshots.
//!
//! Counts become rates over the snapshots' distance, where the report has it; the first prototypes
//! did not, and then counts stay counts, in `metric`. The percentages that follow from other columns
//! are left to who asks. The report divides by one more than it should and sums statements over all
//! snapshots for its percentages: these are not used.

mod sections;

use fenxi_model::{
    Micros, Place,
    catalog::{db, db_index, db_setting, db_statement, db_table},
    place::F64,
};

use super::psql::{self, Line};
use crate::{Clock, Family, Format, Head, Input, Join, Out, Relative, Sure, civil_date, civil_time};
use sections::Section;

/// Importer for pgstatspack and pgstatspack2.
pub static FORMAT: Format = Format {
    name: "pgstatspack",
    summary: "pgstatspack and pgstatspack2: report of two snapshots of PostgreSQL's statistics",
    family: Family::Database,
    tables: &[&db::TABLE, &db_table::TABLE, &db_index::TABLE, &db_statement::TABLE, &db_setting::TABLE],
    example: "\
PGStatspack version 2.3 by uwe.bartels@gmail.com

Database statistics
 database |  tps   | hitrate | lio_ps  | pio_ps | rollbk_ps
----------+--------+---------+---------+--------+-----------
 shop     | 169.55 |   94.00 | 3909.70 | 211.15 |      0.00
(1 row)
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let named = head.any(|line| line.starts_with("PGStatspack version"));
    let columns = ["database", "tps", "hitrate", "lio_ps"];
    let has = |line: &str, wanted: &[&str]| {
        line.contains('|') && psql::cells(line).take(wanted.len()).eq(wanted.iter().copied())
    };
    // One of the prototype's tables alone.
    let alone = ["table", "tuples_pct", "tab_hitpct", "idx_hitpct"];
    Sure::Certain.when(named || head.any(|line| has(line, &columns) || has(line, &alone)))
}

/// Facts and figures of the report that are known so far.
#[derive(Debug)]
struct Report {
    t: Micros,
    /// Seconds between the snapshots.
    dt: Option<f64>,
    /// The database that was reported on, and its size.
    database: String,
    size: Option<f64>,
    /// Factor from a statement's time to milliseconds.
    time_scale: f64,
    tables: Join<db_table::Schema>,
    timed: bool,
}

const TABLE_PLACES: &[Place<db_table::Schema, F64>] = &[
    db_table::rows_inserted_per_s,
    db_table::rows_updated_per_s,
    db_table::rows_deleted_per_s,
    db_table::cache_hits_per_s,
    db_table::cache_misses_per_s,
];

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        report: Report {
            t: Micros(0),
            dt: None,
            database: String::new(),
            size: None,
            time_scale: 1.0,
            tables: Join::new(&db_table::TABLE, Some(db_table::relation), TABLE_PLACES),
            timed: false,
        },
        title: String::new(),
        last: None,
        headers: Vec::new(),
        section: Section::Other,
        row: Vec::new(),
        wants_seconds: false,
    };
    input.each_line(|number, line| reader.line(number, line, out));
    reader.end_table(out);
    let mut report = reader.report;
    sections::size_alone(&mut report, out);
    match report.database.as_str() {
        "" => report.tables.flush(out),
        database => report.tables.with(db_table::database, database).flush(out),
    }
}

struct Reader {
    report: Report,
    /// The last line that belonged to no table.
    title: String,
    /// The line before, if it may turn out to be a header.
    last: Option<(u64, String)>,
    headers: Vec<String>,
    section: Section,
    /// The row at hand: statements go over several lines.
    row: Vec<String>,
    wants_seconds: bool,
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, out: &mut Out<'_>) {
        match psql::line(line) {
            Line::Rule => {
                if let Some((_, header)) = self.last.take() {
                    self.begin_table(&header);
                }
            }
            Line::Count => self.end_table(out),
            // The prototype's reports have tables without rules: cells of a known header begin one.
            Line::Text(text) if self.headers.is_empty() && sections::is_header(text) => {
                self.begin_table_late(number, text)
            }
            Line::Text(text) if self.headers.is_empty() => self.words(number, text, out),
            Line::Text(text) => self.cells(number, text, out),
            // The end of a table whose count is left out.
            Line::Blank => self.end_table(out),
        }
    }

    /// A line outside of tables.
    fn words(&mut self, number: u64, text: &str, out: &mut Out<'_>) {
        let words = text.trim();
        if let Some(rest) = words.strip_prefix("Seconds in snapshot:") {
            self.wants_seconds = true;
            self.seconds(rest.trim());
        } else if self.wants_seconds && self.seconds(words) {
            // They were on a separate line.
        } else if words.starts_with("This report is saved as") || words.trim_matches('#').is_empty() {
            // Decoration.
        } else if let Some(version) = words.strip_prefix("PGStatspack version") {
            out.fact("pgstatspack", "version", version.trim());
        } else {
            // A title, or the only column's header of a table.
            if let Some((_, database)) = words.strip_suffix(" database").and_then(|title| title.rsplit_once(": ")) {
                database.trim().clone_into(&mut self.report.database);
            }
            if !text.starts_with(' ') {
                words.clone_into(&mut self.title);
            }
            self.last = Some((number, text.to_owned()));
        }
    }

    fn seconds(&mut self, words: &str) -> bool {
        let Some(seconds) = crate::number(words).filter(|s| *s > 0.0) else { return false };
        self.report.dt = Some(seconds);
        self.wants_seconds = false;
        true
    }

    fn begin_table(&mut self, header: &str) {
        self.headers = psql::cells(header).map(str::to_owned).collect();
        self.section = Section::of(&self.headers);
    }

    /// A header that is known by its names; a rule may follow.
    fn begin_table_late(&mut self, number: u64, header: &str) {
        self.last = Some((number, header.to_owned()));
        self.begin_table(header);
    }

    fn cells(&mut self, number: u64, text: &str, out: &mut Out<'_>) {
        self.last = None;
        let mut cells: Vec<&str> = psql::cells(text).collect();
        let columns = self.headers.len();
        if !text.contains('|') && columns > 1 {
            // The title of the next table, where the count was left out.
            self.end_table(out);
            self.words(number, text, out);
            return;
        }
        if cells.len() > columns && columns > 0 {
            // A statement may contain bars; it is the last column.
            let bar = columns.checked_sub(2).and_then(|n| text.match_indices('|').nth(n));
            cells.truncate(columns - 1);
            cells.push(text[bar.map_or(0, |(at, _)| at + 1)..].trim());
        }
        let goes_on = !self.row.is_empty() && cells.iter().rev().skip(1).all(|cell| cell.is_empty());
        if goes_on && columns > 1 {
            if let (Some(into), Some(cell)) = (self.row.last_mut(), cells.last()) {
                psql::go_on(into, cell);
            }
            return;
        }
        self.end_row(out);
        if cells.len() != columns {
            out.unknown(number, text, &format!("{} cells under {columns} columns", cells.len()));
            return;
        }
        self.row = cells.iter().map(|cell| (*cell).to_owned()).collect();
        if let Some(last) = self.row.last_mut().filter(|last| last.ends_with('+')) {
            last.pop();
            last.truncate(last.trim_end().len());
        }
    }

    fn end_row(&mut self, out: &mut Out<'_>) {
        let row = std::mem::take(&mut self.row);
        if row.is_empty() {
            return;
        }
        if self.section == Section::Snapshot {
            self.snapshot(&row, out);
            return;
        }
        if !self.report.timed && self.section.is_timed() {
            self.report.timed = true;
            self.report.t = Relative::elapsed(out).after(0.0);
        }
        self.section.row(&mut self.report, &self.headers, &row, out);
    }

    /// The snapshots: the later one is the report's time.
    fn snapshot(&mut self, row: &[String], out: &mut Out<'_>) {
        let [_, ts, rest @ ..] = row else { return };
        let which = if self.title.starts_with("End") { "end" } else { "begin" };
        let description = rest.first().map_or("", String::as_str);
        out.fact("pgstatspack", &format!("{which} snapshot"), &[ts, " ", description].concat());
        let when = ts.split_once(' ').and_then(|(date, time)| {
            let time = time.split(['+', '-']).next().unwrap_or(time);
            Some(civil_date(date)?.to_datetime(civil_time(time, None)?))
        });
        if let Some(when) = when.filter(|_| which == "end" || !self.report.timed) {
            self.report.t = Clock::new(out.hints()).moment(when);
            self.report.timed = true;
        }
    }

    fn end_table(&mut self, out: &mut Out<'_>) {
        self.end_row(out);
        self.headers.clear();
        self.section = Section::Other;
        self.last = None;
    }
}
