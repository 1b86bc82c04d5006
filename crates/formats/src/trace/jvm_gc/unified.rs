//! Unified logging: decorations in brackets, then the message; those of collections begin with their number.

use fenxi_model::Micros;

use super::{Change, Log, Logged, change};
use crate::{Out, generic::labels::Labels, number};

/// A line with decorations.
#[derive(Debug)]
pub(super) struct Line<'a> {
    when: Option<Logged<'a>>,
    level: &'a str,
    tags: &'a str,
    text: &'a str,
}

const LEVELS: &[&str] = &["trace", "debug", "info", "warning", "error"];

impl Line<'_> {
    /// Whether only a JVM logs it.
    pub(super) fn is_own(&self) -> bool {
        let collection =
            self.text.starts_with("GC(") && (self.text.contains(" Pause ") || self.text.contains(" Concurrent "));
        let begun = self.tags.split(',').any(|tag| tag.trim() == "gc")
            && (self.text.starts_with("Using ") || self.text.starts_with("GC("));
        self.when.is_some() && (collection || begun)
    }
}

/// Cuts `[0.009s][info][gc,start    ] GC(0) …`; None for a line without decorations that are known.
pub(super) fn line(line: &str) -> Option<Line<'_>> {
    let mut found = Line { when: None, level: "", tags: "", text: "" };
    let mut rest = line;
    while let Some(inner) = rest.strip_prefix('[') {
        let (decoration, behind) = inner.split_once(']')?;
        decorate(&mut found, decoration.trim());
        rest = behind;
    }
    found.text = if rest.is_empty() { rest } else { rest.strip_prefix(' ')?.trim_end() };
    (found.when.is_some() || !found.level.is_empty() || !found.tags.is_empty()).then_some(found)
}

fn decorate<'a>(found: &mut Line<'a>, text: &'a str) {
    if LEVELS.contains(&text) {
        found.level = text;
    } else if text.len() >= 23 && text.contains('T') && text.starts_with(|c: char| c.is_ascii_digit()) {
        found.when = Some(Logged::Stamp(text));
    } else if let Some(seconds) = uptime(text) {
        // A time has precedence.
        found.when = found.when.or(Some(Logged::Uptime(seconds)));
    } else if text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b == b',')
    {
        found.tags = text;
    }
}

/// `1.583s`, `1583ms`, `1583000000ns` since the JVM began; milliseconds since 1970 are none.
fn uptime(text: &str) -> Option<f64> {
    let (digits, scale) = match text {
        _ if text.ends_with("ms") => (text.strip_suffix("ms")?, 1e-3),
        _ if text.ends_with("ns") => (text.strip_suffix("ns")?, 1e-9),
        _ => (text.strip_suffix('s')?, 1.0),
    };
    let digits = digits.replace(',', ".");
    number(&digits).map(|value| value * scale).filter(|seconds| (0.0..1e9).contains(seconds))
}

pub(super) fn read(at: u64, line: &Line<'_>, log: &mut Log, out: &mut Out<'_>) {
    let Some(t) = line.when.and_then(|when| log.at(when, out)) else {
        out.unknown(at, line.text, "no time that is known");
        return;
    };
    let t = Some(t);
    if line.tags == "gc,init" || line.text.starts_with("Using ") {
        return fact(line, out);
    }
    if line.tags.starts_with("safepoint") || line.text.starts_with("Total time for which application threads") {
        return safepoint(t, line.text, out);
    }
    let Some((_, text)) = line.text.strip_prefix("GC(").and_then(|rest| rest.split_once(") ")) else {
        if let Some(t) = t.filter(|_| matches!(line.level, "warning" | "error")) {
            out.event(t, "gc warning", "jvm", line.text);
        }
        return;
    };
    collection(t, line, text, log, out);
}

fn fact(line: &Line<'_>, out: &mut Out<'_>) {
    if let Some((name, value)) = line.text.split_once(": ") {
        out.fact("jvm", name.trim(), value.trim());
    } else if let Some(collector) = line.text.strip_prefix("Using ").filter(|_| !line.text.starts_with("Using a")) {
        out.fact("jvm", "collector", collector.trim_start_matches("The "));
    }
}

fn collection(t: Option<Micros>, line: &Line<'_>, text: &str, log: &mut Log, out: &mut Out<'_>) {
    let inner = text.starts_with(' ');
    let text = text.trim();
    // Generations of ZGC: `y: `, `O: `.
    let text = match text.as_bytes() {
        [b'y' | b'Y' | b'o' | b'O', b':', b' ', ..] => text.get(3..).unwrap_or(text),
        _ => text,
    };
    if text.starts_with("User=") {
        return cpu(t, text, out);
    }
    let (text, ms) = match text.rsplit_once(' ').and_then(|(before, last)| Some((before, milliseconds(last)?))) {
        Some((before, ms)) => (before, Some(ms)),
        None => (text, None),
    };
    if let Some(phase) = text.strip_suffix(':').filter(|_| inner || line.tags.starts_with("gc,phases")) {
        if let Some(ms) = ms {
            out.metric(t, None, "jvm-gc.phase", Labels::of("phase", phase).text(), ms, "ms");
        }
        return;
    }
    if line.tags == "gc,heap" || line.tags == "gc,metaspace" {
        return spaces(t, text, out);
    }
    // The begin has no figures yet.
    if line.tags == "gc,start" {
        return;
    }
    let (what, heap) = match text.rsplit_once(' ').and_then(|(what, last)| Some((what, change(last)?))) {
        Some((what, change)) => (what, Some(change)),
        None => (text, None),
    };
    if let Some(change) = heap {
        Log::heap(t, "heap", change, out);
    }
    if let Some(ms) = ms {
        let (name, cause) = name_and_cause(what);
        if what.starts_with("Pause ") {
            log.pause(t, name, cause, ms, out);
        } else if what.starts_with("Concurrent ") {
            out.metric(
                t,
                Some(ms / 1000.0).filter(|dt| *dt > 0.0),
                "jvm-gc.concurrent",
                Labels::of("phase", what).text(),
                ms,
                "ms",
            );
        } else if heap.is_some() {
            out.metric(t, None, "jvm-gc.collection", Labels::of("collection", what).text(), ms, "ms");
        }
    } else if let Some(t) =
        t.filter(|_| matches!(line.level, "warning" | "error") || text.starts_with("To-space exhausted"))
    {
        out.event(t, "gc warning", "jvm", text);
    }
}

/// `Pause Young (Normal) (G1 Evacuation Pause)`: the collection, and in the last brackets what caused it. Of one pair the
/// pauses of Shenandoah say how, not why.
fn name_and_cause(what: &str) -> (&str, &str) {
    let Some((name, cause)) = what.rsplit_once(" (") else { return (what, "") };
    if name.starts_with("Pause Init") || name.starts_with("Pause Final") {
        return (what, "");
    }
    (name, cause.strip_suffix(')').unwrap_or(cause))
}

/// `25.231ms`, `0.034s`.
fn milliseconds(word: &str) -> Option<f64> {
    if let Some(ms) = word.strip_suffix("ms") {
        return number(ms);
    }
    number(word.strip_suffix('s')?).map(|seconds| seconds * 1000.0)
}

/// `User=0.01s Sys=0.00s Real=0.03s`.
fn cpu(t: Option<Micros>, text: &str, out: &mut Out<'_>) {
    for word in text.split(' ') {
        if let Some((name, value)) = word.split_once('=') {
            let seconds = value.strip_suffix('s').and_then(number);
            out.metric(t, None, &format!("jvm-gc.cpu_{}", name.to_lowercase()), "", seconds, "s");
        }
    }
}

/// `Eden regions: 6->0(3)`, `PSYoungGen: 4096K(4608K)->512K(4608K) Eden: …`, `Metaspace: 7740K->7740K(…)`.
fn spaces(t: Option<Micros>, text: &str, out: &mut Out<'_>) {
    if let Some((space, counts)) = text.split_once(" regions: ") {
        let labels = Labels::of("space", space);
        let (before, after) = counts.split_once("->").unwrap_or(("", counts));
        let after = after.split('(').next().unwrap_or("");
        for (name, value) in [("regions_before", number(before)), ("regions_after", number(after))] {
            if value.is_some() {
                out.metric(t, None, &format!("jvm-gc.{name}"), labels.text(), value, "");
            }
        }
        return;
    }
    let mut words = text.split_ascii_whitespace();
    let mut of = String::new();
    while let Some(word) = words.next() {
        let Some(space) = word.strip_suffix(':') else { return };
        let Some(change) = words.next().and_then(change) else { return };
        let name = if of.is_empty() { space.to_owned() } else { format!("{of} {space}") };
        if of.is_empty() {
            space.clone_into(&mut of);
        }
        Log::heap(t, &name, Change { ..change }, out);
    }
}

/// Times of a safepoint: of all threads, to come to it and until they went on.
fn safepoint(t: Option<Micros>, text: &str, out: &mut Out<'_>) {
    if let Some(rest) = text.strip_prefix("Total time for which application threads were stopped: ") {
        let mut values = rest.split(", Stopping threads took: ").map(|part| number(part.trim_end_matches(" seconds")));
        for name in ["safepoint", "safepoint_reaching"] {
            if let Some(Some(seconds)) = values.next() {
                out.metric(t, None, &format!("jvm-gc.{name}"), "", seconds * 1000.0, "ms");
            }
        }
        return;
    }
    let Some(operation) = text.strip_prefix("Safepoint \"").and_then(|rest| rest.split('"').next()) else { return };
    let labels = Labels::of("operation", operation);
    for (words, name) in [("Total: ", "safepoint"), ("Reaching safepoint: ", "safepoint_reaching")] {
        let ns = text.split(words).nth(1).and_then(|rest| number(rest.split(' ').next()?));
        if let Some(ns) = ns {
            out.metric(t, None, &format!("jvm-gc.{name}"), labels.text(), ns / 1e6, "ms");
        }
    }
}
