//! `ioping`: latency of single requests to a disk or file system, as text and as JSON (`-J`).

use fenxi_model::catalog::histogram;
use serde_json::Value;

use super::{
    names::{self, Results},
    spread::Spread,
    units::milliseconds,
};
use crate::{Family, Format, Head, Input, Out, Sure, json, scaled};

/// Importer for ioping.
pub static FORMAT: Format = Format {
    name: "ioping",
    summary: "ioping: requests and statistics as text, -J as JSON",
    family: Family::Load,
    tables: &[&histogram::TABLE],
    example: "\
4 KiB <<< /tmp (ext4 /dev/vda 252.0 GiB): request=1 time=947.2 us (warmup)
4 KiB <<< /tmp (ext4 /dev/vda 252.0 GiB): request=2 time=165.8 us

--- /tmp (ext4 /dev/vda 252.0 GiB) ioping statistics ---
1 requests completed in 165.8 us, 4 KiB read, 6.03 k iops, 23.6 MiB/s
min/avg/max/mdev = 165.8 us / 165.8 us / 165.8 us / 0 ns
",
    sniff,
    read,
};

/// The most of a document that is read.
const MOST_BYTES: usize = 64 << 20;

fn sniff(head: &Head<'_>) -> Sure {
    let own =
        |line: &str| line.starts_with("--- ") && line.ends_with(" ioping statistics ---") || request(line).is_some();
    Sure::Certain.when(is_json(head.text) || head.any(own))
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('[')
        && ["\"localtime\":", "\"target\":", "\"fstype\":", "\"request\":", "\"ignored\":"]
            .iter()
            .all(|key| text.contains(key))
}

/// `4 KiB <<< /tmp (ext4 /dev/vda 252.0 GiB): request=2 time=165.8 us`: the operation and milliseconds, none of a warm-up.
fn request(line: &str) -> Option<(&'static str, Option<f64>)> {
    let (before, rest) = line.split_once(": request=")?;
    let operation = if before.contains(" <<< ") {
        "read"
    } else if before.contains(" >>> ") {
        "write"
    } else {
        return None;
    };
    let time = rest.split_once(" time=")?.1;
    let (time, counts) =
        time.split_once(" (").map_or((time, true), |(time, remark)| (time, !remark.starts_with("warmup")));
    Some((operation, Some(milliseconds(time)?).filter(|_| counts)))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    if is_json(&input.head()) {
        return document(input, out);
    }
    let mut runs = 0u32;
    let mut results = Results::default();
    let mut spreads = [Spread::default(), Spread::default()];
    while input.line().is_some() {
        let (at, line) = (input.number(), input.text().trim());
        if let Some((operation, ms)) = request(line) {
            if let Some(ms) = ms {
                spreads[usize::from(operation == "write")].add((ms * 1e6) as u64);
            }
        } else if let Some(target) = line.strip_suffix(" ioping statistics ---").and_then(|l| l.strip_prefix("--- ")) {
            runs = runs.saturating_add(1);
            results = Results::nth(runs);
            out.fact("load", "ioping target", target);
        } else if line.contains(" requests completed in ") {
            completed(line, &mut results, out);
        } else if let Some(figures) = line.strip_prefix("min/avg/max/mdev = ") {
            let order = [names::LATENCY_MIN, names::LATENCY_MEAN, names::LATENCY_MAX, names::LATENCY_SD];
            for (name, value) in order.into_iter().zip(figures.split('/').map(milliseconds)) {
                results.set(out, name, value);
            }
        } else if !is_known(line) {
            out.unknown(at, line, "no line of ioping");
        }
    }
    for (spread, operation) in spreads.iter().zip(["read", "write"]) {
        spread.write_buckets(out, &format!("operation={operation}"), 1e-6);
    }
}

/// Whether a line repeats others.
fn is_known(line: &str) -> bool {
    line.is_empty() || line == "^C" || line.starts_with("generated ") && line.contains(" requests in ")
}

/// `19 requests completed in 8.76 ms, 76 KiB read, 2.17 k iops, 8.47 MiB/s`
fn completed(line: &str, results: &mut Results, out: &mut Out<'_>) {
    let Some((count, rest)) = line.split_once(" requests completed in ") else { return };
    let scale = |text: &str| scaled(&text.replace(' ', ""), 1000.0);
    results.set(out, names::TRANSACTIONS, scale(count));
    for (i, part) in rest.split(", ").enumerate() {
        if i == 0 {
            results.set(out, names::BUSY, milliseconds(part).map(|ms| ms / 1e3));
        } else if let Some(rate) = part.strip_suffix(" iops") {
            results.set(out, names::THROUGHPUT, scale(rate));
        } else if let Some(rate) = part.strip_suffix("/s") {
            results.set(out, names::TRANSFER_BYTES_PER_S, scale(rate));
        } else if let Some((bytes, _)) = part.rsplit_once(' ') {
            results.set(out, names::TRANSFER_BYTES, scale(bytes));
        }
    }
}

/// Nanoseconds in the document.
const MS_OF_NS: f64 = 1e-6;

fn document(input: &mut Input<'_>, out: &mut Out<'_>) {
    let whole = input.whole(MOST_BYTES).and_then(|text| json::object(&format!("{{\"all\":{text}}}")));
    let Some(Value::Array(all)) = whole.as_ref().and_then(|object| object.get("all")) else {
        out.note(None, "no whole list of JSON");
        return;
    };
    let mut spread = Spread::default();
    let mut runs = 0u32;
    let figure = |of: &Value, name: &str, scale: f64| of.get(name).and_then(Value::as_f64).map(|v| v * scale);
    for one in all {
        let io = one.get("io").filter(|io| io.get("ignored") == Some(&Value::Bool(false)));
        if let Some(ns) = io.and_then(|io| io.get("time")).and_then(Value::as_u64) {
            spread.add(ns);
        }
        let Some(stat) = one.get("stat") else { continue };
        runs = runs.saturating_add(1);
        let mut results = Results::nth(runs);
        for (name, key, scale) in [
            (names::TRANSACTIONS, "count", 1.0),
            (names::TRANSFER_BYTES, "size", 1.0),
            (names::BUSY, "time", 1e-9),
            (names::THROUGHPUT, "iops", 1.0),
            (names::TRANSFER_BYTES_PER_S, "bps", 1.0),
            (names::LATENCY_MIN, "min", MS_OF_NS),
            (names::LATENCY_MEAN, "avg", MS_OF_NS),
            (names::LATENCY_MAX, "max", MS_OF_NS),
            (names::LATENCY_SD, "mdev", MS_OF_NS),
        ] {
            results.set(out, name, figure(stat, key, scale));
        }
        let text = |key: &str| one.get("target").and_then(|t| t.get(key)).and_then(Value::as_str).unwrap_or("");
        out.fact("load", "ioping target", &format!("{} ({} {})", text("path"), text("fstype"), text("device")));
    }
    spread.write_buckets(out, "", MS_OF_NS);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warm_up_does_not_count() {
        let line = "4 KiB <<< /tmp (ext4 /dev/vda 252.0 GiB): request=2 time=165.8 us";
        assert_eq!(request(line), Some(("read", milliseconds("165.8us"))));
        assert_eq!(request(&format!("{line} (warmup)")), Some(("read", None)));
        assert_eq!(request(&line.replace("<<<", "==>")), None);
    }

    #[test]
    fn rates_have_their_factor_apart() {
        assert_eq!(scaled(&"2.17 k".replace(' ', ""), 1000.0), Some(2170.0));
        assert_eq!(scaled(&"8 MiB".replace(' ', ""), 1000.0), Some(8.0 * 1_048_576.0));
    }
}
