//! Serving benchmarks of language models: `vllm bench serve` (before that `benchmark_serving.py`) and `bench_serving` of SGLang.
//!
//! TTFT is the time to the first token, TPOT the mean time of each further token of a request, ITL the time between two tokens.
//! Latencies are of whole requests, where the run measured them. Throughput is in requests; tokens per second have separate
//! names. Requests that failed are in no latency.

use serde_json::{Map, Value};

use super::names::{self, Name, Results};
use crate::{Family, Format, Head, Input, Out, Sure, json, number};

/// Importer for vLLM bench serve, SGLang bench_serving.
pub static FORMAT: Format = Format {
    name: "vllm-bench",
    summary: "vLLM bench serve, SGLang bench_serving: Serving Benchmark Result, JSON result",
    family: Family::Load,
    tables: &[],
    example: "\
============ Serving Benchmark Result ============
Successful requests:                     1000
Benchmark duration (s):                  57.43
Request throughput (req/s):              17.41
Mean TTFT (ms):                          21.59
",
    sniff,
    read,
};

fn is_title(line: &str) -> bool {
    line.starts_with("====") && line.ends_with("====") && line.trim_matches('=').trim() == "Serving Benchmark Result"
}

fn sniff(head: &Head<'_>) -> Sure {
    let keys = ["\"mean_ttft_ms\"", "\"median_ttft_ms\"", "\"request_throughput\"", "\"completed\"", "\"mean_itl_ms\""];
    // Lists of every request may be between them.
    let json =
        head.text.trim_start().starts_with('{') && keys.iter().filter(|key| head.text.contains(**key)).count() >= 3;
    let text = head.any(is_title) && head.any(|l| l.starts_with("Successful requests:"));
    Sure::Certain.when(json || text)
}

/// Results may have the length and text of every request.
const MAX_BYTES: usize = 256 << 20;

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    if input.head().trim_start().starts_with('{') {
        read_json(input, out);
    } else {
        read_text(input, out);
    }
}

/// Meaning of a figure.
#[derive(Clone, Copy)]
enum Figure {
    Known(Name),
    Other(&'static str, &'static str, &'static str),
}

/// Names in the text, in JSON, and what they are.
const FIGURES: [(&str, &str, Figure); 16] = [
    ("Successful requests", "completed", Figure::Known(names::TRANSACTIONS)),
    ("Failed requests", "failed", Figure::Known(names::ERRORS)),
    ("Maximum request concurrency", "max_concurrency", Figure::Known(names::CLIENTS)),
    ("Max request concurrency", "max_concurrency", Figure::Known(names::CLIENTS)),
    ("Request rate configured (RPS)", "request_rate", Figure::Known(names::OFFERED_PER_S)),
    ("Traffic request rate", "request_rate", Figure::Known(names::OFFERED_PER_S)),
    ("Benchmark duration (s)", "duration", Figure::Known(names::ELAPSED)),
    ("Request throughput (req/s)", "request_throughput", Figure::Known(names::THROUGHPUT)),
    ("Request goodput (req/s)", "request_goodput", Figure::Other("goodput", "/s", "higher")),
    ("Total input tokens", "total_input_tokens", Figure::Other("input_tokens", "", "neither")),
    ("Total generated tokens", "total_output_tokens", Figure::Other("output_tokens", "", "neither")),
    ("Input token throughput (tok/s)", "input_throughput", Figure::Other("input_tokens_per_s", "/s", "higher")),
    ("Output token throughput (tok/s)", "output_throughput", Figure::Other("output_tokens_per_s", "/s", "higher")),
    ("Total token throughput (tok/s)", "total_token_throughput", Figure::Other("total_tokens_per_s", "/s", "higher")),
    ("Total Token throughput (tok/s)", "total_token_throughput", Figure::Other("total_tokens_per_s", "/s", "higher")),
    ("Concurrency", "concurrency", Figure::Known(names::CONCURRENCY)),
];

fn write(figure: Figure, value: Option<f64>, results: &mut Results, out: &mut Out<'_>) {
    match figure {
        Figure::Known(name) => results.set(out, name, value),
        Figure::Other(name, unit, better) => results.named(out, name, "", value, unit, better),
    }
}

/// Writes `mean`, `median`, `std`, `p99`, … of a time in milliseconds.
fn time(stat: &str, what: &str, ms: Option<f64>, results: &mut Results, out: &mut Out<'_>) -> bool {
    let percent = match stat {
        "median" => Some(50.0),
        "min" => Some(0.0),
        "max" => Some(100.0),
        _ => stat.strip_prefix('p').and_then(number),
    };
    let stat = match (percent, stat) {
        (Some(percent), _) => names::percentile_name(percent),
        (None, "mean") => "mean".to_owned(),
        (None, "std") => "sd".to_owned(),
        (None, _) => return false,
    };
    let what = match what {
        "ttft" | "tpot" | "itl" => what,
        // Of the whole request.
        "e2el" | "e2e_latency" | "e2e latency" => "latency",
        _ => return false,
    };
    results.named(out, &format!("{what}_{stat}"), "", ms, "ms", "lower");
    true
}

fn read_text(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut runs = 0;
    let mut results = Results::default();
    // The text around the result is a log.
    let mut within = false;
    input.each_line(|number_, text| {
        let line = text.trim();
        if is_title(line) {
            (runs, within) = (runs + 1, true);
            results = Results::nth(runs);
        } else if within && line.starts_with("====") {
            within = false;
        } else if within && !line.is_empty() && !line.starts_with("---") && !figure(line, &mut results, out) {
            out.unknown(number_, line, "no figure of a serving benchmark");
        }
    });
}

/// `Mean TTFT (ms):                          21.59`
fn figure(line: &str, results: &mut Results, out: &mut Out<'_>) -> bool {
    let Some((name, value)) = line.rsplit_once(':') else { return false };
    let (name, text) = (name.trim(), value.trim());
    let value = number(text);
    if let Some((.., figure)) = FIGURES.iter().find(|(printed, ..)| *printed == name) {
        write(*figure, value, results, out);
        // Without a limit or a rate there is none to name.
        return value.is_some() || matches!(text, "inf" | "None" | "not set");
    }
    let lower = name.to_ascii_lowercase();
    let stat = lower.strip_suffix(" (ms)").and_then(|rest| rest.split_once(' '));
    if stat.is_some_and(|(stat, what)| time(stat, what, value, results, out)) {
        return value.is_some();
    }
    match value {
        Some(value) => out.metric(None, None, &format!("vllm-bench.{name}"), "", value, ""),
        None => out.fact("load", &format!("vllm-bench {name}"), text),
    }
    true
}

fn read_json(input: &mut Input<'_>, out: &mut Out<'_>) {
    let Some(all) = input.whole(MAX_BYTES) else {
        out.note(None, "the document is too long");
        return;
    };
    if let Some(document) = json::object(&all) {
        document_of(&document, 1, out);
        return;
    }
    // SGLang appends a line for each run.
    let mut runs = 0;
    for (i, line) in all.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match json::object(line) {
            Some(document) => {
                runs += 1;
                document_of(&document, runs, out);
            }
            None => out.unknown(i as u64 + 1, line, "no complete result"),
        }
    }
}

fn document_of(document: &Map<String, Value>, run: u32, out: &mut Out<'_>) {
    let mut results = Results::nth(run);
    let mut seen = Vec::new();
    for (_, key, figure) in FIGURES {
        let value = document.get(key).and_then(Value::as_f64);
        if !seen.contains(&key) {
            seen.push(key);
            write(figure, value, &mut results, out);
        }
    }
    for (key, value) in document {
        let stat = key.strip_suffix("_ms").and_then(|rest| rest.split_once('_'));
        let timed = stat.zip(value.as_f64());
        if timed.is_some_and(|((stat, what), ms)| time(stat, what, Some(ms), &mut results, out)) {
            continue;
        }
        match value {
            Value::Number(n) if !seen.contains(&key.as_str()) => {
                out.metric(None, None, &format!("vllm-bench.{key}"), "", n.as_f64(), "");
            }
            Value::String(text) if run == 1 && key != "tag" => out.fact("load", &format!("vllm-bench {key}"), text),
            _ => {}
        }
    }
}
