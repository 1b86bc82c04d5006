//! `perf trace -s`: system calls of each thread, counted and timed.
//!
//! A thread is written `name (tid), N events, share`, and is given as a process; its calls follow, with their times in
//! milliseconds. Versions differ in the columns: they are read by their headers.

use fenxi_model::catalog::syscall;

use super::{
    report::Reports,
    syscalls::{Figures, Others, Syscalls},
};
use crate::{Family, Format, Head, Input, Out, Splitter, Sure, number};

/// Importer for perf trace -s and -S.
pub static FORMAT: Format = Format {
    name: "perf-trace",
    summary: "perf trace -s and -S: the summary of system calls",
    family: Family::Trace,
    tables: &[&syscall::TABLE],
    example: "\
 Summary of events:

 ls (15299), 296 events, 97.4%

   syscall            calls  errors  total       min       avg       max       stddev
                                     (msec)    (msec)    (msec)    (msec)        (%)
   --------------- --------  ------ -------- --------- --------- ---------     ------
   mmap                  31      0     0.632     0.016     0.020     0.066      7.99%
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.has_words("Summary of events") && head.any(|line| columns(line).is_some()))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Name,
    Calls,
    Errors,
    /// Milliseconds of all calls.
    Total,
    /// Milliseconds of the shortest or longest.
    Extreme(&'static str),
    /// It follows from the others, or is a measure of spread.
    Other,
}

fn columns(line: &str) -> Option<Vec<Column>> {
    let mut words = line.split_ascii_whitespace();
    let mut columns = vec![match words.next()? {
        "syscall" => Column::Name,
        _ => return None,
    }];
    columns.extend(words.map(|word| match word {
        "calls" => Column::Calls,
        "errors" => Column::Errors,
        "total" => Column::Total,
        "min" => Column::Extreme("shortest"),
        "max" => Column::Extreme("longest"),
        _ => Column::Other,
    }));
    columns.contains(&Column::Calls).then_some(columns)
}

/// `ls (15299), 296 events, 97.4%`
fn thread(line: &str) -> Option<(&str, Option<i64>)> {
    let (who, rest) = line.rsplit_once("), ")?;
    let (comm, tid) = who.rsplit_once(" (")?;
    let events = rest.split_ascii_whitespace().nth(1)?;
    events.starts_with("event").then(|| (comm.trim(), tid.parse().ok()))
}

/// `ENOENT: 18`, under a call, with `--errno-summary`.
fn errno(line: &str) -> Option<(&str, f64)> {
    let (name, count) = line.split_once(": ")?;
    let known = name.starts_with('E') && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    if known { Some((name, number(count)?)) } else { None }
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reports = Reports::default();
    let mut splitter = Splitter::default();
    let mut others = Others::default();
    let mut state = State::default();
    while input.line().is_some() {
        let (at, text) = (input.number(), input.text());
        let line = text.trim();
        if line.is_empty() || line.starts_with("---") || line.starts_with("(msec)") {
            continue;
        }
        if line.starts_with("Summary of events") {
            state.flush(out);
            state.at = Some(reports.next(out, None));
            state.columns.clear();
        } else if let Some((comm, pid)) = thread(line) {
            state.flush(out);
            state.columns.clear();
            state.calls.set_owner(Some(comm), pid);
            state.owner = match pid {
                Some(pid) => format!("comm={comm},pid={pid}"),
                None => format!("comm={comm}"),
            };
        } else if let Some(columns) = columns(line) {
            state.columns = columns;
        } else if let Some((errno, count)) = errno(line) {
            let labels = format!("{},syscall={},errno={errno}", state.owner, state.last);
            out.metric(state.at.flatten(), None, "perf-trace.errors", &labels, count, "");
        } else if !state.row(text, &mut splitter, out) {
            others.add(at, line);
        }
        if state.calls.is_full() {
            state.flush(out);
        }
    }
    state.flush(out);
    others.tell(out);
}

#[derive(Default)]
struct State {
    columns: Vec<Column>,
    calls: Syscalls,
    owner: String,
    /// The call of the last row.
    last: String,
    at: Option<Option<fenxi_model::Micros>>,
}

impl State {
    fn row(&mut self, text: &str, splitter: &mut Splitter, out: &mut Out<'_>) -> bool {
        let fields = splitter.blanks(text);
        if self.columns.is_empty() || fields.len() != self.columns.len() {
            return false;
        }
        let mut figures = Figures::default();
        for (column, cell) in self.columns.iter().zip(fields.iter()) {
            let value = number(cell.trim_end_matches('%'));
            if value.is_none() && *column != Column::Name {
                return false;
            }
            match column {
                Column::Calls => figures.calls = value,
                Column::Errors => figures.errors = value,
                Column::Total => figures.elapsed_s = value.map(|ms| ms / 1e3),
                Column::Extreme(what) => {
                    let labels = format!("{},syscall={}", self.owner, fields.get(0));
                    let name = format!("perf-trace.{what}");
                    out.metric(self.at.flatten(), None, &name, &labels, value.map(|ms| ms / 1e3), "s");
                }
                Column::Name | Column::Other => {}
            }
        }
        fields.get(0).clone_into(&mut self.last);
        self.calls.add(fields.get(0), figures);
        true
    }

    fn flush(&mut self, out: &mut Out<'_>) {
        self.calls.flush(out, self.at.flatten(), None);
    }
}
