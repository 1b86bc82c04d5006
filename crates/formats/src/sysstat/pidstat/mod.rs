//! `pidstat` of sysstat: processes, and with `-t` their threads.
//!
//! Each switch gives a separate section, `-h` one line for each task. A block begins with a header
//! line that carries the time of the interval's begin; its lines carry the end. A block whose header
//! and lines carry the same time is the average since the tasks began.
//!
//! Traps: a section has only the tasks that did something of its kind. The row of a thread does not
//! name its process, which is above it, unless that was left out. `-I` divides `%CPU`, but not
//! its parts, by the number of CPUs. What may not be read of another user's process is -1.

mod columns;
mod tasks;
#[cfg(test)]
mod tests;

use fenxi_model::{
    Micros,
    catalog::{process, thread},
};

use self::columns::{Column, PLACES};
pub(super) use self::{
    columns::column,
    tasks::{Id, Tasks},
};
use super::{
    headers::Headers,
    times::{Prefix, is_average, onward, time_at},
};
use crate::{Clock, Family, Fields, Format, Input, Out, Splitter, Sure, Ticker, banner, number, scaled};

/// Importer for pidstat of sysstat.
pub static FORMAT: Format = Format {
    name: "pidstat",
    summary: "pidstat of sysstat: -u, -r, -d, -w, -s, -v, -t, -h, -l",
    family: Family::Linux,
    tables: &[&process::TABLE, &thread::TABLE],
    example: "\
Linux 6.1.0 (db1) \t11/21/26 \t_x86_64_\t(8 CPU)

14:35:52      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
14:35:53      999      3094   57.43    1.98    0.00    0.00   59.41     1  mariadbd
",
    sniff: |head| Sure::Certain.when(head.any(is_header)),
    read,
};

/// Whether `line` heads a section: tasks by number, and their commands behind.
fn is_header(line: &str) -> bool {
    let rest = match line.strip_prefix('#') {
        Some(rest) if rest.trim_start().starts_with("Time") => rest,
        Some(_) => return false,
        None => match time_at(line) {
            Some((_, rest)) => rest,
            None => return false,
        },
    };
    let mut words = rest.split_ascii_whitespace();
    rest.trim_end().ends_with(" Command") && words.any(|w| matches!(w, "PID" | "TGID"))
}

/// The columns of one section but the last, the command.
struct Section {
    columns: Vec<Column>,
}

struct Reader {
    clock: Clock,
    ticker: Ticker,
    prefix: Prefix,
    headers: Headers<Section>,
    /// When the current block began, from its header.
    begin: Option<Micros>,
    /// Time of the current line.
    t: Micros,
    /// Time and length of the block that is gathered.
    block: Option<(Micros, Option<f64>)>,
    tasks: Tasks,
    /// The process above, with its user: the next threads are its own if they are of the same user.
    above: Option<(i64, String)>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head();
    let seconds = |line: &str| time_at(line).map(|(stamp, _)| stamp.seconds());
    let mut reader = Reader {
        clock: Clock::new(out.hints()),
        ticker: Ticker::new(out.hints(), &head, onward(seconds)),
        prefix: Prefix::default(),
        headers: Headers::new(),
        begin: None,
        t: Micros(0),
        block: None,
        tasks: Tasks::default(),
        above: None,
    };
    drop(head);
    let mut splitter = Splitter::default();
    input.each_line(|number, line| reader.line(number, line, &mut splitter, out));
    reader.end_block(out);
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        if let Some(rest) = line.strip_prefix('#') {
            // The header line of `-h` has no time.
            let fields = splitter.blanks(rest);
            if fields.get(0) == "Time" {
                self.begin = None;
                self.header(rest, &fields.from(1));
            } else {
                out.unknown(number, line, "no header line of pidstat");
            }
            return;
        }
        let rest = match self.prefix.same(line) {
            Some(rest) => rest,
            None => match time_at(line) {
                Some((stamp, rest)) => {
                    self.prefix.set(line, rest);
                    self.t = stamp.moment(&mut self.clock, out);
                    rest
                }
                None => return self.other(number, line, out),
            },
        };
        let fields = splitter.blanks(rest);
        let last = fields.get(fields.len().saturating_sub(1));
        if last == "Command" && matches!(fields.get(0), "UID" | "USER" | "PID" | "TGID") {
            if self.begin.is_none_or(|begin| self.t > begin) {
                self.ticker.tick(self.t);
            }
            self.begin = Some(self.t);
            self.header(rest, &fields);
        } else {
            self.values(number, &fields, out);
        }
    }

    /// A line without a time at its beginning.
    fn other(&mut self, number: u64, line: &str, out: &mut Out<'_>) {
        if line.trim().is_empty() || is_average(line) {
            return;
        }
        let Some(banner) = banner(line) else {
            out.unknown(number, line, "no time at the beginning of the line");
            return;
        };
        self.end_block(out);
        out.set_host(banner.host);
        self.clock.set_date(banner.date);
        self.ticker.restart();
        (self.prefix, self.begin) = (Prefix::default(), None);
        self.headers.leave();
    }

    fn header(&mut self, line: &str, fields: &Fields<'_>) {
        self.above = None;
        let names = fields.to(fields.len().saturating_sub(1));
        self.headers.enter(line, || Section { columns: names.iter().map(column).collect() });
    }

    fn begin_block(&mut self, out: &mut Out<'_>) {
        self.end_block(out);
        let boot = self.begin == Some(self.t);
        let dt = if boot { None } else { self.ticker.tick(self.t) };
        self.block = Some((self.t, dt));
        self.above = None;
        out.since_boot(boot);
    }

    fn end_block(&mut self, out: &mut Out<'_>) {
        if let Some((t, dt)) = self.block.take() {
            self.tasks.flush(out, t, dt);
        }
        out.since_boot(false);
    }

    fn values(&mut self, line: u64, fields: &Fields<'_>, out: &mut Out<'_>) {
        if self.block.is_none_or(|(t, _)| t != self.t) {
            self.begin_block(out);
        }
        let Some(Section { columns }) = self.headers.current() else {
            out.unknown(line, fields.rest(0), "no header line above");
            return;
        };
        if fields.len() < columns.len() {
            out.wrong_count(line, fields.rest(0), fields.len(), columns.len());
            return;
        }
        let (id, user) = who(columns, fields);
        let id = match id {
            Id { pid: None, tid: None } => {
                out.unknown(line, fields.rest(0), "neither a process nor a thread");
                return;
            }
            Id { pid: None, tid } => {
                let above = self.above.as_ref().filter(|(_, of)| of == user);
                Id { pid: above.map(|(pid, _)| *pid), tid }
            }
            Id { pid: Some(pid), .. } => {
                self.above = Some((pid, user.to_owned()));
                id
            }
        };
        let (t, dt) = self.block.unwrap_or((self.t, None));
        if self.tasks.is_full() {
            self.tasks.flush(out, t, dt);
        }
        let place = self.tasks.enter(id, user, fields.rest(columns.len()));
        for (column, cell) in columns.iter().zip(fields.iter()) {
            take(column, cell, (&mut self.tasks, place), id, (line, t, dt), out);
        }
    }
}

/// The task and the user that a line is about.
fn who<'f>(columns: &[Column], fields: &Fields<'f>) -> (Id, &'f str) {
    let cell = |wanted: &Column| columns.iter().position(|c| c == wanted).map_or("", |i| fields.get(i));
    // With `-h` a thread has 0 for its process, and a process 0 for its thread.
    let id = |wanted: &Column| cell(wanted).parse::<i64>().ok().filter(|id| *id > 0);
    (Id { pid: id(&Column::Pid), tid: id(&Column::Tid) }, cell(&Column::Uid))
}

/// A share with its sign, or a size with its own unit, as the column would have it (`--human`).
#[cold]
fn human(column: &Column, cell: &str) -> Option<f64> {
    match (cell.strip_suffix('%'), column) {
        (Some(share), _) => number(share),
        // Only sizes are scaled, and those are in the unit of the column then no more.
        (None, Column::Value(_, scale) | Column::OfProcess(_, scale)) if *scale > 1.0 => {
            scaled(cell, 1024.0).map(|bytes| bytes / scale)
        }
        _ => None,
    }
}

/// Takes one value of a task.
pub(super) fn take(
    column: &Column,
    cell: &str,
    (tasks, place): (&mut Tasks, usize),
    id: Id,
    (line, t, dt): (u64, Micros, Option<f64>),
    out: &mut Out<'_>,
) {
    let value = match column {
        Column::Uid | Column::Pid | Column::Tid | Column::Skip => return,
        Column::LastCpu => return tasks.set_cpu(place, cell.parse().ok()),
        _ => number(cell).or_else(|| human(column, cell)),
    };
    let Some(value) = value else {
        if cell != "-" {
            out.unknown(line, cell, "no number");
        }
        return;
    };
    if value < 0.0 {
        return;
    }
    let labels = || {
        let key = |name: &str, id: Option<i64>| id.map(|id| format!("{name}={id}"));
        let labels: Vec<String> = [key("pid", id.pid), key("tid", id.tid)].into_iter().flatten().collect();
        labels.join(",")
    };
    match column {
        // A figure that only the table of processes has a column for.
        Column::Value(at, scale) if id.tid.is_some() && PLACES[*at].1.is_none() => {
            let column = process::TABLE.column(PLACES[*at].0);
            let name = format!("pidstat.{}", column.name);
            out.metric(t, dt, &name, &labels(), value * scale, column.unit.symbol());
        }
        Column::Value(at, scale) => tasks.set(place, *at, value * scale),
        Column::OfProcess(at, scale) if id.tid.is_none() => tasks.set(place, *at, value * scale),
        // In hundredths of a second, which makes the share of an interval in percent.
        Column::Delay(at) => {
            if let Some(dt) = dt.filter(|dt| *dt > 0.0) {
                tasks.set(place, *at, value / dt);
            }
        }
        Column::Metric(name) => out.metric(t, dt, name, &labels(), value, ""),
        _ => {}
    }
}
