//! LKP tests: `stats.json` of a run, and `matrix.json`, which has one figure of each run in a list.
//!
//! Each figure is a result by its own name (`monitor.figure`); those of further runs have a number behind it. LKP does not say
//! which direction is good. The fixtures are written by hand.

use serde_json::Value;

use crate::{Family, Format, Head, Input, Out, Sure, json};

/// Importer for LKP tests stats.json, matrix.json.
pub static FORMAT: Format = Format {
    name: "lkp",
    summary: "LKP tests: stats.json, matrix.json",
    family: Family::Load,
    tables: &[],
    example: "\
{
  \"hackbench.throughput\": 90215.1,
  \"time.elapsed_time\": 120.4,
  \"time.user_time\": 310.2
}
",
    sniff,
    read,
};

/// The largest document that is held.
const LONGEST: usize = 64 << 20;

/// A flat object of figures with those of the time that the job took, which LKP always adds.
fn sniff(head: &Head<'_>) -> Sure {
    let object = head.text.trim_start().starts_with('{');
    let own = ["\"time.elapsed_time\":", "\"time.user_time\":"].iter().all(|key| head.text.contains(key));
    Sure::Certain.when(object && own)
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let document = input.whole(LONGEST).and_then(|text| json::object(&text));
    let Some(document) = document else { return out.note(None, "no whole object of figures in JSON") };
    for (name, value) in &document {
        match value {
            Value::Array(runs) => {
                for (i, value) in runs.iter().enumerate() {
                    let number = if i == 0 { String::new() } else { format!("#{}", i + 1) };
                    figure(&format!("{name}{number}"), value, out);
                }
            }
            value => figure(name, value, out),
        }
    }
}

fn figure(name: &str, value: &Value, out: &mut Out<'_>) {
    match value {
        Value::Null => {}
        Value::String(text) => out.fact("lkp", name, text),
        Value::Bool(yes) => out.fact("lkp", name, &yes.to_string()),
        value => match value.as_f64().filter(|value| value.is_finite()) {
            Some(value) => out.result(name, value, unit(name), "neither"),
            None => out.note(None, &format!("no figure of {name}")),
        },
    }
}

/// The unit of the figures of `time`, which GNU time prints.
fn unit(name: &str) -> &'static str {
    match name.split('#').next().unwrap_or(name) {
        "time.elapsed_time" | "time.elapsed_time.max" | "time.user_time" | "time.system_time" => "s",
        "time.percent_of_cpu_this_job_got" => "%",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::FORMAT;
    use crate::{Head, Sure, fixtures::read};

    #[test]
    fn each_run_of_a_matrix_has_a_result() {
        let text = "{\"a.b\": [1, null, 3.5], \"time.elapsed_time\": [10, 11, 12], \"time.user_time\": 5, \"x\": {}}";
        let read = read(&FORMAT, text.as_bytes());
        for line in ["\ta.b\t1\t", "\ta.b#3\t3.5\t", "\ttime.elapsed_time#2\t11\ts\t"] {
            assert!(read.text.contains(line), "{line} {}", read.text);
        }
        assert!(!read.text.contains("a.b#2") && read.tally.notes == 1, "{}", read.text);
    }

    #[test]
    fn other_objects_are_nobodys() {
        for text in ["{\"time.elapsed_time\": 1}", "\"time.elapsed_time\": \"time.user_time\":"] {
            assert_eq!((FORMAT.sniff)(&Head { text }), Sure::No, "{text}");
        }
    }
}
