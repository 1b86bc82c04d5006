//! `sadf -d`: a header line for each section, and figures between semicolons.
//!
//! The columns of interrupts are headed `CPU*`: which CPUs they are follows from the section of the CPUs,
//! where a CPU that is offline has no line.

use std::borrow::Cow;

use fenxi_model::Micros;
use rustc_hash::FxHashMap;

use super::{
    moment::{Events, Moments, interval},
    plan::Plan,
    sar,
    write::{Cells, Value, When, Writer},
};
use crate::{Family, Fields, Format, Head, Input, Out, Splitter, Sure};

/// Importer for sadf -d of sysstat.
pub static FORMAT: Format = Format {
    name: "sadf-d",
    summary: "sadf -d of sysstat: semicolon-separated values",
    family: Family::Linux,
    tables: sar::FORMAT.tables,
    example: "\
# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle
db1;600;2026-11-21 08:10:01 UTC;-1;12.03;0.00;3.10;0.25;0.00;84.62
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let restart = |line: &str| line.split(';').nth(3).is_some_and(|f| f.starts_with("LINUX-RESTART"));
    Sure::Certain.when(head.any(|line| line.starts_with("# hostname;interval;timestamp") || restart(line)))
}

/// Number of fields before the figures: host, interval, time.
const LEAD: usize = 3;

struct Reader {
    moments: Moments,
    events: Events,
    plan: Option<Plan>,
    /// Plans for interrupts, by the CPUs that they have.
    interrupts: FxHashMap<String, Plan>,
    section: Part,
    /// The CPUs that had lines, from which time on, where they changed.
    cpus: Vec<(Micros, String)>,
    /// The CPUs that have had lines at a time so far.
    now: (Micros, String),
    writer: Writer,
}

/// Which part of the report has begun, as far as that matters here.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Cpus,
    Interrupts,
    Other,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        moments: Moments::new(out),
        events: Events::default(),
        plan: None,
        interrupts: FxHashMap::default(),
        section: Part::Other,
        cpus: Vec::new(),
        now: (Micros(0), String::new()),
        writer: Writer::new(),
    };
    let mut splitter = Splitter::default();
    while input.line().is_some() {
        let (number, line) = (input.number(), input.text());
        if let Some(header) = line.strip_prefix('#') {
            reader.header(number, header.trim(), out);
        } else if !line.trim().is_empty() {
            let fields = splitter.at(line, b';');
            reader.line(number, line, &fields, out);
        }
    }
    reader.writer.flush(out);
}

impl Reader {
    fn header(&mut self, number: u64, header: &str, out: &mut Out<'_>) {
        let mut names: Vec<&str> = header.split(';').skip(LEAD).map(str::trim).collect();
        if names.starts_with(&["manufact", "product"]) {
            // The header has them first, the lines have them last, and they are one name.
            names.rotate_left(2);
        }
        self.now_is_over();
        if names.iter().any(|n| n.contains("[...]")) {
            out.unknown(number, header, "several sections in one line (sadf -h); leave -h off");
            self.plan = None;
            return;
        }
        self.section = match names[..] {
            ["CPU", .., "%idle"] => Part::Cpus,
            ["INTR", "CPU*"] => Part::Interrupts,
            _ => Part::Other,
        };
        self.plan = Some(Plan::of_header(&names));
    }

    fn line(&mut self, number: u64, line: &str, fields: &Fields<'_>, out: &mut Out<'_>) {
        let Some(t) = self.moments.read(fields.get(2)).filter(|_| fields.len() > LEAD) else {
            out.unknown(number, line, "not host, interval and time between semicolons");
            return;
        };
        out.set_host(fields.get(0));
        let first = fields.get(LEAD);
        if first.starts_with("LINUX-RESTART") {
            self.now_is_over();
            let text = first.replace("LINUX-RESTART", "LINUX RESTART");
            self.events.add(t, "restart", &text, out);
            return;
        }
        if let Some(comment) = first.strip_prefix("COM ") {
            // A comment may hold semicolons.
            let at = line.find("COM ").map_or(comment, |at| &line[at + 4..]);
            self.events.add(t, "comment", at, out);
            return;
        }
        let dt = interval(fields.get(1));
        let when = When { t, dt, boot: false };
        let tail = self.plan.as_ref().filter(|plan| plan.tail).map(|plan| plan.columns - 1);
        let cells = Cut(fields.from(LEAD), tail);
        match self.section {
            Part::Interrupts => self.interrupt(number, when, &cells, out),
            section => {
                let Some(plan) = &self.plan else { return };
                let one_name = usize::from(plan.tail && cells.0.len() > plan.columns);
                if cells.0.len() != plan.columns + one_name {
                    out.wrong_count(number, line, cells.0.len(), plan.columns);
                    return;
                }
                self.writer.row(out, number, when, plan, &cells);
                if section == Part::Cpus && first != "-1" {
                    self.see_cpu(t, first);
                }
            }
        }
    }

    fn see_cpu(&mut self, t: Micros, name: &str) {
        if self.now.0 != t {
            self.now_is_over();
            self.now.0 = t;
        }
        self.now.1.push(' ');
        self.now.1.push_str(name);
    }

    /// All CPUs of a time have been seen: remembers them where they differ from those before.
    fn now_is_over(&mut self) {
        if !self.now.1.is_empty() && self.cpus.last().is_none_or(|(_, names)| *names != self.now.1) {
            self.cpus.push((self.now.0, self.now.1.clone()));
        }
        self.now.1.clear();
    }

    fn interrupt(&mut self, number: u64, when: When, cells: &Cut<'_>, out: &mut Out<'_>) {
        let n = cells.0.len().saturating_sub(1);
        let at = self.cpus.partition_point(|(since, _)| *since <= when.t);
        let known = at.checked_sub(1).map(|at| self.cpus[at].1.as_str());
        let mut names = known.filter(|names| names.split_ascii_whitespace().count() + 1 == n).unwrap_or("").to_owned();
        if names.is_empty() && n > 1 {
            out.assume("the CPUs of interrupts are numbered from 0 without a gap, as nothing names them");
            (0..n - 1).for_each(|i| names.push_str(&format!(" {i}")));
        }
        let plan = self.interrupts.entry(names).or_insert_with_key(|names| {
            let cpus: Vec<String> = names.split_ascii_whitespace().map(|n| format!("CPU{n}")).collect();
            let mut headers = vec!["INTR", "all"];
            headers.extend(cpus.iter().map(String::as_str));
            Plan::of_header(&headers)
        });
        self.writer.row(out, number, when, plan, cells);
    }
}

/// The cells of a line, and the one with which a name begins that goes on to the line's end.
struct Cut<'a>(Fields<'a>, Option<usize>);

impl Cells for Cut<'_> {
    fn text(&self, column: usize) -> Cow<'_, str> {
        if self.1 == Some(column) {
            return Cow::Owned(self.0.rest(column).replace(';', " ").trim().to_owned());
        }
        Cow::Borrowed(self.0.get(column))
    }

    fn value(&self, column: usize) -> Value {
        Value::read(self.0.get(column))
    }
}
