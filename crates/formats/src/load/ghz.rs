//! `ghz`, a load generator for gRPC: the summary as text, `-O json` and `-O pretty`.
//!
//! Latencies and the histogram are of the calls that succeeded only. The details of a document, each call with its time, are left
//! out: the summary has their sums.

use fenxi_model::catalog::histogram;
use serde_json::{Map, Value};

use super::{
    names::{self, LATENCY_BUCKETS, Results},
    tree::{entries, figure, objects, text},
    units::milliseconds,
};
use crate::{Family, Format, Head, Input, Out, Sure, json, number};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "ghz",
    summary: "ghz (gRPC): summary, -O json, -O pretty",
    family: Family::Load,
    tables: &[&histogram::TABLE],
    example: "\
Summary:
  Count:\t400
  Total:\t396.92 ms
  Slowest:\t35.89 ms
  Fastest:\t0.83 ms
  Average:\t7.79 ms
  Requests/sec:\t1007.77
",
    sniff,
    read,
};

/// Whether it is a report of ghz: those of other generators do not count first.
pub fn is_report(head: &Head<'_>) -> bool {
    let mut lines = head.lines().skip_while(|l| *l != "Summary:").skip(1);
    let named = lines.next().is_some_and(|l| l.starts_with("Name:"));
    let count = head.lines().skip_while(|l| *l != "Summary:").nth(if named { 2 } else { 1 });
    count.is_some_and(|l| l.starts_with("Count:")) && head.any(|l| l.starts_with("Requests/sec:"))
}

fn sniff(head: &Head<'_>) -> Sure {
    let keys = ["\"endReason\"", "\"options\"", "\"call\"", "\"fastest\"", "\"slowest\"", "\"rps\""];
    let json = head.text.trim_start().starts_with('{') && keys.iter().all(|key| head.text.contains(key));
    Sure::Certain.when(json || is_report(head))
}

/// Details are about a hundred bytes a call.
const MAX_BYTES: usize = 256 << 20;

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    if input.head().trim_start().starts_with('{') {
        read_json(input, out);
        return;
    }
    let mut reader = Reader::default();
    input.each_line(|number, text| {
        let line = text.trim();
        if !line.is_empty() && !reader.line(line, out) {
            out.unknown(number, line, "no line of ghz");
        }
    });
    reader.finish(out);
}

#[derive(Default)]
struct Reader {
    runs: u32,
    results: Results,
    section: String,
    lo: f64,
    errors: Option<f64>,
}

impl Reader {
    fn finish(&mut self, out: &mut Out<'_>) {
        self.results.set(out, names::ERRORS, self.errors.take());
    }

    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if let Some(title) = line.strip_suffix(':') {
            if title == "Summary" {
                self.finish(out);
                self.runs = self.runs.saturating_add(1);
                self.results = Results::nth(self.runs);
            }
            title.clone_into(&mut self.section);
            self.lo = 0.0;
            return TITLES.contains(&title);
        }
        match self.section.as_str() {
            "Summary" => self.summary(line, out),
            "Response time histogram" => self.bar(line, out),
            "Latency distribution" => {
                let Some((percent, time)) = line.split_once(" % in ") else { return false };
                let (percent, ms) = (number(percent), milliseconds(time));
                self.results.percentile(out, percent.unwrap_or(0.0), "", ms.filter(|_| percent.is_some()));
                percent.is_some()
            }
            "Status code distribution" => {
                let Some((code, rest)) = line.strip_prefix('[').and_then(|l| l.split_once(']')) else { return false };
                let count = rest.split_ascii_whitespace().next().and_then(number);
                self.errors = Some(self.errors.unwrap_or(0.0) + count.filter(|_| code != "OK").unwrap_or(0.0));
                count.is_some()
            }
            "Error distribution" => {
                out.fact("load", "ghz error", line);
                true
            }
            _ => false,
        }
    }

    fn summary(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let Some((name, value)) = line.split_once(':') else { return false };
        let (value, ms) = (value.trim(), milliseconds(value));
        let results = &mut self.results;
        match name {
            "Name" => out.fact("load", "ghz name", value),
            "Count" => results.set(out, names::TRANSACTIONS, number(value)),
            "Total" => results.set(out, names::ELAPSED, ms.map(|ms| ms / 1e3)),
            "Slowest" => results.set(out, names::LATENCY_MAX, ms),
            "Fastest" => results.set(out, names::LATENCY_MIN, ms),
            "Average" => results.set(out, names::LATENCY_MEAN, ms),
            "Requests/sec" => results.set(out, names::THROUGHPUT, number(value)),
            _ => return false,
        }
        true
    }

    /// `4.336 [129] |∎∎∎`: the upper bound in milliseconds.
    fn bar(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let Some((hi, rest)) = line.split_once(" [") else { return false };
        let (Some(hi), Some(count)) = (number(hi), rest.split(']').next().and_then(number)) else { return false };
        if count > 0.0 && hi > self.lo {
            out.bucket(None, None, LATENCY_BUCKETS, "", self.lo, hi, "ms", count);
        }
        self.lo = hi;
        true
    }
}

const TITLES: [&str; 5] =
    ["Summary", "Response time histogram", "Latency distribution", "Status code distribution", "Error distribution"];

fn read_json(input: &mut Input<'_>, out: &mut Out<'_>) {
    let Some(document) = input.whole(MAX_BYTES).and_then(|text| json::object(&text)) else {
        out.note(None, "no complete document of ghz");
        return;
    };
    let mut results = Results::default();
    let ms = |object: &Map<String, Value>, key: &str| figure(object, key).map(|ns| ns / 1e6);
    results.set(out, names::TRANSACTIONS, figure(&document, "count"));
    results.set(out, names::ELAPSED, ms(&document, "total").map(|ms| ms / 1e3));
    results.set(out, names::LATENCY_MAX, ms(&document, "slowest"));
    results.set(out, names::LATENCY_MIN, ms(&document, "fastest"));
    results.set(out, names::LATENCY_MEAN, ms(&document, "average"));
    results.set(out, names::THROUGHPUT, figure(&document, "rps"));
    results.set(out, names::CLIENTS, figure(&document, "options/concurrency"));
    results.set(out, names::OFFERED_PER_S, figure(&document, "options/rps").filter(|rate| *rate > 0.0));
    for row in objects(&document, "latencyDistribution") {
        if let Some(percent) = figure(row, "percentage") {
            results.percentile(out, percent, "", ms(row, "latency"));
        }
    }
    let failed = entries(&document, "statusCodeDistribution").filter(|(code, _)| *code != "OK");
    results.set(out, names::ERRORS, failed.filter_map(|(_, n)| n.as_f64()).sum::<f64>());
    for (error, count) in entries(&document, "errorDistribution") {
        out.fact("load", "ghz error", &format!("[{count}]   {error}"));
    }
    for key in ["call", "host"] {
        out.fact("load", &format!("ghz {key}"), text(&document, &format!("options/{key}")));
    }
    let mut lo = 0.0;
    for bucket in objects(&document, "histogram") {
        let (Some(hi), Some(count)) = (figure(bucket, "mark").map(|s| s * 1e3), figure(bucket, "count")) else {
            continue;
        };
        if count > 0.0 && hi > lo {
            out.bucket(None, None, LATENCY_BUCKETS, "", lo, hi, "ms", count);
        }
        lo = hi;
    }
}
