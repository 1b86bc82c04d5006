//! The lines of `bpftrace -f json`.

use serde::Deserialize;
use serde_json::Value;

/// One line: what it is, and its content.
#[derive(Debug, Deserialize)]
pub(super) struct Line {
    #[serde(rename = "type")]
    kind: String,
    data: Value,
}

/// A line of JSON as bpftrace prints it.
pub(super) fn line(text: &str) -> Option<Line> {
    if !text.starts_with("{\"type\"") {
        return None;
    }
    let line: Line = serde_json::from_str(text).ok()?;
    const KINDS: [&str; 10] =
        ["attached_probes", "lost_events", "printf", "time", "map", "hist", "stats", "join", "syscall", "value"];
    KINDS.contains(&line.kind.as_str()).then_some(line)
}

/// The content of a line.
pub(super) enum Item {
    Number {
        name: String,
        key: Option<String>,
        value: f64,
    },
    Distribution {
        name: String,
        key: Option<String>,
        buckets: Vec<(Option<f64>, Option<f64>, f64)>,
    },
    Time(String),
    /// Something that is no number.
    Other,
}

pub(super) fn items(line: &Line) -> Vec<Item> {
    let mut items = Vec::new();
    match line.kind.as_str() {
        "attached_probes" => {}
        "time" => items.push(Item::Time(line.data.as_str().unwrap_or("").to_owned())),
        "printf" => {
            let text = line.data.as_str().unwrap_or("").trim();
            if !text.is_empty() && !text.starts_with("Tracing ") {
                items.push(Item::Other);
            }
        }
        _ => match line.data.as_object() {
            Some(maps) => {
                maps.iter().for_each(|(name, value)| map(name.trim_start_matches('@'), None, value, &mut items))
            }
            None => items.push(Item::Other),
        },
    }
    items
}

/// The figures of `count`, `average` and `total` of `stats()`.
const STATS: [&str; 3] = ["count", "average", "total"];

fn map(name: &str, key: Option<&str>, value: &Value, items: &mut Vec<Item>) {
    let key_text = || key.map(str::to_owned);
    if let Some(value) = value.as_f64() {
        items.push(Item::Number { name: name.to_owned(), key: key_text(), value });
    } else if let Some(buckets) = value.as_array() {
        let side = |bucket: &Value, side: &str| bucket.get(side).and_then(Value::as_f64);
        let read = |bucket: &Value| {
            let count = side(bucket, "count")?;
            Some((side(bucket, "min"), side(bucket, "max").map(|max| max + 1.0), count))
        };
        let buckets = buckets.iter().filter_map(read).collect();
        items.push(Item::Distribution { name: name.to_owned(), key: key_text(), buckets });
    } else if let Some(inner) = value.as_object() {
        let stats = inner.len() == STATS.len() && STATS.iter().all(|s| inner.contains_key(*s));
        for (inner_key, value) in inner {
            if stats {
                map(&format!("{name}.{inner_key}"), key, value, items);
            } else if key.is_none() {
                map(name, Some(inner_key), value, items);
            } else {
                items.push(Item::Other);
            }
        }
    } else {
        items.push(Item::Other);
    }
}
