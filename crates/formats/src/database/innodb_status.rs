//! `SHOW ENGINE INNODB STATUS` of MySQL and MariaDB: as a table in the client, with `\G`, or in the server's log.
//!
//! Rates are means over the seconds that the report names, since the last such report: of a report that follows another at once
//! they say little, and over 0 seconds nothing, so that these are left out. Numbers without `/s` are those of the moment. What
//! individual buffer pools have is in the sums. The latest deadlock is an event; values in its statements are hidden.

use fenxi_model::{
    Micros,
    catalog::db,
    statement::{Quotes, hidden},
};

use crate::{Clock, Family, Format, Head, Input, Out, Sure, civil_date, civil_time, number};

/// Importer for SHOW ENGINE INNODB STATUS of MySQL and MariaDB.
pub static FORMAT: Format = Format {
    name: "innodb-status",
    summary: "SHOW ENGINE INNODB STATUS of MySQL and MariaDB",
    family: Family::Database,
    tables: &[&db::TABLE],
    example: "\
=====================================
2026-11-23 04:25:20 0x7f52c83f56c0 INNODB MONITOR OUTPUT
=====================================
Per second averages calculated from the last 2 seconds
",
    sniff,
    read,
};

const TITLE: &str = " INNODB MONITOR OUTPUT";

fn sniff(head: &Head<'_>) -> Sure {
    let text = head.lines().any(|line| line.ends_with(TITLE) && moment(line).is_some());
    let row = head.lines().any(|line| line.starts_with("InnoDB\t") && line.contains("INNODB MONITOR OUTPUT\\n"));
    Sure::Certain.when(text || row)
}

/// Sections of the report whose figures are read.
const SECTIONS: &[&str] = &[
    "BACKGROUND THREAD",
    "SEMAPHORES",
    "LATEST FOREIGN KEY ERROR",
    "LATEST DETECTED DEADLOCK",
    "TRANSACTIONS",
    "FILE I/O",
    "INSERT BUFFER AND ADAPTIVE HASH INDEX",
    "ADAPTIVE HASH INDEX",
    "LOG",
    "BUFFER POOL AND MEMORY",
    "INDIVIDUAL BUFFER POOL INFO",
    "ROW OPERATIONS",
];

/// Numbers behind words: the section, the words, the metric, its unit.
const BEHIND: &[(&str, &str, &str, &str)] = &[
    ("TRANSACTIONS", "History list length ", "history_list_length", ""),
    ("LOG", "Log sequence number", "log_sequence_number", "B"),
    ("LOG", "Log flushed up to", "log_flushed", "B"),
    ("LOG", "Last checkpoint at", "last_checkpoint", "B"),
    ("BUFFER POOL AND MEMORY", "Buffer pool size ", "buffer_pool_pages", ""),
    ("BUFFER POOL AND MEMORY", "Free buffers ", "free_pages", ""),
    ("BUFFER POOL AND MEMORY", "Database pages ", "database_pages", ""),
    ("BUFFER POOL AND MEMORY", "Old database pages ", "old_database_pages", ""),
    ("BUFFER POOL AND MEMORY", "Modified db pages ", "modified_pages", ""),
    ("BUFFER POOL AND MEMORY", "Pending reads ", "pending_reads", ""),
    ("BUFFER POOL AND MEMORY", "Total large memory allocated ", "memory_bytes", "B"),
    ("BUFFER POOL AND MEMORY", "Dictionary memory allocated ", "dictionary_bytes", "B"),
];

/// Numbers before words, among others on the line: the section, the words, the metric.
const BEFORE: &[(&str, &str, &str)] = &[
    ("FILE I/O", "reads/s", "file_reads_per_s"),
    ("FILE I/O", "writes/s", "file_writes_per_s"),
    ("FILE I/O", "fsyncs/s", "fsyncs_per_s"),
    ("LOG", "log i/o's/second", "log_writes_per_s"),
    ("BUFFER POOL AND MEMORY", "reads/s", "pages_read_per_s"),
    ("BUFFER POOL AND MEMORY", "creates/s", "pages_created_per_s"),
    ("BUFFER POOL AND MEMORY", "writes/s", "pages_written_per_s"),
    ("INSERT BUFFER AND ADAPTIVE HASH INDEX", "hash searches/s", "hash_searches_per_s"),
    ("INSERT BUFFER AND ADAPTIVE HASH INDEX", "non-hash searches/s", "non_hash_searches_per_s"),
    ("ADAPTIVE HASH INDEX", "hash searches/s", "hash_searches_per_s"),
    ("ADAPTIVE HASH INDEX", "non-hash searches/s", "non_hash_searches_per_s"),
];

/// A report being read.
struct Report {
    t: Option<Micros>,
    /// The seconds of its means; None when there were none.
    dt: Option<f64>,
    section: &'static str,
    /// Transactions that are active and that wait for a lock.
    transactions: [f64; 2],
    longest_wait_s: Option<f64>,
    lsn: Option<f64>,
    checkpoint: Option<f64>,
    row_rates: bool,
    deadlock: Deadlock,
}

/// The latest deadlock.
#[derive(Default)]
struct Deadlock {
    t: Option<Micros>,
    /// The line before was the one of a thread: its statement follows.
    in_statement: bool,
    text: String,
    statements: Vec<String>,
    rolled_back: String,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut clock = Clock::new(out.hints());
    let mut report: Option<Report> = None;
    input.each_line(|at, line| {
        if line.contains("\\n") && line.contains("INNODB MONITOR OUTPUT") {
            for line in line.split("\\n") {
                step(at, line, &mut report, &mut clock, out);
            }
        } else {
            step(at, line, &mut report, &mut clock, out);
        }
    });
    if let Some(report) = report {
        report.end(out);
    }
}

fn step(at: u64, line: &str, report: &mut Option<Report>, clock: &mut Clock, out: &mut Out<'_>) {
    let bare = line.trim();
    if bare.starts_with("END OF INNODB MONITOR OUTPUT") {
        if let Some(report) = report.take() {
            report.end(out);
        }
    } else if bare.ends_with(TITLE) {
        if let Some(report) = report.take() {
            report.end(out);
        }
        let t = moment(bare).map(|when| clock.moment(when));
        if t.is_none() {
            out.unknown(at, line, "no time of the report");
        }
        *report = Some(Report::new(t));
    } else if let Some(report) = report {
        report.line(bare, clock, out);
    }
}

/// `2026-11-23 04:25:20 0x7f52c83f56c0 …`.
fn moment(line: &str) -> Option<jiff::civil::DateTime> {
    let mut words = line.split_ascii_whitespace();
    let (date, time) = (words.next()?, words.next()?);
    // MySQL 5.0 and 5.1: `100831  8:56:28`.
    let short = || {
        let two = |at: usize| date.get(at..at + 2)?.parse::<i8>().ok();
        let year = 2000 + i16::from(two(0)?);
        (date.len() == 6).then(|| jiff::civil::Date::new(year, two(2)?, two(4)?).ok()).flatten()
    };
    Some(civil_date(date).or_else(short)?.to_datetime(civil_time(time, None)?))
}

/// The number at the beginning of what follows `words`.
fn behind(line: &str, words: &str) -> Option<f64> {
    let rest = line.strip_prefix(words)?.trim_start();
    number(rest.split([' ', ',']).next()?)
}

impl Report {
    fn new(t: Option<Micros>) -> Report {
        Report {
            t,
            dt: None,
            section: "",
            transactions: [0.0; 2],
            longest_wait_s: None,
            lsn: None,
            checkpoint: None,
            row_rates: false,
            deadlock: Deadlock::default(),
        }
    }

    fn line(&mut self, line: &str, clock: &mut Clock, out: &mut Out<'_>) {
        if let Some(section) = SECTIONS.iter().find(|section| **section == line) {
            self.section = section;
            return;
        }
        if let Some(seconds) = behind(line, "Per second averages calculated from the last") {
            self.dt = Some(seconds).filter(|dt| *dt > 0.0);
            return;
        }
        match self.section {
            "LATEST DETECTED DEADLOCK" => return self.deadlock.line(line, clock),
            "TRANSACTIONS" => self.transaction(line),
            "ROW OPERATIONS" => self.rows(line, out),
            _ => {}
        }
        self.figures(line, out);
    }

    fn figures(&mut self, line: &str, out: &mut Out<'_>) {
        for (_, words, name, unit) in BEHIND.iter().filter(|(section, ..)| *section == self.section) {
            if let Some(value) = behind(line, words) {
                self.metric(name, Some(value), unit, out);
                match *name {
                    "log_sequence_number" => self.lsn = Some(value),
                    "last_checkpoint" => self.checkpoint = Some(value),
                    _ => {}
                }
            }
        }
        if let Some(rest) = line.strip_prefix("Buffer pool hit rate ") {
            let mut words = rest.split([' ', '/', ',']).filter(|w| !w.is_empty()).map(number);
            if let (Some(Some(hits)), Some(Some(of))) = (words.next(), words.next()) {
                self.rate("buffer_pool_hit_rate", hits / of * 100.0, "%", out);
            }
        }
        for part in line.split([',', ';']) {
            let Some((value, words)) = part.trim().split_once(' ') else { continue };
            let known = BEFORE.iter().find(|(section, known, _)| *section == self.section && *known == words.trim());
            if let (Some((_, _, name)), Some(value)) = (known, number(value)) {
                self.rate(name, value, "/s", out);
            }
        }
    }

    /// Something of the moment.
    fn metric(&self, name: &str, value: Option<f64>, unit: &str, out: &mut Out<'_>) {
        out.metric(self.t, None, &format!("innodb-status.{name}"), "", value, unit);
    }

    /// A mean over the seconds of the report.
    fn rate(&self, name: &str, value: f64, unit: &str, out: &mut Out<'_>) {
        if self.dt.is_some() {
            out.metric(self.t, self.dt, &format!("innodb-status.{name}"), "", value, unit);
        }
    }

    fn transaction(&mut self, line: &str) {
        if line.starts_with("---TRANSACTION ") && line.contains(", ACTIVE ") {
            self.transactions[0] += 1.0;
        } else if let Some(seconds) = line.strip_prefix("------- TRX HAS BEEN WAITING ") {
            self.transactions[1] += 1.0;
            let (value, unit) = seconds.split_once(' ').unwrap_or((seconds, ""));
            // Newer servers count in microseconds.
            let scale = if unit.starts_with("us") || unit.starts_with("ns") { 1e-6 } else { 1.0 };
            let seconds = number(value).map(|value| value * scale).filter(|_| !unit.starts_with("ns"));
            self.longest_wait_s = self.longest_wait_s.into_iter().chain(seconds).reduce(f64::max);
        }
    }

    /// `0.00 inserts/s, 0.00 updates/s, 0.00 deletes/s, 0.00 reads/s`; a second line of these is of the server's own tables.
    fn rows(&mut self, line: &str, out: &mut Out<'_>) {
        if self.row_rates || !line.contains(" inserts/s,") {
            return;
        }
        self.row_rates = true;
        let Some(dt) = self.dt else { return };
        let rate = |name: &str| {
            line.split(", ").find_map(|part| part.strip_suffix(name).and_then(|value| number(value.trim())))
        };
        let mut row = out.row(&db::TABLE, self.t, dt);
        row.f64(db::rows_inserted_per_s, rate("inserts/s")).f64(db::rows_updated_per_s, rate("updates/s"));
        row.f64(db::rows_deleted_per_s, rate("deletes/s"));
        if let Some(reads) = rate("reads/s") {
            self.rate("rows_read_per_s", reads, "/s", out);
        }
    }

    fn end(self, out: &mut Out<'_>) {
        let [active, waiting] = self.transactions;
        self.metric("active_transactions", Some(active), "", out);
        self.metric("lock_waits", Some(waiting), "", out);
        if self.longest_wait_s.is_some() {
            self.metric("longest_lock_wait", self.longest_wait_s, "s", out);
        }
        if let (Some(lsn), Some(checkpoint)) = (self.lsn, self.checkpoint) {
            self.metric("checkpoint_age", Some(lsn - checkpoint), "B", out);
        }
        if let Some(t) = self.deadlock.t {
            let forms: Vec<String> = self.deadlock.forms();
            let message = format!("{}; rolled back: {}", forms.join("; "), self.deadlock.rolled_back);
            out.event(t, "deadlock", "innodb", &message);
        }
    }
}

/// The longest statement of a deadlock that is kept.
const MAX_TEXT: usize = 16 << 10;

impl Deadlock {
    fn line(&mut self, line: &str, clock: &mut Clock) {
        if let Some(when) = moment(line).filter(|_| self.t.is_none()) {
            self.t = Some(clock.moment(when));
        } else if let Some(rest) = line.strip_prefix("*** WE ROLL BACK ") {
            self.close();
            rest.trim().to_lowercase().clone_into(&mut self.rolled_back);
        } else if line.starts_with("***") {
            self.close();
        } else if line.contains(" thread id ") && line.contains("query id ") {
            self.in_statement = true;
        } else if self.in_statement && !line.is_empty() && self.text.len() + line.len() < MAX_TEXT {
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    fn close(&mut self) {
        if self.in_statement && self.statements.len() < 100 {
            self.statements.push(std::mem::take(&mut self.text));
        }
        self.in_statement = false;
    }

    /// Its statements in their order.
    fn forms(&self) -> Vec<String> {
        let of = |(i, text): (usize, &String)| format!("transaction ({}): {}", i + 1, hidden(text, Quotes::Backslash));
        self.statements.iter().enumerate().map(of).collect()
    }
}
