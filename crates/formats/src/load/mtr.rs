//! `mtr` in its report (`-r`, `-w`, `-b`), `--csv` and `--json`: loss and round trips to each hop on the way to a target.
//!
//! A hop is named by its number and host, `2 10.0.0.1`; what the last one has is what the target has.

use serde_json::Value;

use super::names::{self, Name, Results};
use crate::{Family, Format, Head, Input, Out, Sure, json::object, number, procps::moments::is_prompt};

/// Importer for mtr -r, --csv and --json.
pub static FORMAT: Format = Format {
    name: "mtr",
    summary: "mtr -r, --csv and --json: packet loss and round-trip time to each hop",
    family: Family::Load,
    tables: &[],
    example: "\
Start: 2026-11-21T08:19:08+0000
HOST: db1                         Loss%   Snt   Last   Avg  Best  Wrst StDev
  1.|-- gateway                    0.0%    10    0.3   0.4   0.3   0.6   0.1
  2.|-- web1                      10.0%    10    1.1   1.3   1.0   2.0   0.3
",
    sniff,
    read,
};

/// Text of a JSON report.
const MOST_BYTES: usize = 1 << 20;

/// Results of the columns. `Last` is one reply of many, `Drop` and `Rcv` follow from the others.
const COLUMNS: &[(&str, Name)] = &[
    ("Loss%", names::LOST_SHARE),
    ("Snt", names::REQUESTS),
    ("Rcv", names::TRANSACTIONS),
    ("Avg", names::LATENCY_MEAN),
    ("Best", names::LATENCY_MIN),
    ("Wrst", names::LATENCY_MAX),
    ("StDev", names::LATENCY_SD),
    ("Javg", names::JITTER),
];
/// Columns that are known and not kept.
const OTHERS: &[&str] = &["Last", "Drop", "Gmean", "Jttr", "Jmax", "Jint", ""];

fn sniff(head: &Head<'_>) -> Sure {
    let json = head.first().starts_with('{')
        && ["\"report\"", "\"mtr\"", "\"hubs\"", "\"Loss%\""].iter().all(|word| head.text.contains(word));
    let csv = |line: &str| line.starts_with("Mtr_Version,Start_Time,Status,Host,Hop,Ip,");
    Sure::Certain.when(json || head.any(|line| titles(line).is_some() || csv(line)))
}

/// The titles of a report's columns behind its host.
fn titles(line: &str) -> Option<Vec<&str>> {
    let rest = line.trim().strip_prefix("HOST: ")?;
    let titles: Vec<&str> = rest.split_ascii_whitespace().skip_while(|word| *word != "Loss%").collect();
    (titles.len() >= 3 && titles.iter().all(|title| is_known(title))).then_some(titles)
}

fn is_known(title: &str) -> bool {
    COLUMNS.iter().any(|(name, _)| *name == title) || OTHERS.contains(&title)
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    if input.head().trim_start().starts_with('{') {
        return json(input, out);
    }
    let mut reports = 0u32;
    let mut results = Results::default();
    let mut columns: Vec<String> = Vec::new();
    let mut csv = false;
    input.each_line(|at, line| {
        let line = line.trim();
        if let Some(titles) = titles(line) {
            reports = reports.saturating_add(1);
            (results, csv) = (Results::nth(reports), false);
            columns = titles.into_iter().map(str::to_owned).collect();
        } else if let Some(rest) = line.strip_prefix("Mtr_Version,Start_Time,Status,Host,Hop,Ip,") {
            reports = reports.saturating_add(1);
            (results, csv) = (Results::nth(reports), true);
            columns = rest.split(',').map(|title| title.trim().to_owned()).collect();
        } else if csv && hop_of_csv(line, &columns, &mut results, out)
            || hop(line, &columns, &mut results, out)
            || line.is_empty()
            || line.starts_with("Start: ")
            || line.starts_with("|  `|-- ")
            || line.starts_with("|   |-- ")
            || is_prompt(line, "mtr")
        {
        } else {
            out.unknown(at, line, "no hop under the titles of mtr");
        }
    });
}

/// `2.|-- web1  10.0%  10  1.1  1.3  1.0  2.0  0.3`; `-b` adds the address, `-z` the network.
fn hop(line: &str, columns: &[String], results: &mut Results, out: &mut Out<'_>) -> bool {
    let Some((place, rest)) = line.split_once(".|-- ") else { return false };
    if place.parse::<u32>().is_err() || columns.is_empty() {
        return false;
    }
    let cells: Vec<&str> = rest.split_ascii_whitespace().collect();
    let Some(names) = cells.len().checked_sub(columns.len()).filter(|names| *names > 0) else { return false };
    let operation = format!("{place} {}", cells[..names].join(" "));
    write(&operation, columns.iter().map(String::as_str).zip(cells[names..].iter().copied()), results, out);
    true
}

/// `MTR.0.95,1795611212,OK,127.0.0.1,1,localhost,0.00,3,0,0.05,0.05,0.05,0.05,0.00`
fn hop_of_csv(line: &str, columns: &[String], results: &mut Results, out: &mut Out<'_>) -> bool {
    let cells: Vec<&str> = line.split(',').collect();
    if !line.starts_with("MTR.") || cells.len() < 6 + columns.iter().filter(|c| !c.is_empty()).count() {
        return false;
    }
    let operation = format!("{} {}", cells[4], cells[5]);
    write(&operation, columns.iter().map(String::as_str).zip(cells[6..].iter().copied()), results, out);
    true
}

/// The results of one hop. Nothing came back of one that is not known: it has no round trips.
fn write<'c>(
    operation: &str,
    cells: impl Iterator<Item = (&'c str, &'c str)>,
    results: &mut Results,
    out: &mut Out<'_>,
) {
    let cells: Vec<_> = cells.map(|(title, cell)| (title, number(cell.trim_end_matches('%')))).collect();
    let is_silent = cells.iter().any(|(title, value)| *title == "Loss%" && value.is_some_and(|lost| lost >= 100.0));
    for (title, value) in cells {
        let Some((_, name)) = COLUMNS.iter().find(|(known, _)| *known == title) else { continue };
        if !(is_silent && name.is_time()) {
            results.of(out, *name, operation, value);
        }
    }
}

fn json(input: &mut Input<'_>, out: &mut Out<'_>) {
    let Some(text) = input.whole(MOST_BYTES) else {
        out.note(None, "a report of mtr that is longer than one can be");
        return;
    };
    let report = object(&text).and_then(|mut whole| match whole.remove("report") {
        Some(Value::Object(report)) => Some(report),
        _ => None,
    });
    let Some(hubs) = report.as_ref().and_then(|report| report.get("hubs")).and_then(Value::as_array) else {
        out.note(None, "no `report` with `hubs`, as mtr --json prints it");
        return;
    };
    let mut results = Results::default();
    for hub in hubs.iter().filter_map(Value::as_object) {
        let word = |name: &str| match hub.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let operation = format!("{} {}", word("count"), word("host"));
        let cells: Vec<(&str, String)> = hub.keys().map(|key| (key.as_str(), word(key))).collect();
        write(&operation, cells.iter().map(|(title, cell)| (*title, cell.as_str())), &mut results, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{detect, fixtures::read, load::tests::result};

    #[test]
    fn hops_have_results_and_silent_ones_no_round_trips() {
        let text = "\
HOST: db1                         Loss%   Snt   Last   Avg  Best  Wrst StDev
  1.|-- gateway (10.0.0.1)         0.0%    10    0.3   0.4   0.3   0.6   0.1
  2.|-- ???                       100.0    10    0.0   0.0   0.0   0.0   0.0
";
        assert_eq!(detect(&Head { text }).unwrap().name, "mtr");
        let read = read(&FORMAT, text.as_bytes());
        assert_eq!(result(&read.text, "latency_mean[1 gateway (10.0.0.1)]"), Some(0.4));
        assert_eq!(result(&read.text, "lost_share[2 ???]"), Some(100.0));
        assert_eq!(result(&read.text, "latency_mean[2 ???]"), None);
        assert_eq!(read.tally.notes, 0, "{}", read.text);
    }

    #[test]
    fn a_list_of_hosts_is_no_report() {
        for text in ["HOST: db1\nLoss% of it: none\n", "HOST: a Loss% b\n 1.|-- x\n", "{\"report\":{\"hubs\":[]}}\n"] {
            assert!(detect(&Head { text }).is_none(), "{text}");
        }
    }
}
