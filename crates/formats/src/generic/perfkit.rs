//! PerfKit Benchmarker: `perfkitbenchmarker_results.json`, one sample in JSON a line.
//!
//! Each sample is a result, called `test.metric`; further samples of the same name, which differ in their labels, have a
//! number behind it. Labels of the first sample are facts; those of the others are left to the input.

use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

use super::labels::symbol;
use crate::{Family, Format, Head, Input, Out, Sure, json};

/// Importer for perfkitbenchmarker_results.json of PerfKit Benchmarker.
pub static FORMAT: Format = Format {
    name: "perfkit",
    summary: "perfkitbenchmarker_results.json of PerfKit Benchmarker",
    family: Family::Generic,
    tables: &[],
    example: "\
{\"metric\": \"Throughput\", \"value\": 9416.5, \"unit\": \"Mbits/sec\", \"labels\": \"|ip_type:internal|\", \
\"product_name\": \"PerfKitBenchmarker\", \"test\": \"iperf\", \"timestamp\": 1795249143.5}
",
    sniff,
    read,
};

/// Names of results that are counted; samples of others beyond have no number.
const MAX_NAMES: usize = 1 << 16;

fn sniff(head: &Head<'_>) -> Sure {
    let first = head.first();
    let has = |key: &str| first.contains(key);
    let named = has("\"product_name\": \"PerfKitBenchmarker\"") || has("\"product_name\":\"PerfKitBenchmarker\"");
    Sure::Certain.when(first.starts_with('{') && named && has("\"metric\":") && has("\"value\":"))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut names: FxHashMap<String, u32> = FxHashMap::default();
    let mut any = false;
    input.each_line(|number, line| {
        if line.trim().is_empty() {
            return;
        }
        let Some(sample) = json::object(line) else {
            return out.unknown(number, line, "no sample in JSON");
        };
        let text = |key: &str| sample.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let (Some(metric), Some(value)) = (text("metric"), sample.get("value").and_then(Value::as_f64)) else {
            return out.unknown(number, line, "no name and value in a sample");
        };
        if !std::mem::replace(&mut any, true) {
            facts(&sample, out);
        }
        let mut name = text("test").map_or(metric.to_owned(), |test| format!("{test}.{metric}"));
        if names.len() < MAX_NAMES || names.contains_key(&name) {
            let times = names.entry(name.clone()).or_insert(0);
            *times += 1;
            if *times > 1 {
                name = format!("{name}#{times}");
            }
        }
        out.result(&name, value, symbol(text("unit").unwrap_or("")), "neither");
    });
}

/// Facts on the run in the first sample.
fn facts(sample: &Map<String, Value>, out: &mut Out<'_>) {
    for key in ["run_uri", "owner"] {
        if let Some(text) = sample.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()) {
            out.fact("perfkit", key, text);
        }
    }
    let labels = sample.get("labels").and_then(Value::as_str).unwrap_or("");
    for label in labels.trim_matches('|').split("|,|") {
        if let Some((key, value)) = label.split_once(':').filter(|(_, value)| !value.is_empty()) {
            out.fact("perfkit label of the first sample", key, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FORMAT;
    use crate::{Head, Sure, fixtures::read};

    #[test]
    fn samples_of_one_name_are_numbered_and_others_are_noted() {
        let sample = |value: &str| {
            format!(
                "{{\"metric\": \"m\", \"value\": {value}, \"unit\": \"seconds\", \"test\": \"t\", \"product_name\": \"PerfKitBenchmarker\", \"labels\": \"|a:1|,|b:x:y|\"}}\n"
            )
        };
        let read = read(&FORMAT, (sample("1.5") + &sample("2") + &sample("\"x\"")).as_bytes());
        assert!(read.text.contains("t.m\t1.5\ts\t"), "{}", read.text);
        assert!(read.text.contains("t.m#2\t2\ts\t"), "{}", read.text);
        assert!(read.text.contains("\tb\tx:y\n"), "{}", read.text);
        assert_eq!(read.tally.notes, 1);
    }

    #[test]
    fn other_json_lines_are_nobodys() {
        let text = "{\"metric\": \"m\", \"value\": 1, \"product_name\": \"other\"}\n";
        assert_eq!((FORMAT.sniff)(&Head { text }), Sure::No);
    }
}
