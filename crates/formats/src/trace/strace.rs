//! `strace -c`: system calls counted and timed.
//!
//! The seconds are CPU time in the kernel unless `-w` was given, which the text does not show.
//! Columns can be chosen (`-U`); only the number of errors may be empty. With `-C` the summary
//! follows the calls themselves, which are not read. A program that changes its personality has a
//! summary for each; they are added up.

use fenxi_model::catalog::syscall;

use super::{
    report::Reports,
    syscalls::{Figures, Others, Syscalls},
};
use crate::{Family, Format, Head, Input, Out, Splitter, Sure, number};

/// Importer for strace -c, also with -f, -w, -C and -U.
pub static FORMAT: Format = Format {
    name: "strace",
    summary: "strace -c, also with -f, -w, -C and -U",
    family: Family::Trace,
    tables: &[&syscall::TABLE],
    example: "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 63.41    0.046132         698        66        32 wait4
 10.65    0.007750           9       801           read
------ ----------- ----------- --------- --------- ----------------
100.00    0.053882          62       867        32 total
",
    sniff,
    read,
};

/// Content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Name,
    Seconds,
    Calls,
    Errors,
    Shortest,
    Longest,
    /// It follows from the others.
    Derived,
}

/// The columns under a header line; None when the line is no header.
fn header(line: &str) -> Option<Vec<Column>> {
    let mut columns = Vec::new();
    let mut words = line.split_ascii_whitespace();
    while let Some(word) = words.next() {
        columns.push(match word {
            "%" if words.next() == Some("time") => Column::Derived,
            "usecs/call" => Column::Derived,
            "seconds" => Column::Seconds,
            "calls" => Column::Calls,
            "errors" => Column::Errors,
            "shortest" => Column::Shortest,
            "longest" => Column::Longest,
            "syscall" => Column::Name,
            _ => return None,
        });
    }
    let named = columns.len() > 1 && columns.contains(&Column::Name);
    named.then_some(columns)
}

fn sniff(head: &Head<'_>) -> Sure {
    let mut after_header = false;
    for line in head.lines() {
        // truss has such a header too, but no dashes under it.
        if after_header && line.starts_with("---") {
            return Sure::Certain;
        }
        after_header = header(line).is_some();
    }
    // With -C the summary is at the end, after any number of calls.
    Sure::Likely.when(head.lines().take(20).filter(|l| single_call(l)).count() > 5)
}

/// A line of the trace itself: `close(3) = 0`, `[pid  12] +++ exited with 0 +++`.
fn single_call(line: &str) -> bool {
    let line = line.trim_start();
    let line = match line.strip_prefix("[pid") {
        Some(rest) => rest.split_once(']').map_or(rest, |(_, rest)| rest),
        None => line.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ':' | ' ')),
    };
    let line = line.trim_start();
    if line.starts_with("+++ ") || line.starts_with("--- SIG") || line.starts_with("<... ") {
        return true;
    }
    let name = line.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    let call = name > 0 && line.as_bytes().get(name) == Some(&b'(');
    // The result of a call is in a separate column, after blanks.
    let gave = |rest: &str| rest.starts_with(' ') && rest.trim_start().starts_with("= ");
    call && (line.split(')').skip(1).any(gave) || line.ends_with("<unfinished ...>"))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader::default();
    let mut splitter = Splitter::default();
    input.each_line(|number, line| reader.line(number, line, &mut splitter, out));
    reader.end(out);
    reader.others.tell(out);
    if reader.single > 0 {
        out.note(None, &format!("{} lines of single calls: only summaries are read", reader.single));
    }
}

#[derive(Default)]
struct Reader {
    /// Empty outside of a table.
    columns: Vec<Column>,
    reports: Reports,
    calls: Syscalls,
    /// Shortest and longest times, by name.
    extremes: Vec<(String, Option<f64>, Option<f64>)>,
    /// Personalities that this report had so far.
    modes: Vec<String>,
    /// The line before named a personality, so that the next header does not begin a report.
    in_mode: bool,
    pid: Option<i64>,
    single: u64,
    others: Others,
}

impl Reader {
    fn line(&mut self, at: u64, text: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        let line = text.trim().trim_start_matches("^C");
        if line.is_empty() || line.bytes().all(|b| matches!(b, b'-' | b' ')) {
            return;
        }
        if let Some(columns) = header(line) {
            if !std::mem::take(&mut self.in_mode) {
                self.end(out);
            }
            self.columns = columns;
        } else if let Some(mode) = line.strip_prefix("System call usage summary for ") {
            if self.modes.is_empty() || self.modes.iter().any(|m| m == mode) {
                self.end(out);
            }
            self.modes.push(mode.to_owned());
            self.in_mode = true;
        } else if let Some(message) = line.strip_prefix("strace: ") {
            self.attached(message);
        } else if !self.columns.is_empty() && self.row(text, splitter) {
            if self.calls.is_full() || self.extremes.len() > 1 << 16 {
                let columns = std::mem::take(&mut self.columns);
                self.end(out);
                self.columns = columns;
            }
        } else if single_call(line) {
            self.single += 1;
        } else {
            self.others.add(at, line);
        }
    }

    /// `Process 5340 attached`: with one process only it is known whose calls these are.
    fn attached(&mut self, message: &str) {
        let mut words = message.split_ascii_whitespace();
        if words.next() != Some("Process") {
            return;
        }
        let pid = words.next().and_then(|pid| pid.parse().ok());
        if words.next() == Some("attached") {
            self.pid = pid;
            self.calls.set_owner(None, pid);
        }
    }

    fn row(&mut self, text: &str, splitter: &mut Splitter) -> bool {
        let fields = splitter.blanks(text);
        let empty = match self.columns.len().checked_sub(fields.len()) {
            Some(0) => None,
            Some(1) => Some(Column::Errors),
            // Old versions leave the mean of the total empty as well.
            _ => return fields.get(fields.len().saturating_sub(1)) == "total" || fields.get(0) == "total",
        };
        if empty.is_some_and(|e| !self.columns.contains(&e)) {
            return false;
        }
        let (mut figures, mut name) = (Figures { errors: None, ..Figures::default() }, "");
        let (mut shortest, mut longest) = (None, None);
        let columns = self.columns.iter().filter(|c| Some(**c) != empty);
        for (column, cell) in columns.zip(fields.iter()) {
            let value = number(cell);
            if value.is_none() && *column != Column::Name {
                return fields.iter().any(|f| f == "total");
            }
            match column {
                Column::Name => name = cell,
                Column::Seconds => figures.cpu_s = value,
                Column::Calls => figures.calls = value,
                Column::Errors => figures.errors = value,
                Column::Shortest => shortest = value,
                Column::Longest => longest = value,
                Column::Derived => {}
            }
        }
        if name == "total" {
            self.columns.clear();
            return true;
        }
        if empty.is_some() {
            figures.errors = Some(0.0);
        }
        self.calls.add(name, figures);
        if shortest.is_some() || longest.is_some() {
            self.extremes.push((name.to_owned(), shortest, longest));
        }
        true
    }

    fn end(&mut self, out: &mut Out<'_>) {
        self.columns.clear();
        self.modes.clear();
        if self.calls.is_empty() {
            return;
        }
        out.assume("seconds of CPU time, as strace -c counts without -w");
        let t = self.reports.next(out, None);
        self.calls.flush(out, t, None);
        for (name, shortest, longest) in self.extremes.drain(..) {
            let labels = format!("syscall={name}");
            for (what, value) in [("shortest", shortest), ("longest", longest)] {
                if value.is_some() {
                    out.metric(t, None, &format!("strace.{what}"), &labels, value, "s");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use proptest::prelude::*;

    use super::*;
    use crate::fixtures::read;

    proptest! {
        /// Rows printed as the tool prints them come back, with and without errors.
        #[test]
        fn rows_come_back(rows in prop::collection::btree_map("[a-z_]{1,20}[0-9]{0,2}", (0u64..10_000_000_000, 1u64..10_000_000_000, 0u64..3), 1..20)) {
            prop_assume!(!rows.contains_key("total"));
            let dashes = "------ ----------- ----------- --------- --------- ----------------";
            let mut text = format!("% time     seconds  usecs/call     calls    errors syscall\n{dashes}\n");
            for (name, (us, calls, errors)) in &rows {
                let errors = if *errors == 0 { String::new() } else { errors.to_string() };
                let _ = writeln!(text, "{:6.2} {:11.6} {:11} {calls:9} {errors:>9} {name}", 12.5, *us as f64 / 1e6, us / calls);
            }
            let _ = writeln!(text, "{dashes}\n100.00    1.000000           1         1           total");
            let read = read(&FORMAT, text.as_bytes());
            prop_assert_eq!(read.tally.notes, 0);
            let lines: Vec<&str> = read.text.lines().skip(2).take(rows.len()).collect();
            for (line, (name, (us, calls, errors))) in lines.iter().zip(&rows) {
                let cells: Vec<&str> = line.split('\t').collect();
                let (calls, errors) = (calls.to_string(), errors.to_string());
                prop_assert_eq!(&cells[2..5], &[name.as_str(), &calls, &errors]);
                let cpu: f64 = cells[5].parse().unwrap();
                prop_assert!((cpu - *us as f64 / 1e6).abs() < 1e-6);
            }
            prop_assert_eq!(lines.len(), rows.len());
        }
    }
}
