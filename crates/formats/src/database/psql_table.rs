//! Output of `psql` for PostgreSQL's statistics views: tables between bars, and with `\x` a record for each row.
//!
//! A table is of one moment, and most of its figures count since the last reset: they are metrics with the words of their row as
//! labels, no rates. Rows of `pg_stat_activity` are counted by what the sessions do. Statements lose their values.

use std::collections::BTreeMap;

use fenxi_model::{Micros, statement};

use super::psql::{self, Line};
use crate::{Family, Format, Head, Input, Out, Sure, generic::labels::Labels, number, procps::moments::Moments};

/// Importer for psql tables and records (\x) of pg_stat_statements, pg_stat_activity, pg_stat_user_tables and other statistics views.
pub static FORMAT: Format = Format {
    name: "psql-table",
    summary: "psql: tables and records (\\x) of pg_stat_statements, pg_stat_activity, pg_stat_user_tables and other statistics views",
    family: Family::Database,
    tables: &[],
    example: "\
 relname  | seq_scan | idx_scan | n_live_tup
----------+----------+----------+------------
 accounts |       12 |   204120 |     100000
(1 row)
",
    sniff,
    read,
};

/// Columns of statistics views; of these a table must have two.
const KNOWN: &[&str] = &[
    "blks_hit",
    "blks_read",
    "buffers_clean",
    "calls",
    "checkpoints_req",
    "checkpoints_timed",
    "deadlocks",
    "heap_blks_hit",
    "heap_blks_read",
    "idx_blks_read",
    "idx_scan",
    "idx_tup_fetch",
    "idx_tup_read",
    "max_exec_time",
    "mean_exec_time",
    "mean_time",
    "n_dead_tup",
    "n_live_tup",
    "n_tup_del",
    "n_tup_ins",
    "n_tup_upd",
    "numbackends",
    "query_start",
    "seq_scan",
    "seq_tup_read",
    "shared_blks_hit",
    "shared_blks_read",
    "state",
    "temp_bytes",
    "total_exec_time",
    "total_time",
    "wait_event",
    "wait_event_type",
    "xact_commit",
    "xact_rollback",
    "xact_start",
];
/// Columns that name something by a number.
const IDS: &[&str] =
    &["pid", "relid", "indexrelid", "datid", "userid", "dbid", "usesysid", "queryid", "query_id", "leader_pid"];
/// Columns that differ for each session and say nothing about others.
const OF_SESSIONS: &[&str] = &["state", "wait_event_type", "wait_event", "datname", "usename", "backend_type"];
/// Characters of a statement, and rows of one table that are counted.
const LONGEST: usize = 200;
const MOST: usize = 1 << 14;

fn sniff(head: &Head<'_>) -> Sure {
    let known = |names: &mut dyn Iterator<Item = &str>| names.filter(|name| KNOWN.contains(name)).count() >= 2;
    let mut lines = head.lines().peekable();
    let mut keys: Vec<&str> = Vec::new();
    while let Some(line) = lines.next() {
        if record(line) {
            keys.clear();
        } else if let Some((key, _)) = line.split_once('|') {
            keys.push(key.trim());
            let table = lines.peek().is_some_and(|next| psql::line(next) == Line::Rule && next.contains('+'));
            if table && known(&mut psql::cells(line)) {
                return Sure::Certain;
            }
        }
    }
    let records = head.any(record);
    Sure::Certain.when(records && known(&mut keys.into_iter()))
}

/// `-[ RECORD 1 ]---+-----`.
fn record(line: &str) -> bool {
    line.starts_with("-[ RECORD ") && line.contains(" ]-")
}

struct Reader {
    moments: Moments,
    headers: Vec<String>,
    row: Vec<String>,
    /// The line before, which may be a header.
    last: Option<(u64, String)>,
    /// Whether a record is open, whose lines are `name | value`.
    in_record: bool,
    t: Option<Micros>,
    /// Sessions by what they do.
    sessions: BTreeMap<String, f64>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        moments: Moments::new(out),
        headers: Vec::new(),
        row: Vec::new(),
        last: None,
        in_record: false,
        t: None,
        sessions: BTreeMap::new(),
    };
    input.each_line(|number, line| reader.line(number, line, out));
    reader.end(out);
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, out: &mut Out<'_>) {
        if record(line) {
            self.end_row(out);
            (self.in_record, self.last) = (true, None);
            self.headers.clear();
            return;
        }
        match psql::line(line) {
            Line::Rule => {
                if let Some((_, header)) = self.last.take() {
                    self.headers = psql::cells(&header).map(str::to_owned).collect();
                }
            }
            Line::Count | Line::Blank => self.end(out),
            Line::Text(text) if self.in_record => match text.split_once('|') {
                // A statement goes on below, with an empty name.
                Some((name, value)) if name.trim().is_empty() => {
                    self.row.last_mut().into_iter().for_each(|last| psql::go_on(last, value));
                }
                Some((name, value)) => {
                    self.headers.push(name.trim().to_owned());
                    self.row.push(value.trim().trim_end_matches('+').trim_end().to_owned());
                }
                None => out.unknown(number, text, "no value of a record"),
            },
            Line::Text(text) if !self.headers.is_empty() => self.cells(number, text, out),
            Line::Text(text) => {
                if let Some((number, line)) = self.last.take() {
                    self.other(number, &line, out);
                }
                self.last = Some((number, text.to_owned()));
            }
        }
    }

    /// A line outside of tables.
    fn other(&mut self, number: u64, line: &str, out: &mut Out<'_>) {
        let own = line.contains("=> ")
            || line.contains("=# ")
            || line.starts_with("Expanded display ")
            || line.starts_with("Time: ");
        if !own && self.moments.take(line, out).is_none() {
            out.unknown(number, line, "no table of psql");
        }
    }

    fn cells(&mut self, number: u64, text: &str, out: &mut Out<'_>) {
        let cells: Vec<&str> = psql::cells(text).collect();
        if cells.len() != self.headers.len() {
            return out.unknown(number, text, &format!("{} cells under {} columns", cells.len(), self.headers.len()));
        }
        // A statement of several lines: all other cells are empty.
        if !self.row.is_empty() && self.row.iter().any(|cell| cell.ends_with('+')) {
            for (cell, more) in self.row.iter_mut().zip(cells).filter(|(cell, _)| cell.ends_with('+')) {
                let before = std::mem::take(cell);
                psql::go_on(cell, &before);
                psql::go_on(cell, more);
                if more.ends_with('+') {
                    cell.push('+');
                }
            }
            return;
        }
        self.end_row(out);
        self.row = cells.into_iter().map(str::to_owned).collect();
    }

    fn end_row(&mut self, out: &mut Out<'_>) {
        let row = std::mem::take(&mut self.row);
        if row.is_empty() {
            return;
        }
        let moments = &mut self.moments;
        let t = *self.t.get_or_insert_with(|| moments.next(out).0);
        let cells = || self.headers.iter().map(String::as_str).zip(row.iter().map(String::as_str));
        let is_session = ["pid", "state"].iter().all(|name| self.headers.iter().any(|header| header == name));
        let mut labels = Labels::default();
        for (name, cell) in cells().filter(|(_, cell)| !cell.is_empty()) {
            if is_session && !OF_SESSIONS.contains(&name) {
                continue;
            }
            let is_id = IDS.contains(&name) || number(cell).is_none();
            // A time differs in each row, and names none.
            if !is_id || crate::stamp(cell).is_some() || matches!(cell, "t" | "f") {
                continue;
            }
            if name == "query" {
                let form: String = statement::form(cell, false).chars().take(LONGEST).collect();
                labels.push(name, &form);
            } else {
                labels.push(name, cell);
            }
        }
        if is_session {
            if self.sessions.len() < MOST || self.sessions.contains_key(labels.text()) {
                *self.sessions.entry(labels.text().to_owned()).or_default() += 1.0;
            }
            return;
        }
        for (name, value) in cells().filter(|(name, _)| !IDS.contains(name)).filter_map(|(n, c)| Some((n, number(c)?)))
        {
            // Views have milliseconds.
            let (scale, unit) = if name.ends_with("_time") { (1e-3, "s") } else { (1.0, "") };
            out.metric(t, None, &format!("psql.{name}"), labels.text(), value * scale, unit);
        }
    }

    /// The table is over.
    fn end(&mut self, out: &mut Out<'_>) {
        self.end_row(out);
        if let Some(t) = self.t.take() {
            for (labels, n) in std::mem::take(&mut self.sessions) {
                out.metric(t, None, "psql.sessions", &labels, n, "");
            }
        }
        self.headers.clear();
        self.in_record = false;
        if let Some((number, line)) = self.last.take() {
            self.other(number, &line, out);
        }
    }
}
