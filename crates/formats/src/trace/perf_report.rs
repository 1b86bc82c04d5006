//! `perf report --stdio`: shares of an event by program, object, symbol or what `--sort` names.
//!
//! `self` is what was sampled in the code itself, `children` includes what it called; `Overhead` is the former. Shares are of the
//! event's periods and rounded to hundredths of a percent. Call chains under a row are left out: `perf script` has them whole. A
//! report cuts branches off below a limit, repeats them under each caller, and shows neither whether shares are of the row or of
//! all samples nor which end is the caller, so that no samples of stacks follow from it.

use fenxi_model::Micros;

use super::{report::Reports, syscalls::Others};
use crate::{Clock, Family, Format, Head, Input, Out, Sure, ctime, generic::labels::Labels, number};

/// Importer for perf report --stdio, with and without children, any --sort.
pub static FORMAT: Format = Format {
    name: "perf-report",
    summary: "perf report --stdio, with and without children, any --sort",
    family: Family::Trace,
    tables: &[],
    example: "\
# Samples: 37  of event 'cpu-clock'
# Event count (approx.): 185929625
#
# Overhead  Command   Shared Object       
    48.65%  python3   libpython3.11.so.1.0
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let samples = head.any(|line| line.starts_with("# Samples: ") && line.contains(" of event"));
    Sure::Certain.when(samples && head.any(|line| line.strip_prefix('#').is_some_and(|line| columns(line).is_some())))
}

/// Columns of shares, and the metric of each.
const SHARES: &[(&str, &str)] = &[
    ("Overhead", "self"),
    ("Self", "self"),
    ("Children", "children"),
    ("sys", "sys"),
    ("usr", "usr"),
    ("guest sys", "guest_sys"),
    ("guest usr", "guest_usr"),
];

/// Columns of counts, and the metric of each.
const COUNTS: &[(&str, &str)] = &[("Samples", "samples"), ("Period", "period")];

/// The names in a header, which two blanks separate; None for a comment that is none.
fn columns(comment: &str) -> Option<Vec<String>> {
    let names: Vec<String> = fields(comment).map(str::to_owned).collect();
    let first = names.first()?;
    let own = first == "Overhead" || first == "Children";
    (own && names.len() > 1 && !comment.contains('%')).then_some(names)
}

/// Fields, separated by two blanks or more.
fn fields(line: &str) -> impl Iterator<Item = &str> {
    line.split("  ").map(str::trim).filter(|field| !field.is_empty())
}

#[derive(Default)]
struct Reader {
    columns: Vec<String>,
    event: String,
    t: Option<Micros>,
    timed: bool,
    reports: Reports,
    others: Others,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader::default();
    input.each_line(|at, line| {
        let bare = line.trim();
        if let Some(comment) = bare.strip_prefix('#') {
            reader.comment(comment.trim(), out);
        } else if !bare.is_empty() {
            reader.row(at, line, out);
        }
    });
    reader.others.tell(out);
}

impl Reader {
    fn comment(&mut self, comment: &str, out: &mut Out<'_>) {
        if let Some(names) = columns(comment) {
            self.columns = names;
        } else if let Some(rest) = comment.strip_prefix("Samples: ") {
            let (count, event) = rest.split_once(" of event").unwrap_or((rest, ""));
            self.event = event.trim_start_matches('s').trim().trim_matches('\'').to_owned();
            self.columns.clear();
            self.total("total_samples", count.trim(), out);
        } else if let Some(count) = comment.strip_prefix("Event count (approx.): ") {
            self.total("total_period", count.trim(), out);
        } else if let Some(count) = comment.strip_prefix("Total Lost Samples: ") {
            self.time(out);
            out.metric(self.t, None, "perf-report.lost_samples", "", number(count.trim()), "");
        } else if let Some((name, value)) = comment.split_once(" : ") {
            self.header(name.trim(), value.trim(), out);
        }
    }

    /// `captured on    : Mon Nov 23 04:47:01 2026`, `hostname : db1` and the like, with `--header`.
    fn header(&mut self, name: &str, value: &str, out: &mut Out<'_>) {
        match name {
            "captured on" => {
                if let Some(read) = ctime(value) {
                    self.t = Some(Clock::new(out.hints()).moment(read.when));
                    self.timed = true;
                }
            }
            "hostname" => out.set_host(value),
            "os release" | "perf version" | "arch" | "cpudesc" | "cmdline" => out.fact("perf-report", name, value),
            _ => {}
        }
    }

    /// A sum of all samples. One that perf rounded, as `12K`, is not taken.
    fn total(&mut self, name: &str, count: &str, out: &mut Out<'_>) {
        self.time(out);
        let labels = self.labels(out);
        if let Some(count) = number(count) {
            out.metric(self.t, None, &format!("perf-report.{name}"), labels.text(), count, "");
        }
    }

    /// Labels that distinguish the report's figures from those of others: a report for each CPU has the same symbols.
    fn labels(&self, out: &Out<'_>) -> Labels {
        let mut labels = Labels::of("event", &self.event);
        labels.push("file", out.hints().label.as_deref().unwrap_or(""));
        labels
    }

    fn time(&mut self, out: &mut Out<'_>) {
        if !self.timed {
            self.timed = true;
            self.t = self.reports.next(out, None);
        }
    }

    fn row(&mut self, at: u64, line: &str, out: &mut Out<'_>) {
        let first = line.split_ascii_whitespace().next().unwrap_or("");
        let is_share = first.strip_suffix('%').and_then(number).is_some();
        // A chain has bars and names; a share in it is alone or between dashes.
        if !is_share {
            if self.columns.is_empty() {
                self.others.add(at, line.trim());
            }
            return;
        }
        let values: Vec<&str> = fields(line).collect();
        if values.len() == 1 {
            return;
        }
        let n = self.columns.len();
        if n == 0 || values.len() < n {
            out.unknown(at, line, &format!("{} values under {n} columns", values.len()));
            return;
        }
        let mut labels = self.labels(out);
        let mut figures = Vec::new();
        for (i, (name, value)) in self.columns.iter().zip(&values).enumerate() {
            // A name may have two blanks in it.
            let rest = if i + 1 == n { values.get(i..).unwrap_or(&[]).join("  ") } else { (*value).to_owned() };
            if let Some((_, metric)) = SHARES.iter().find(|(column, _)| column == name) {
                figures.push((*metric, value.strip_suffix('%').and_then(number), "%"));
            } else if let Some((_, metric)) = COUNTS.iter().find(|(column, _)| column == name) {
                figures.push((*metric, number(value), ""));
            } else {
                labels.push(&key(name), symbol(&rest));
            }
        }
        if figures.iter().any(|(_, value, _)| value.is_none()) {
            out.unknown(at, line, "no shares and counts under the columns of these");
            return;
        }
        for (metric, value, unit) in figures {
            out.metric(self.t, None, &format!("perf-report.{metric}"), labels.text(), value, unit);
        }
    }
}

/// Name of a column in labels.
fn key(column: &str) -> String {
    match column {
        "Command" => "comm".to_owned(),
        "Shared Object" => "object".to_owned(),
        _ => column.to_lowercase().replace([' ', '/', ':'], "_"),
    }
}

/// `[k] clear_page_erms` without the mode before it.
fn symbol(text: &str) -> &str {
    let mode = text.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    mode.filter(|(mode, _)| mode.len() == 1).map_or(text, |(_, name)| name)
}
