//! `procsystime` of the DTraceToolkit: elapsed times, CPU times and counts of system calls.
//!
//! Each report repeats the calls; they become one row for each call.

use fenxi_model::catalog::syscall;

use super::{
    report::Reports,
    syscalls::{Figures, Syscalls},
};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// Importer for procsystime of the DTraceToolkit.
pub static FORMAT: Format = Format {
    name: "procsystime",
    summary: "procsystime of the DTraceToolkit: -a, -e, -o, -c, -T",
    family: Family::Trace,
    tables: &[&syscall::TABLE],
    example: "\
Elapsed Times for processes dbworker,

         SYSCALL          TIME (ns)
           pread          412887120
          TOTAL:          412887120
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let titled = head.any(|line| title(line).is_some());
    let headed = head.has_words("SYSCALL TIME (ns)") || head.has_words("SYSCALL COUNT");
    if titled && headed { Sure::Certain } else { Sure::Likely.when(titled) }
}

/// Quantity in the rows under a title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Report {
    Elapsed,
    Cpu,
    Counts,
}

/// `CPU Times for PID 7700,`: the kind, and the processes.
fn title(line: &str) -> Option<(Report, &str)> {
    const TITLES: [(&str, Report); 3] = [
        ("Elapsed Times for ", Report::Elapsed),
        ("CPU Times for ", Report::Cpu),
        ("Syscall Counts for ", Report::Counts),
    ];
    let line = line.trim().strip_suffix(',')?;
    TITLES.iter().find_map(|(head, report)| line.strip_prefix(head).map(|subject| (*report, subject)))
}

/// The program and process that a title names.
fn owner(subject: &str) -> (Option<&str>, Option<i64>) {
    if let Some(pid) = subject.strip_prefix("PID ") {
        return (None, pid.trim().parse().ok());
    }
    let named = ["processes ", "process ", "command "].iter().find_map(|head| subject.strip_prefix(head));
    (named.map(str::trim), None)
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reports = Reports::default();
    let mut calls = Syscalls::default();
    let mut seen: Vec<Report> = Vec::new();
    let mut subject = String::new();
    while input.line().is_some() {
        let (at, line) = (input.number(), input.text());
        if let Some((report, next)) = title(line) {
            if subject != next || seen.contains(&report) {
                flush(&mut reports, &mut calls, out);
                seen.clear();
                next.clone_into(&mut subject);
            }
            seen.push(report);
            let (comm, pid) = owner(next);
            calls.set_owner(comm, pid);
        } else if !passed_over(line) {
            match (row(line), seen.last()) {
                (Some((name, value)), Some(report)) => calls.add(name, figures(*report, value)),
                _ => out.unknown(at, line, "no system call and number"),
            }
        }
        if calls.is_full() {
            flush(&mut reports, &mut calls, out);
        }
    }
    flush(&mut reports, &mut calls, out);
}

fn flush(reports: &mut Reports, calls: &mut Syscalls, out: &mut Out<'_>) {
    if !calls.is_empty() {
        let t = reports.next(out, None);
        calls.flush(out, t, None);
    }
}

fn figures(report: Report, value: f64) -> Figures {
    let none = Figures::default();
    match report {
        Report::Elapsed => Figures { elapsed_s: Some(value / 1e9), ..none },
        Report::Cpu => Figures { cpu_s: Some(value / 1e9), ..none },
        Report::Counts => Figures { calls: Some(value), ..none },
    }
}

/// Lines without a new figure: headers, totals that follow from the rows, messages
/// while it runs.
fn passed_over(line: &str) -> bool {
    let line = line.trim();
    line.is_empty()
        || line.starts_with("SYSCALL ")
        || line.starts_with("TOTAL:")
        || line.starts_with("Tracing...")
        || line.starts_with("Hit Ctrl-C")
        || line == "^C"
}

/// A call and its number; people write remarks behind (`<<==`).
fn row(line: &str) -> Option<(&str, f64)> {
    let mut words = line.split_ascii_whitespace();
    let (name, value) = (words.next()?, number(words.next()?)?);
    if words.next().is_none_or(|remark| remark.starts_with('<')) { Some((name, value)) } else { None }
}
