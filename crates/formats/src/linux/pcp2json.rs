//! `pcp2json` of Performance Co-Pilot, which also reads its archives: metrics by name, with their instances as a label.

use fenxi_model::Micros;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use crate::{Clock, Family, Format, Head, Input, Out, Sure, generic::labels::Labels, json, number, stamp};

/// Importer for pcp2json of Performance Co-Pilot, live or of an archive.
pub static FORMAT: Format = Format {
    name: "pcp2json",
    summary: "pcp2json of Performance Co-Pilot, live or of an archive",
    family: Family::Linux,
    tables: &[],
    example: "\
{
  \"@pcp\": {
    \"@hosts\": [
      {
        \"@host\": \"db1\",
        \"@metrics\": [
          { \"@interval\": \"1\", \"@timestamp\": \"2026-11-25 08:15:39\",
            \"mem\": { \"util\": { \"free\": { \"@unit\": \"Kbyte\", \"value\": \"372452\" } } } }
        ],
        \"@source\": \"local:\",
        \"@timezone\": \"UTC+0\"
      }
    ]
  }
}
",
    sniff,
    read,
};

/// The most of a document that is held in memory.
const MOST_BYTES: usize = 256 << 20;
/// Parts of a metric's name.
const DEEPEST: usize = 32;

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.text.contains("\"@pcp\"") && head.text.contains("\"@hosts\""))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    // Its progress is above the document, each remark a separate object.
    let whole = input.whole(MOST_BYTES);
    let document =
        whole.as_deref().and_then(|text| Some(&text[text.find("{\n  \"@pcp\"").or_else(|| text.find("{\"@pcp\""))?..]));
    let Some(document) = document.and_then(|text| json::object(text.trim_end())) else {
        out.note(None, "no whole document of pcp2json, or more than is held in memory (shorten it with -S and -T)");
        return;
    };
    let hosts = document.get("@pcp").and_then(|pcp| pcp.get("@hosts")).and_then(Value::as_array);
    for host in hosts.into_iter().flatten() {
        let text = |key: &str| host.get(key).and_then(Value::as_str).unwrap_or("");
        out.set_host(text("@host"));
        let mut clock = Clock::new(out.hints());
        // `UTC+0`: other zones are those that times without one are in.
        if matches!(text("@timezone"), "UTC" | "UTC+0" | "UTC-0" | "GMT") {
            clock.set_zone(TimeZone::UTC);
        }
        let mut last: Option<Micros> = None;
        for sample in host.get("@metrics").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
        {
            let Some(stamp) = sample.get("@timestamp").and_then(Value::as_str).and_then(stamp) else {
                out.note(None, "metrics without a time");
                continue;
            };
            let t = stamp.when.moment(&mut clock, out);
            let dt = last.map(|last| t.seconds_since(last)).filter(|dt| *dt > 0.0);
            last = Some(t);
            let mut name = "pcp".to_owned();
            metrics(sample, &mut name, 0, &mut |name, labels, value, unit| {
                let value = match value {
                    Value::Number(n) => n.as_f64(),
                    Value::String(text) => number(text),
                    _ => None,
                };
                out.metric(t, dt, name, labels, value, unit);
            });
        }
    }
}

/// The fields of each value: its metric's name, its instance as a label, the value and its unit.
type Told<'a> = dyn FnMut(&str, &str, &Value, &str) + 'a;

/// Walks the tree of names below `name`.
fn metrics(tree: &Map<String, Value>, name: &mut String, depth: usize, told: &mut Told<'_>) {
    let unit = tree.get("@unit").and_then(Value::as_str).unwrap_or("");
    if let Some(value) = tree.get("value") {
        told(name, "", value, unit);
    }
    for instance in tree.get("@instances").and_then(Value::as_array).into_iter().flatten() {
        if let Some(value) = instance.get("value") {
            let labels = Labels::of("instance", instance.get("name").and_then(Value::as_str).unwrap_or(""));
            told(name, labels.text(), value, unit);
        }
    }
    for (part, below) in tree.iter().filter(|(part, _)| !part.starts_with('@') && depth < DEEPEST) {
        if let Value::Object(below) = below {
            let length = name.len();
            name.push('.');
            name.push_str(part);
            metrics(below, name, depth + 1, told);
            name.truncate(length);
        }
    }
}
