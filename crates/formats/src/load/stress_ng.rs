//! `stress-ng`: `--metrics`, `--metrics-brief`, `--times`, and the YAML of `--yaml`.
//!
//! A bogo operation is whatever one loop of a stressor does: rates compare the same stressor of the same version only. The rate by
//! real time is the throughput; that by user and system time is of the CPU that the stressor got.

use super::names::{self, Results};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// Importer for stress-ng.
pub static FORMAT: Format = Format {
    name: "stress-ng",
    summary: "stress-ng: --metrics, --metrics-brief, --times, --yaml",
    family: Family::Load,
    tables: &[],
    example: "\
stress-ng: info:  [2513] dispatching hogs: 1 cpu, 1 vm, 1 pipe
stress-ng: metrc: [2513] stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s
stress-ng: metrc: [2513]                           (secs)    (secs)    (secs)   (real time) (usr+sys time)
stress-ng: metrc: [2513] cpu                1989      2.00      1.00      0.02       993.82        1939.23
",
    sniff,
    read,
};

/// The text of a line, after the tool's name, the time of `--timestamp`, the level and the process.
fn message(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("stress-ng: ")?;
    let (front, text) = rest.split_once("] ").or_else(|| rest.split_once(']'))?;
    let (front, pid) = front.split_once('[')?;
    let level = front.split_ascii_whitespace().last()?.strip_suffix(':')?;
    (pid.bytes().all(|b| b.is_ascii_digit()) && LEVELS.contains(&level)).then_some((level, text))
}

const LEVELS: [&str; 7] = ["info", "metrc", "error", "fail", "warn", "debug", "skip"];

fn sniff(head: &Head<'_>) -> Sure {
    let text = head.any(|l| {
        message(l).is_some_and(|(_, text)| text.starts_with("stressor ") || text.starts_with("dispatching hogs"))
    });
    let yaml = head.any(|l| l.starts_with("stress-ng-version: ")) && head.any(|l| l == "system-info:");
    Sure::Certain.when(text || yaml)
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let yaml = input.head().lines().any(|l| l.trim_start().starts_with("stress-ng-version: "));
    if yaml {
        read_yaml(input, out);
        return;
    }
    let mut results = Results::default();
    let mut part = Part::Other;
    input.each_line(|number, text| {
        let line = text.trim_end();
        let Some((level, message)) = message(line) else {
            if !line.is_empty() {
                out.unknown(number, line, "no line of stress-ng");
            }
            return;
        };
        if !read_message(level, message, &mut part, &mut results, out) {
            out.unknown(number, line, "no figures of a stressor");
        }
    });
}

/// Kind of the lines that follow a heading.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Other,
    Metrics,
    Miscellaneous,
}

fn read_message(level: &str, message: &str, part: &mut Part, results: &mut Results, out: &mut Out<'_>) -> bool {
    let text = message.trim();
    if text.starts_with("stressor ") && text.contains("bogo ops") {
        *part = Part::Metrics;
    } else if text.starts_with("miscellaneous metrics") {
        *part = Part::Miscellaneous;
    } else if text.starts_with("for a ") && text.ends_with(" run time:") {
        *part = Part::Other;
    } else if level == "fail" || level == "error" {
        out.fact("load", "stress-ng message", text);
    } else if text.starts_with("successful run completed in ") || text.starts_with("unsuccessful run completed in ") {
        let seconds = text.split_once(" in ").and_then(|(_, t)| number(t.split('s').next()?));
        results.set(out, names::ELAPSED, seconds);
    } else if level == "metrc" || *part != Part::Other && level == "info" && !message.starts_with(' ') {
        return match part {
            // Units of the columns above, which no name of a stressor begins.
            Part::Metrics if text.starts_with('(') => true,
            Part::Metrics => stressor(text, results, out),
            Part::Miscellaneous => miscellaneous(text, results, out),
            Part::Other => true,
        };
    } else {
        times(text, results, out);
    }
    true
}

/// `cpu                1989      2.00      1.00      0.02       993.82        1939.23`
fn stressor(text: &str, results: &mut Results, out: &mut Out<'_>) -> bool {
    let mut words = text.split_ascii_whitespace();
    let name = words.next().unwrap_or("");
    let figures: Vec<f64> = words.filter_map(number).collect();
    let [ops, real, usr, sys, by_real, by_cpu, ref more @ ..] = figures[..] else {
        // Before there were figures there are remarks.
        return !name.chars().all(|c| c.is_ascii_lowercase() || c == '-') || figures.is_empty();
    };
    results.of(out, names::TRANSACTIONS, name, ops);
    results.of(out, names::ELAPSED, name, real);
    results.of(out, names::THROUGHPUT, name, by_real);
    for (what, value, unit, better) in [
        ("user_time", Some(usr), "s", "neither"),
        ("system_time", Some(sys), "s", "neither"),
        ("throughput_by_cpu", Some(by_cpu).filter(|_| usr + sys > 0.0), "/s", "higher"),
        ("cpu_per_instance", more.first().copied(), "%", "neither"),
        ("max_rss", more.get(1).map(|kib| kib * 1024.0), "B", "lower"),
    ] {
        results.named(out, what, name, value, unit, better);
    }
    true
}

/// `pipe                 198.38 MB per sec pipe write rate (geometic mean of 1 instances)`
fn miscellaneous(text: &str, results: &mut Results, out: &mut Out<'_>) -> bool {
    let Some((stressor, rest)) = text.split_once(' ') else { return false };
    let Some((value, what)) = rest.trim().split_once(' ') else { return false };
    let what = what.rsplit_once(" (").filter(|(_, end)| end.contains(" mean")).map_or(what, |(what, _)| what);
    let value = number(value);
    results.named(out, &format!("stress-ng.{}", what.replace(' ', "-")), stressor, value, "", "neither");
    value.is_some()
}

/// Lines of `--times`: `1.95s user time   ( 48.52%)`.
fn times(text: &str, results: &mut Results, out: &mut Out<'_>) {
    let Some((value, what)) = text.split_once("s ").filter(|(value, _)| number(value).is_some()) else { return };
    let name = match what.split('(').next().map_or("", str::trim) {
        "available CPU time" => "available_cpu_time",
        "user time" => "user_time",
        "system time" => "system_time",
        "total time" => "cpu_time",
        _ => return,
    };
    results.named(out, name, "", number(value), "s", "neither");
}

fn read_yaml(input: &mut Input<'_>, out: &mut Out<'_>) {
    let (mut section, mut stressor) = (String::new(), String::new());
    let mut results = Results::default();
    // The text above the host's name is of it, too.
    let host = input.head().lines().find_map(|l| l.trim().strip_prefix("hostname:")).map(|h| h.trim().to_owned());
    out.set_host(host.as_deref().unwrap_or(""));
    input.each_line(|number_, text| {
        let line = text.trim().trim_start_matches("- ");
        let Some((key, value)) = line.split_once(':').map(|(key, value)| (key.trim(), value.trim())) else {
            if !matches!(line, "" | "---" | "...") {
                out.unknown(number_, text, "no line of stress-ng's YAML");
            }
            return;
        };
        if value.is_empty() {
            key.clone_into(&mut section);
        } else if section == "system-info" {
            if !is_momentary(key) {
                out.fact("load", &format!("stress-ng {key}"), value.trim_matches('\''));
            }
        } else if key == "stressor" {
            value.clone_into(&mut stressor);
        } else if !yaml_figure(&section, key, number(value), &stressor, &mut results, out) {
            out.unknown(number_, text, "no figure");
        }
    });
}

/// Facts that are of the moment or of no interest.
fn is_momentary(key: &str) -> bool {
    ["uptime", "freeram", "sharedram", "bufferram", "freeswap", "hostname", "nodename", "run-by"].contains(&key)
        || ["time-", "date-", "epoch-"].iter().any(|begin| key.starts_with(begin))
}

fn yaml_figure(
    section: &str,
    key: &str,
    value: Option<f64>,
    stressor: &str,
    results: &mut Results,
    out: &mut Out<'_>,
) -> bool {
    if section == "times" {
        let named = match key {
            "run-time" => Some("elapsed"),
            "available-cpu-time" => Some("available_cpu_time"),
            "user-time" => Some("user_time"),
            "system-time" => Some("system_time"),
            "total-time" => Some("cpu_time"),
            _ => None,
        };
        if let Some(name) = named {
            results.named(out, name, "", value, "s", "neither");
        }
        return value.is_some();
    }
    match key {
        "bogo-ops" => results.of(out, names::TRANSACTIONS, stressor, value),
        "bogo-ops-per-second-real-time" => results.of(out, names::THROUGHPUT, stressor, value),
        "wall-clock-time" => results.of(out, names::ELAPSED, stressor, value),
        "bogo-ops-per-second-usr-sys-time" => results.named(out, "throughput_by_cpu", stressor, value, "/s", "higher"),
        "user-time" => results.named(out, "user_time", stressor, value, "s", "neither"),
        "system-time" => results.named(out, "system_time", stressor, value, "s", "neither"),
        "cpu-usage-per-instance" => results.named(out, "cpu_per_instance", stressor, value, "%", "neither"),
        "max-rss" => results.named(out, "max_rss", stressor, value.map(|kib| kib * 1024.0), "B", "lower"),
        _ => results.named(out, &format!("stress-ng.{key}"), stressor, value, "", "neither"),
    }
    value.is_some()
}
