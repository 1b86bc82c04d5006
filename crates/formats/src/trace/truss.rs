//! `truss -c` of Solaris, AIX and FreeBSD: system calls counted, and the CPU time spent in them.
//!
//! Calls with sub-functions come several times under one name; they are added up. On FreeBSD the
//! times are elapsed ones, and only the totals' line distinguishes the two.

use fenxi_model::catalog::syscall;

use super::{
    report::Reports,
    syscalls::{Figures, Others, Syscalls},
};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// Importer for truss -c of Solaris, AIX and FreeBSD.
pub static FORMAT: Format = Format {
    name: "truss",
    summary: "truss -c of Solaris, AIX and FreeBSD",
    family: Family::Trace,
    tables: &[&syscall::TABLE],
    example: "\
syscall               seconds   calls  errors
read                     .002     120
ioctl                    .000       2      2
                     --------  ------   ----
sys totals:              .002     122      2
usr time:               1.127
elapsed:               22.810
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.any(header))
}

fn header(line: &str) -> bool {
    line.split_ascii_whitespace().eq(["syscall", "seconds", "calls", "errors"])
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader::default();
    input.each_line(|number, line| reader.line(number, line, out));
    reader.end(out, None);
    reader.others.tell(out);
}

/// Kind of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Section {
    #[default]
    Outside,
    Calls,
    /// `signals` or `faults`, with their counts.
    Named(&'static str),
}

#[derive(Default)]
struct Reader {
    section: Section,
    reports: Reports,
    calls: Syscalls,
    /// Seconds and the rest of each row until it is known which time they are.
    rows: Vec<(String, f64, Figures)>,
    others: Others,
}

impl Reader {
    fn line(&mut self, at: u64, text: &str, out: &mut Out<'_>) {
        let line = text.trim();
        if line.is_empty() {
            return;
        }
        if header(line) {
            self.end(out, None);
            self.section = Section::Calls;
            return;
        }
        if let Some(seconds) = timed(line, "usr time:") {
            out.result("cpu_user", seconds, "s", "lower");
        } else if let Some(seconds) = timed(line, "elapsed:") {
            out.result("elapsed", seconds, "s", "lower");
            self.end(out, Some(seconds));
        } else if let Some(total) = line.strip_prefix("sys totals:") {
            out.result("cpu_sys", total.split_ascii_whitespace().next().and_then(number), "s", "lower");
            self.own(true);
        } else if line.starts_with("signals ---") {
            self.section = Section::Named("signal");
        } else if line.starts_with("faults ---") {
            self.section = Section::Named("fault");
        } else if !self.row(line, out) {
            self.others.add(at, line);
        }
    }

    fn row(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if line.bytes().all(|b| matches!(b, b'-' | b' ' | b'\t')) {
            return true;
        }
        let words: Vec<&str> = line.split_ascii_whitespace().take(5).collect();
        match (self.section, words.as_slice()) {
            (Section::Named(_), ["total:", _]) => true,
            (Section::Named(kind), [name, count]) => {
                let Some(count) = number(count) else { return false };
                let t = self.reports.last();
                out.metric(t, None, &format!("truss.{kind}s"), &format!("{kind}={name}"), count, "");
                true
            }
            // FreeBSD's totals have no name; they follow from the rows.
            (Section::Calls, [a, b, c]) if [a, b, c].iter().all(|w| number(w).is_some()) => {
                self.own(false);
                true
            }
            (Section::Calls, [name, seconds, counts @ ..]) if matches!(counts.len(), 1 | 2) => {
                let count = |i: usize| counts.get(i).map(|c| number(c));
                let (Some(seconds), Some(Some(calls))) = (number(seconds), count(0)) else { return false };
                let errors = match count(1) {
                    None => Some(0.0),
                    Some(None) => return false,
                    Some(errors) => errors,
                };
                let figures = Figures { calls: Some(calls), errors, ..Figures::default() };
                self.rows.push(((*name).to_owned(), seconds, figures));
                if self.rows.len() > 1 << 16 {
                    self.own(true);
                }
                true
            }
            _ => false,
        }
    }

    /// The seconds of the rows are CPU time, or elapsed time.
    fn own(&mut self, cpu: bool) {
        for (name, seconds, figures) in self.rows.drain(..) {
            let figures = if cpu {
                Figures { cpu_s: Some(seconds), ..figures }
            } else {
                Figures { elapsed_s: Some(seconds), ..figures }
            };
            self.calls.add(&name, figures);
        }
    }

    fn end(&mut self, out: &mut Out<'_>, seconds: Option<f64>) {
        self.own(true);
        self.section = Section::Outside;
        if !self.calls.is_empty() {
            let t = self.reports.next(out, seconds);
            self.calls.flush(out, t, seconds);
        }
    }
}

/// `elapsed:               22.810`
fn timed(line: &str, name: &str) -> Option<f64> {
    number(line.strip_prefix(name)?.trim())
}
