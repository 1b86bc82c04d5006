//! pbench: `result.json`, which its post-processing of benchmarks writes: throughput, latency and resources of each iteration.
//!
//! Each measurement has the mean of its samples as result and its standard deviation; the samples' time series are metrics. A
//! run has the same figures in the files of its samples and iterations, and all of them in the topmost one. The fixture is written by hand.

use serde_json::{Map, Value};

use fenxi_model::{Micros, catalog::metric};

use super::tree;
use crate::{Family, Format, Head, Input, Out, Relative, Sure, generic::labels::Labels, json};

/// Importer for pbench result.json of its benchmarks.
pub static FORMAT: Format = Format {
    name: "pbench",
    summary: "pbench: result.json of its benchmarks",
    family: Family::Load,
    tables: &[&metric::TABLE],
    example: "\
[{\"iteration_number\": 1, \"iteration_name\": \"1-tcp_stream-64B-1i\", \"iteration_data\":
  {\"parameters\": {\"benchmark\": [{\"benchmark_name\": \"uperf\"}]}, \"throughput\":
   {\"Gb_sec\": [{\"client_hostname\": \"a\", \"mean\": 9.41, \"stddevpct\": 0.3, \"samples\": []}]}}}]
",
    sniff,
    read,
};

/// The largest document that is held.
const LONGEST: usize = 256 << 20;
/// Milliseconds below this, in 1973, are since the start of a sample, as fio counts them, and not since 1970.
const SHORTEST_MOMENT_MS: f64 = 1e11;
/// Kinds of measurements, and which direction is good.
const KINDS: &[(&str, &str)] = &[("throughput", "higher"), ("latency", "lower"), ("resource", "neither")];
/// Facts on a measurement besides what distinguishes it from others.
const OWN: &[&str] =
    &["mean", "stddev", "stddevpct", "closest sample", "samples", "uid", "description", "timeseries", "value"];

fn sniff(head: &Head<'_>) -> Sure {
    let has = |key: &str| head.text.contains(key);
    let list = head.text.trim_start().starts_with('[');
    // Its keys come in any order, and samples may be many.
    let all = has("\"iteration_name\"") && has("\"parameters\"") && has("\"benchmark\"");
    let some = has("\"samples\"") && has("\"closest sample\"");
    Sure::Certain.when(list && has("\"iteration_data\"") && (all || some))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    // The reader of documents takes objects only.
    let document = input.whole(LONGEST).and_then(|text| json::object(&format!("{{\"iterations\":{text}}}")));
    let Some(document) = document else { return out.note(None, "no whole list of iterations in JSON") };
    let mut relative = None;
    for (place, iteration) in tree::objects(&document, "iterations").enumerate() {
        let number = tree::figure(iteration, "iteration_number");
        let number = number.map_or_else(|| (place + 1).to_string(), |number| number.to_string());
        let name = Some(tree::text(iteration, "iteration_name")).filter(|name| !name.is_empty()).unwrap_or(&number);
        parameters(iteration, name, out);
        for (kind, better) in KINDS {
            for (title, list) in tree::entries(iteration, &format!("iteration_data/{kind}")) {
                for one in list.as_array().into_iter().flatten().filter_map(Value::as_object) {
                    measurement((name, title, kind, better), one, &mut relative, out);
                }
            }
        }
    }
}

/// Writes the parameters of the benchmark.
fn parameters(iteration: &Map<String, Value>, name: &str, out: &mut Out<'_>) {
    for object in tree::objects(iteration, "iteration_data/parameters/benchmark") {
        for (key, value) in object {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            if !value.is_null() && key != "uid" && !key.ends_with("_uid") {
                out.fact("pbench", &format!("{name} {key}"), &text);
            }
        }
    }
}

fn measurement(
    (iteration, title, kind, better): (&str, &str, &str, &str),
    one: &Map<String, Value>,
    relative: &mut Option<Relative>,
    out: &mut Out<'_>,
) {
    let mut labels = Labels::of("iteration", iteration);
    for (key, value) in one.iter().filter(|(key, _)| !OWN.contains(&key.as_str())) {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if !value.is_object() && !value.is_array() && !value.is_null() {
            labels.push(key, &text);
        }
    }
    let mean = tree::figure(one, "mean");
    let name = format!("{kind}.{title}");
    if let Some(mean) = mean {
        out.result(&format!("{name}[{}]", labels.text()), mean, unit(title), better);
    } else if tree::at(one, "samples").is_none() {
        out.note(None, &format!("no mean of {name} in {iteration}"));
    }
    let share = tree::figure(one, "stddevpct").zip(mean).map(|(percent, mean)| percent / 100.0 * mean.abs());
    if let Some(sd) = tree::figure(one, "stddev").or(share) {
        out.result(&format!("{name}_sd[{}]", labels.text()), sd, unit(title), "lower");
    }
    for (i, sample) in tree::objects(one, "samples").enumerate() {
        let length = labels.len();
        labels.push("sample", &(i + 1).to_string());
        for point in tree::objects(sample, "timeseries") {
            let t = tree::figure(point, "date").filter(|ms| (0.0..1e14).contains(ms));
            if let (Some(ms), Some(value)) = (t, tree::figure(point, "value")) {
                let t = if ms < SHORTEST_MOMENT_MS {
                    relative.get_or_insert_with(|| Relative::elapsed(out)).after(ms / 1e3)
                } else {
                    Micros((ms * 1e3).round() as i64)
                };
                out.metric(t, None, &format!("pbench.{name}"), labels.text(), value, unit(title));
            }
        }
        labels.cut(length);
    }
}

/// The unit that a title names.
fn unit(title: &str) -> &'static str {
    match title {
        "Gb_sec" => "Gb/s",
        "trans_sec" | "iops_sec" => "/s",
        "usec" => "us",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::FORMAT;
    use crate::{
        Head, Hints, Sure,
        fixtures::{read, read_with},
    };

    #[test]
    fn measurements_are_told_apart_by_what_is_said_about_them() {
        let path = "fixtures/pbench/result.json";
        let read = read(&FORMAT, &fs_err::read(path).unwrap());
        assert_eq!(read.tally.notes, 0, "{}", read.text);
        for line in [
            "throughput.Gb_sec[iteration=1-tcp_stream-64B-1i,client_hostname=c1,server_hostname=s1]\t9.4\tGb/s\thigher",
            "throughput.Gb_sec_sd[iteration=1-tcp_stream-64B-1i,client_hostname=c1,server_hostname=s1]\t0.188\tGb/s",
            "2026-11-23T09:00:01.000000Z\tfixture\tpbench.throughput.Gb_sec",
        ] {
            assert!(read.text.contains(line), "{line}\n{}", read.text);
        }
    }

    #[test]
    fn dates_that_count_from_the_start_are_no_moments_of_1970() {
        let text = FORMAT
            .example
            .replace("\"samples\": []", "\"samples\": [{\"timeseries\": [{\"date\": 1001, \"value\": 7}]}]");
        let start = fenxi_model::Micros::parse("2026-11-21T12:00:00");
        let read = read_with(&FORMAT, text.as_bytes(), Hints { start, ..Hints::none("x") });
        assert!(read.text.contains("2026-11-21T12:00:01.001000Z"), "{}", read.text);
        assert!(!read.text.contains("1970-"), "{}", read.text);
    }

    #[test]
    fn other_lists_are_nobodys() {
        let text = "[{\"iteration_data\": {\"total\": 30}, \"parameters\": 1}]";
        assert_eq!((FORMAT.sniff)(&Head { text }), Sure::No);
    }
}
