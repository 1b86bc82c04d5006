//! `hyperfine`: what it prints, `--export-json` and `--export-csv`.
//!
//! Means are over the runs, each of which is a whole process; user and system times are means of the runs too. The export as JSON
//! also has each run, which becomes a metric numbered by `run`. A result is called after its command.

use serde_json::{Map, Value};

use super::{
    cells::each_row,
    names::{self, Name, Results},
    repeats::Repeats,
    tree::{entries, figure, objects, text},
    units::milliseconds,
};
use crate::{Family, Format, Head, Input, Out, Sure, json, number};

/// Importer for hyperfine.
pub static FORMAT: Format = Format {
    name: "hyperfine",
    summary: "hyperfine: report, --export-json, --export-csv",
    family: Family::Load,
    tables: &[],
    example: "\
Benchmark 1: sleep 0.02
  Time (mean ± σ):      26.8 ms ±   5.8 ms    [User: 1.3 ms, System: 0.2 ms]
  Range (min … max):    21.7 ms …  43.7 ms    12 runs
",
    sniff,
    read,
};

const CSV: &str = "command,mean,stddev,median,user,system,min,max";
/// Each run of a command is in the document.
const MAX_BYTES: usize = 64 << 20;

fn sniff(head: &Head<'_>) -> Sure {
    let begin = head.text.trim_start();
    let json = begin.starts_with('{')
        && begin.trim_start_matches('{').trim_start().starts_with("\"results\"")
        && ["\"command\"", "\"mean\"", "\"stddev\"", "\"median\"", "\"user\"", "\"system\""]
            .iter()
            .all(|k| begin.contains(k));
    let report = head.any(|l| l.starts_with("Time (mean ± σ):") || l.starts_with("Time (abs ≡):"));
    Sure::Certain.when(json || report || head.first().starts_with(CSV))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head().trim_start().to_owned();
    if head.starts_with('{') {
        read_json(input, out);
    } else if head.starts_with(CSV) {
        read_csv(input, out);
    } else {
        read_text(input, out);
    }
}

/// Names of figures in both exports. All of them are seconds.
const FIGURES: [(&str, Name); 7] = [
    ("mean", names::ELAPSED_MEAN),
    ("stddev", names::ELAPSED_SD),
    ("median", names::ELAPSED_MEDIAN),
    ("user", names::USER_MEAN),
    ("system", names::SYSTEM_MEAN),
    ("min", names::ELAPSED_MIN),
    ("max", names::ELAPSED_MAX),
];

/// The command, with the parameters that it does not show.
fn named(command: &str, parameters: &[(String, String)]) -> String {
    let hidden: Vec<String> =
        parameters.iter().filter(|(_, v)| !command.contains(v.as_str())).map(|(k, v)| format!("{k}={v}")).collect();
    if hidden.is_empty() { command.to_owned() } else { format!("{command} {}", hidden.join(" ")) }
}

fn read_json(input: &mut Input<'_>, out: &mut Out<'_>) {
    let Some(document) = input.whole(MAX_BYTES).and_then(|text| json::object(&text)) else {
        out.note(None, "no complete export of hyperfine");
        return;
    };
    let mut repeats = Repeats::default();
    for result in objects(&document, "results") {
        let parameters: Vec<(String, String)> =
            entries(result, "parameters").map(|(k, v)| (k.clone(), v.as_str().unwrap_or("").to_owned())).collect();
        let command = named(text(result, "command"), &parameters);
        let mut results = repeats.next(&command);
        for (key, name) in FIGURES {
            results.of(out, name, &command, figure(result, key));
        }
        runs(result, &command, &mut results, out);
    }
}

/// Each run of a command.
fn runs(result: &Map<String, Value>, command: &str, results: &mut Results, out: &mut Out<'_>) {
    let list = |key: &str| result.get(key).and_then(Value::as_array);
    let Some(times) = list("times") else { return };
    results.of(out, names::ITERATIONS, command, times.len() as f64);
    let failed = list("exit_codes").map(|codes| codes.iter().filter(|code| code.as_f64() != Some(0.0)).count());
    results.of(out, names::ERRORS, command, failed.map(|n| n as f64));
    let command = command.replace(',', "_");
    for (run, time) in times.iter().enumerate() {
        out.metric(None, None, "hyperfine.elapsed", &format!("command={command},run={}", run + 1), time.as_f64(), "s");
    }
    for (run, bytes) in list("memory_usage_byte").into_iter().flatten().enumerate() {
        let labels = format!("command={command},run={}", run + 1);
        out.metric(None, None, "hyperfine.memory", &labels, bytes.as_f64(), "B");
    }
}

fn read_csv(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut repeats = Repeats::default();
    each_row(input, out, &[CSV], |(line, text), _, row, out| {
        let parameters: Vec<(String, String)> =
            row.pairs().filter_map(|(k, v)| Some((k.strip_prefix("parameter_")?.to_owned(), v.to_owned()))).collect();
        let command = named(row.text("command"), &parameters);
        let mut results = repeats.next(&command);
        for (key, name) in FIGURES {
            // One run alone has no deviation.
            if row.figure(key).is_none() && !row.text(key).is_empty() {
                out.unknown(line, text, "a cell is no number");
            }
            results.of(out, name, &command, row.figure(key));
        }
    });
}

/// `26.8 ms ±   5.8 ms`: seconds of both.
fn pair(text: &str, between: char) -> (Option<f64>, Option<f64>) {
    let seconds = |text: &str| milliseconds(text).map(|ms| ms / 1e3);
    match text.split_once(between) {
        Some((a, b)) => (seconds(a), seconds(b)),
        None => (seconds(text), None),
    }
}

fn read_text(input: &mut Input<'_>, out: &mut Out<'_>) {
    let (mut repeats, mut results, mut command) = (Repeats::default(), Results::default(), String::new());
    input.each_line(|number, full| {
        let line = full.rsplit('\r').map(str::trim).find(|part| !part.is_empty()).unwrap_or("");
        if let Some((_, name)) = line.split_once(": ").filter(|(front, _)| is_title(front)) {
            name.clone_into(&mut command);
            results = repeats.next(name);
        } else if let Some(rest) = line.strip_prefix("Time (mean ± σ):").or(line.strip_prefix("Time (abs ≡):")) {
            let (times, more) = rest.split_once('[').unwrap_or((rest, ""));
            let (mean, sd) = pair(times, '±');
            results.of(out, names::ELAPSED_MEAN, &command, mean);
            results.of(out, names::ELAPSED_SD, &command, sd);
            let (user, system) = more.trim_end_matches(']').split_once(", System: ").unwrap_or(("", ""));
            let seconds = |text: &str| milliseconds(text).map(|ms| ms / 1e3);
            results.of(out, names::USER_MEAN, &command, seconds(user.trim_start_matches("User: ")));
            results.of(out, names::SYSTEM_MEAN, &command, seconds(system));
        } else if let Some(rest) = line.strip_prefix("Range (min … max):") {
            range(rest, &command, &mut results, out);
        } else if !line.is_empty() && !is_known(line) {
            out.unknown(number, full, "no line of hyperfine");
        }
    });
}

/// `21.7 ms …  43.7 ms    12 runs`
fn range(rest: &str, command: &str, results: &mut Results, out: &mut Out<'_>) {
    let rest = rest.trim_end();
    let (rest, runs) = match rest.strip_suffix(" runs").and_then(|r| r.rsplit_once(' ')) {
        Some((rest, runs)) => (rest, number(runs)),
        None => (rest, None),
    };
    let (min, max) = pair(rest, '…');
    results.of(out, names::ELAPSED_MIN, command, min);
    results.of(out, names::ELAPSED_MAX, command, max);
    results.of(out, names::ITERATIONS, command, runs);
}

/// `Benchmark 1`, before 1.13 `Benchmark #1`
fn is_title(front: &str) -> bool {
    let digits = front.strip_prefix("Benchmark ").map(|n| n.trim_start_matches('#'));
    digits.is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))
}

/// Remarks on the results: warnings, and how many times faster which is.
fn is_known(line: &str) -> bool {
    let begins = ["Warning: ", "Summary", "Relative speed comparison", "Error: ", "Current estimate:", "Initial time"];
    begins.iter().any(|b| line.starts_with(b))
        || line.ends_with(" ran")
        || line.contains(" times faster than ")
        || line.contains(" times slower than ")
        || line.contains(" ± ") && line.starts_with(|c: char| c.is_ascii_digit())
}
