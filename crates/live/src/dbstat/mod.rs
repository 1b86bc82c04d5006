//! `dbstat`: a database server as one line an interval, the same columns for every kind of server.

pub mod figure;
mod line;

use std::fmt::Write;

use fenxi_model::{Micros, catalog::event};
use jiff::{Timestamp, tz::TimeZone};

pub use line::{CLASSES, Class, IDLE_IN_TRANSACTION, Line, Lines, class_of};

use crate::{Frame, View};

/// Lines after which the header comes again.
const PAGE: usize = 20;

/// A column: its title, its width with the blank before it, and what is in it.
#[derive(Debug)]
pub struct Column {
    /// Title.
    pub title: &'static str,
    width: usize,
    /// Its value in a line.
    pub get: fn(&Line) -> Option<f64>,
    /// The value for people.
    pub show: fn(f64) -> String,
}

const fn column(title: &'static str, width: usize, get: fn(&Line) -> Option<f64>, show: fn(f64) -> String) -> Column {
    Column { title, width, get, show }
}

/// Columns before the classes of activity.
pub const FIRST: &[Column] =
    &[column("sess", 5, |line| line.sessions, figure::amount), column("act", 4, |line| line.active, figure::sessions)];

/// Columns behind the classes of activity.
pub const REST: &[Column] = &[
    column("tps", 5, |line| line.transactions_per_s, figure::amount),
    column("st/s", 5, |line| line.statements_per_s, figure::amount),
    column("ms", 5, |line| line.mean_ms, figure::milliseconds),
    column("hit%", 5, |line| line.hit_percent, figure::percent),
    column("rd/s", 5, |line| line.reads_per_s, figure::amount),
    column("log", 5, |line| line.log_bytes_per_s, figure::bytes),
    column("tmp", 5, |line| line.temp_bytes_per_s, figure::bytes),
    column("ck", 3, |line| line.checkpoints, figure::count),
    column("old", 5, |line| line.oldest_transaction_s, figure::age),
];

/// Columns that are left out of a narrow terminal, the first one first.
const SPARE: &[&str] = &["itx", "tmp", "ck", "rd/s", "oth", "net", "log", "old", "ltch", "st/s", "hit%", "cmt"];
/// Width of the time.
const TIME: usize = 8;

/// Events of a server that interrupt its lines.
const EVENTS: &[&str] = &["connection lost", "connected", "restart", "role changed", "counter reset"];

/// The view.
#[derive(Debug)]
pub struct Dbstat {
    lines: Lines,
    zone: TimeZone,
    /// Lines since the header; None before the first one.
    since_header: Option<usize>,
    /// Servers seen so far, with the length of their last intervals: with several, each line names its own.
    servers: Vec<(String, f64)>,
    /// Titles of columns that have no room.
    left_out: Vec<&'static str>,
}

impl Dbstat {
    /// A view of all servers, or of one, with times in `zone`.
    pub fn new(only: Option<String>, zone: TimeZone) -> Dbstat {
        Dbstat { lines: Lines::new(only), zone, since_header: None, servers: Vec::new(), left_out: Vec::new() }
    }

    /// In at most `width` characters: columns that have no room are left out and named.
    pub fn within(mut self, width: usize) -> Dbstat {
        let columns = FIRST.iter().chain(REST).map(|column| (column.title, column.width));
        let all: Vec<(&str, usize)> =
            columns.chain(CLASSES.iter().map(|class| (class.title, width_of(class)))).collect();
        let mut total = TIME + all.iter().map(|(_, width)| width).sum::<usize>();
        for spare in SPARE.iter().copied() {
            if total <= width {
                break;
            }
            total -= all.iter().find(|(title, _)| *title == spare).map_or(0, |(_, width)| *width);
            self.left_out.push(spare);
        }
        self
    }

    fn shows(&self, title: &str) -> bool {
        !self.left_out.contains(&title)
    }

    /// Whether it is of a whole interval. When a recording ends, servers are read for the last time, a moment after the time
    /// before: its rows are kept, but no line.
    fn is_whole(&mut self, line: &Line) -> bool {
        let Some((_, last)) = self.servers.iter_mut().find(|(server, _)| *server == line.server) else {
            self.servers.push((line.server.clone(), line.dt));
            // The header has to say that there are several.
            self.since_header = self.since_header.filter(|_| self.servers.len() != 2);
            return true;
        };
        let is_whole = line.dt >= *last / 2.0;
        if is_whole {
            *last = line.dt;
        }
        is_whole
    }

    fn time(&self, t: Micros) -> String {
        time_of_day(t, &self.zone)
    }

    fn events(&self, frame: &Frame<'_>, out: &mut String) {
        let Some(events) = frame.rows.of(&event::TABLE) else { return };
        for row in 0..events.n_rows() {
            let (kind, subject) = (events.str(row, event::kind), events.str(row, event::subject));
            let (Some(kind), Some(subject)) = (kind, subject) else { continue };
            if !EVENTS.contains(&kind) || !self.servers.iter().any(|(server, _)| server == subject) {
                continue;
            }
            let t = events.micros(row, event::t).unwrap_or(frame.t);
            let message = events.str(row, event::message).unwrap_or_default();
            let _ = writeln!(out, "{} <<{kind}: {message}>>", self.time(t));
        }
    }

    fn header(&self, out: &mut String) {
        if self.since_header.is_none() && !self.left_out.is_empty() {
            let _ = writeln!(out, "(no room for: {})", self.left_out.join(", "));
        }
        let _ = write!(out, "{:<TIME$}", "time");
        let mut title = |title: &str, width: usize| {
            if self.shows(title) {
                let _ = write!(out, "{title:>width$}");
            }
        };
        FIRST.iter().for_each(|column| title(column.title, column.width));
        CLASSES.iter().for_each(|class| title(class.title, width_of(class)));
        REST.iter().for_each(|column| title(column.title, column.width));
        out.push_str(if self.servers.len() > 1 { "  server\n" } else { "\n" });
    }

    fn line(&self, line: &Line, out: &mut String) {
        out.push_str(&self.time(line.t));
        let mut cell = |title: &str, value: Option<f64>, width: usize, show: fn(f64) -> String| {
            if self.shows(title) {
                let text = value.map_or("-".to_owned(), show);
                let _ = write!(out, "{text:>width$}");
            }
        };
        FIRST.iter().for_each(|column| cell(column.title, (column.get)(line), column.width, column.show));
        for (class, value) in CLASSES.iter().zip(line.classes) {
            cell(class.title, value, width_of(class), figure::sessions);
        }
        REST.iter().for_each(|column| cell(column.title, (column.get)(line), column.width, column.show));
        if self.servers.len() > 1 {
            let _ = write!(out, "  {}", line.server);
        }
        out.push('\n');
    }
}

/// Three characters of a figure or the title, and a blank.
fn width_of(class: &Class) -> usize {
    class.title.len().max(3) + 1
}

/// `HH:MM:SS`.
pub fn time_of_day(t: Micros, zone: &TimeZone) -> String {
    let t = Timestamp::from_microsecond(t.0).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(zone.clone());
    format!("{:02}:{:02}:{:02}", t.hour(), t.minute(), t.second())
}

impl View for Dbstat {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut String) {
        let mut lines = self.lines.take(frame.rows);
        lines.retain(|line| self.is_whole(line));
        self.events(frame, out);
        for line in &lines {
            if self.since_header.is_none_or(|n| n >= PAGE) {
                self.header(out);
                self.since_header = Some(0);
            }
            self.line(line, out);
            self.since_header = self.since_header.map(|n| n + 1);
        }
    }
}

#[cfg(test)]
mod tests;
