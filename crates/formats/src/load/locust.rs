//! Locust: `*_stats.csv`, `*_stats_history.csv`, `*_failures.csv`, and the tables on the console.
//!
//! Users of a closed loop: latencies suffer from coordinated omission. The history's `Requests/s` is a mean over the seconds before,
//! so rates come from the differences of its totals; its percentiles are of the last ten seconds. Percentiles are rounded by
//! Locust. On the console the tables count from the begin: the last one is read.

use fenxi_model::{Micros, catalog::load};
use rustc_hash::FxHashMap;

use super::{
    cells::{Row, each_row},
    names::{self, Results, percentile_column},
};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// Importer for Locust.
pub static FORMAT: Format = Format {
    name: "locust",
    summary: "Locust: stats, stats history and failures as CSV, console tables",
    family: Family::Load,
    tables: &[&load::TABLE],
    example: "\
Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,Max Response Time,Average Content Size,Requests/s,Failures/s,50%,66%,75%,80%,90%,95%,98%,99%,99.9%,99.99%,100%
GET,/,378,0,7,7.738395550272341,2.44,44.9,3.0,53.93,0.0,7,8,9,11,13,16,22,25,45,45,45
",
    sniff,
    read,
};

const STATS: &str = "Type,Name,Request Count,Failure Count,Median Response Time,";
const HISTORY: &str = "Timestamp,User Count,Type,Name,Requests/s,Failures/s,";
const FAILURES: &str = "Method,Name,Error,Occurrences";

fn is_console_header(line: &str) -> bool {
    line.starts_with("Type ") && line.contains("# reqs") && line.contains("# fails |") && line.contains("failures/s")
}

fn sniff(head: &Head<'_>) -> Sure {
    let first = head.first();
    let csv = [STATS, HISTORY, FAILURES].iter().any(|header| first.starts_with(header));
    Sure::Certain.when(csv || head.any(is_console_header))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let first = input.head().trim_start().to_owned();
    if [STATS, HISTORY, FAILURES].iter().any(|header| first.starts_with(header)) {
        read_csv(input, out);
    } else {
        read_console(input, out);
    }
}

/// Name of an operation: `GET /`, empty for all.
fn operation(kind: &str, name: &str) -> String {
    if name == "Aggregated" || name == "Total" { String::new() } else { format!("{kind} {name}").trim().to_owned() }
}

/// Percentiles in milliseconds; none in an interval without requests.
fn percentiles(row: &Row<'_>) -> impl Iterator<Item = (f64, f64)> {
    let none = row.figure("100%") == Some(0.0);
    let columns = row.pairs().filter(move |_| !none);
    columns.filter_map(|(name, cell)| Some((number(name.strip_suffix('%')?)?, number(cell)?)))
}

/// Requests and failures of an operation, and when.
type Before = FxHashMap<String, (Micros, f64, f64)>;
/// Operations that are followed.
const MOST: usize = 1 << 14;

fn read_csv(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut before = Before::default();
    each_row(input, out, &[STATS, HISTORY, FAILURES], |(line, text), kind, row, out| {
        let known = match kind {
            STATS => stats(row, out),
            HISTORY => history(row, &mut before, out),
            _ => failure(row, out),
        };
        if !known {
            out.unknown(line, text, "a cell is no number");
        }
    });
}

fn stats(row: &Row<'_>, out: &mut Out<'_>) -> bool {
    let operation = operation(row.text("Type"), row.text("Name"));
    let count = row.figure("Request Count");
    let some = count.is_some_and(|n| n > 0.0);
    let of = |name: &str| row.figure(name).filter(|_| some);
    let mut results = Results::default();
    results.of(out, names::TRANSACTIONS, &operation, count);
    results.of(out, names::ERRORS, &operation, row.figure("Failure Count"));
    results.of(out, names::THROUGHPUT, &operation, row.figure("Requests/s"));
    results.of(out, names::ERRORS_PER_S, &operation, row.figure("Failures/s"));
    results.of(out, names::LATENCY_MEAN, &operation, of("Average Response Time"));
    results.of(out, names::LATENCY_MIN, &operation, of("Min Response Time"));
    results.of(out, names::LATENCY_MAX, &operation, of("Max Response Time"));
    // The maximum is exact, the 100 % are rounded.
    for (percent, ms) in percentiles(row).filter(|(percent, _)| *percent < 100.0) {
        results.percentile(out, percent, &operation, ms);
    }
    count.is_some()
}

fn history(row: &Row<'_>, before: &mut Before, out: &mut Out<'_>) -> bool {
    let Some(seconds) = row.figure("Timestamp").filter(|s| (0.0..1e11).contains(s)) else { return false };
    let t = Micros((seconds * 1e6) as i64);
    let operation = operation(row.text("Type"), row.text("Name"));
    let (Some(count), Some(failures)) = (row.figure("Total Request Count"), row.figure("Total Failure Count")) else {
        return false;
    };
    if before.len() >= MOST {
        before.clear();
    }
    let last = before.insert(operation.clone(), (t, count, failures));
    let since = last.map(|(then, n, bad)| (t.seconds_since(then), count - n, failures - bad));
    let since = since.filter(|(dt, n, bad)| *dt > 0.0 && *n >= 0.0 && *bad >= 0.0);
    let dt = since.map_or(1.0, |(dt, ..)| dt);
    for (percent, ms) in percentiles(row).filter(|(percent, _)| percentile_column(*percent).is_none()) {
        let labels =
            if operation.is_empty() { String::new() } else { format!("operation={}", operation.replace(',', "_")) };
        let name = format!("locust.latency_{}", names::percentile_name(percent));
        out.metric(t, dt, &name, &labels, ms, "ms");
    }
    let mut line = out.row(&load::TABLE, t, dt);
    line.str(load::generator, "locust").str(load::operation, Some(operation.as_str()).filter(|o| !o.is_empty()));
    // Users are all of them, whatever they do.
    line.f64(load::clients, row.figure("User Count").filter(|_| operation.is_empty()));
    line.f64(load::transactions_per_s, since.map(|(dt, n, _)| n / dt));
    line.f64(load::errors_per_s, since.map(|(dt, _, bad)| bad / dt));
    for (percent, ms) in percentiles(row) {
        if let Some(column) = percentile_column(percent) {
            line.f64(column, ms);
        }
    }
    true
}

fn failure(row: &Row<'_>, out: &mut Out<'_>) -> bool {
    let count = row.figure("Occurrences");
    let clean = |name: &str| row.text(name).replace(',', "_");
    let labels = format!("operation={} {},error={}", clean("Method"), clean("Name"), clean("Error"));
    out.metric(None, None, "locust.failures", &labels, count, "");
    count.is_some()
}

/// A table's lines, until the next table replaces them.
#[derive(Default)]
struct Console {
    rows: Vec<(String, [f64; 8])>,
    percents: Vec<f64>,
    errors: bool,
}

fn read_console(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut console = Console::default();
    input.each_line(|number, text| {
        let line = text.trim_end();
        if !line.is_empty() && !console.line(line, out) {
            out.unknown(number, line, "no line of Locust");
        }
    });
    console.write(out);
}

impl Console {
    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if is_console_header(line) {
            self.rows.clear();
            self.percents.clear();
            self.errors = false;
        } else if line.starts_with("Type ") && line.ends_with("# reqs") {
            self.percents = line.split_ascii_whitespace().filter_map(|w| number(w.strip_suffix('%')?)).collect();
        } else if line.starts_with("Error report") {
            self.errors = true;
        } else if line.starts_with("[20") || line.starts_with("---") || self.errors {
            // The log, rules, and what went wrong: the counts are above.
        } else if line.starts_with("Response time percentiles") || line.starts_with("Percentage of the requests") {
            self.write(out);
        } else if let Some(row) = row(line) {
            if self.rows.len() < MOST {
                self.rows.push(row);
            }
        } else {
            return !self.percents.is_empty() && self.percentiles(line, out);
        }
        true
    }

    /// `GET      /       7      9     11     12     17     20     26     29     30     30     30    294`
    fn percentiles(&self, line: &str, out: &mut Out<'_>) -> bool {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let Some(at) = words.len().checked_sub(self.percents.len() + 1) else { return false };
        let (Some(name), Some(values)) = (words.get(..at), words.get(at..)) else { return false };
        let name = name.join(" ");
        let operation = if name == "Aggregated" { String::new() } else { name };
        let mut results = Results::default();
        let figures: Vec<f64> = values.iter().filter_map(|w| number(w)).collect();
        if figures.len() != values.len() || figures.last() == Some(&0.0) {
            return figures.len() == values.len();
        }
        for (percent, ms) in self.percents.iter().zip(figures).filter(|(percent, _)| **percent < 100.0) {
            results.percentile(out, *percent, &operation, ms);
        }
        true
    }

    fn write(&mut self, out: &mut Out<'_>) {
        for (operation, [count, errors, mean, min, max, _, rate, failures]) in std::mem::take(&mut self.rows) {
            let mut results = Results::default();
            results.of(out, names::TRANSACTIONS, &operation, count);
            results.of(out, names::ERRORS, &operation, errors);
            results.of(out, names::THROUGHPUT, &operation, rate);
            results.of(out, names::ERRORS_PER_S, &operation, failures);
            if count > 0.0 {
                results.of(out, names::LATENCY_MEAN, &operation, mean);
                results.of(out, names::LATENCY_MIN, &operation, min);
                results.of(out, names::LATENCY_MAX, &operation, max);
            }
        }
    }
}

/// `GET      /           294     0(0.00%) |      8       3      29      7 |   61.14        0.00`
fn row(line: &str) -> Option<(String, [f64; 8])> {
    let mut parts = line.rsplitn(3, '|');
    let (rates, times, front) = (parts.next()?, parts.next()?, parts.next()?);
    let figures = |text: &str| -> Option<Vec<f64>> { text.split_ascii_whitespace().map(number).collect() };
    let [mean, min, max, median] = figures(times)?[..] else { return None };
    let [rate, failures] = figures(rates)?[..] else { return None };
    let words: Vec<&str> = front.split_ascii_whitespace().collect();
    let [name @ .., count, errors] = &words[..] else { return None };
    let (count, errors) = (number(count)?, number(errors.split('(').next()?)?);
    let name = name.join(" ");
    let operation = if name == "Aggregated" { String::new() } else { name };
    Some((operation, [count, errors, mean, min, max, median, rate, failures]))
}
