//! Maps as bpftrace prints them, as text and as JSON (`-f json`): distributions, stacks and numbers.
//!
//! Distributions have bounds like `[1K, 2K)`, K standing for 1024. A map whose keys hold a stack and
//! whose values are numbers is a profile. A map that is printed again begins another report, at the
//! time that the script printed before it, if any.

mod json;

use fenxi_model::{
    Micros,
    catalog::{histogram, metric, stack},
};

use super::{
    distribution::{Moments, label, unit},
    stacks::{Amount, Owner, Stacks},
    syscalls::Others,
};
use crate::{Clock, Family, Format, Head, Input, Out, Sure, civil_time, number};

/// Importer for maps of bpftrace scripts, as text and -f json.
pub static FORMAT: Format = Format {
    name: "bpftrace",
    summary: "maps of bpftrace scripts, as text and -f json: hist, lhist, stacks, counts, stats",
    family: Family::Trace,
    tables: &[&histogram::TABLE, &stack::TABLE, &metric::TABLE],
    example: "\
Attaching 3 probes...

@usecs:
[256, 512)            21 |@@@@@@@@@@@@                                        |
[512, 1K)             90 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    if head.first().starts_with("{\"type\": \"attached_probes\"") || json::line(head.first()).is_some() {
        return Sure::Certain;
    }
    let attaching = head.any(|l| l.starts_with("Attaching ") && l.contains(" probe"));
    // A key of several lines ends below: `@[`, then frames, then `]: 42`.
    let is_open = head.any(|l| l.starts_with('@') && l.ends_with('['));
    let is_closed = || head.any(|l| l.strip_prefix("]: ").is_some_and(|value| number(value).is_some()));
    let map = head.any(is_counted) || (is_open && is_closed());
    let bars = head.any(|l| l.starts_with(['[', '(']) && bucket(l).is_some());
    if [map, attaching, bars].iter().filter(|is| **is).count() > 1 {
        Sure::Certain
    } else {
        Sure::Likely.when(map || bars)
    }
}

/// Whether a line is a map with a number: `@reads[123]: 4`, `@: 17`, `@ns: count 5, average 3, total 15`.
fn is_counted(line: &str) -> bool {
    let value = |value: &str| number(value.strip_prefix("count ").unwrap_or(value).split(',').next()?);
    map(line).is_some_and(|(_, _, text)| value(text).is_some())
}

/// A bucket: its bounds, None for none, and its count.
fn bucket(line: &str) -> Option<(Option<f64>, Option<f64>, f64)> {
    let line = line.trim();
    let (bounds, rest) = line.split_at(line.find([')', ']'])?);
    let closed = rest.starts_with(']');
    let (count, bar) = rest.get(1..)?.split_once('|')?;
    if !bar.ends_with('|') {
        return None;
    }
    let count = number(count.trim())?;
    let bounds = bounds.strip_prefix(['[', '('])?;
    if let Some((lo, last)) = bounds.split_once(',').filter(|_| closed) {
        return Some((Some(bound(lo)?), Some(bound(last)? + 1.0), count));
    }
    if closed {
        let value = bound(bounds)?;
        return Some((Some(value), Some(value + 1.0), count));
    }
    let (lo, hi) = bounds.split_once(',')?;
    let side = |text: &str| if text.trim() == "..." { Some(None) } else { bound(text).map(Some) };
    Some((side(lo)?, side(hi)?, count))
}

/// `512`, `-4`, `2K`, `1M`.
fn bound(text: &str) -> Option<f64> {
    let text = text.trim();
    let power =
        text.bytes().last().and_then(|last| b"KMGTPE".iter().position(|suffix| suffix.eq_ignore_ascii_case(&last)));
    match power {
        Some(power) => Some(number(text.get(..text.len() - 1)?)? * 1024f64.powi(power as i32 + 1)),
        None => number(text),
    }
}

/// `@name[key]: value`, `@name: value`, `@name[key]:` - name, key, and value.
fn map(line: &str) -> Option<(&str, Option<&str>, &str)> {
    let rest = line.strip_prefix('@')?;
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
    let (name, rest) = rest.split_at(end);
    if let Some(value) = rest.strip_prefix(':') {
        return Some((name, None, value.trim()));
    }
    let rest = rest.strip_prefix('[')?;
    let close = rest.rfind("]: ").or_else(|| rest.trim_end().strip_suffix("]:").map(str::len))?;
    Some((name, Some(rest.get(..close)?), rest.get(close + 2..)?.trim()))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        clock: Clock::new(out.hints()),
        moments: Moments::default(),
        stacks: Stacks::default(),
        stacks_at: (None, None),
        current: None,
        open: String::new(),
        others: Others::default(),
    };
    input.each_line(|number, line| reader.line(number, line, out));
    reader.flush(out);
    if !reader.open.is_empty() {
        let open = std::mem::take(&mut reader.open);
        out.unknown(input.number(), &open, "a map that does not end");
    }
    reader.others.tell(out);
}

/// The longest key that is waited for.
const MAX_KEY: usize = 1 << 16;

struct Reader {
    clock: Clock,
    moments: Moments,
    stacks: Stacks,
    stacks_at: (Option<Micros>, Option<f64>),
    current: Option<Current>,
    /// A map's line whose key goes on, as a stack does.
    open: String,
    others: Others,
}

/// The distribution being read.
struct Current {
    name: String,
    labels: String,
    at: (Option<Micros>, Option<f64>),
}

impl Reader {
    fn line(&mut self, at: u64, line: &str, out: &mut Out<'_>) {
        if !self.open.is_empty() {
            self.open.push('\n');
            self.open.push_str(line);
            let ends = line.contains("]: ") || line.trim_end().ends_with("]:");
            if ends && map(&self.open).is_some() {
                let whole = std::mem::take(&mut self.open);
                self.map(at, &whole, out);
            } else if self.open.len() > MAX_KEY {
                let open = std::mem::take(&mut self.open);
                out.unknown(at, &open, "a map's key that does not end");
            }
            return;
        }
        let bare = line.trim();
        if bare.is_empty() {
            return;
        }
        if let (Some((lo, hi, count)), Some(current)) = (bucket(bare), &self.current) {
            let ((t, dt), name) = (current.at, current.name.as_str());
            out.bucket(t, dt, name, &current.labels, lo.unwrap_or(f64::NEG_INFINITY), hi, unit(name), count);
        } else if line.starts_with('@') && map(line).is_some() {
            self.map(at, line, out);
        } else if line.starts_with('@') && line.contains('[') {
            self.open.push_str(line);
        } else if let Some(value) = json::line(bare) {
            self.json(at, bare, &value, out);
        } else if let Some(time) = time(bare) {
            self.stamp(time, out);
        } else if !(bare.starts_with("Attaching ") || bare.starts_with("Tracing ") || bare == "^C") {
            self.others.add(at, bare);
        }
    }

    fn stamp(&mut self, time: jiff::civil::Time, out: &mut Out<'_>) {
        self.flush(out);
        let t = self.clock.at(time, out);
        self.moments.stamp(t, None);
        self.current = None;
    }

    fn map(&mut self, at: u64, line: &str, out: &mut Out<'_>) {
        let Some((name, key, value)) = map(line) else { return };
        if value.is_empty() {
            return self.begin(name, key, out);
        }
        self.current = None;
        if let Some(number) = number(value) {
            self.number(name, key, number, out);
        } else if value.starts_with("count ") && value.contains(", average ") {
            for part in value.split(", ") {
                if let Some((what, number)) = part.split_once(' ').and_then(|(w, n)| Some((w, number(n)?))) {
                    self.number(&format!("{name}.{what}"), key, number, out);
                }
            }
        } else {
            self.others.add(at, line);
        }
    }

    /// A distribution begins.
    fn begin(&mut self, name: &str, key: Option<&str>, out: &mut Out<'_>) {
        let name = if name.is_empty() { "value" } else { name };
        let labels = key.map_or(String::new(), labels);
        let at = self.moment(&format!("{name} {labels}"), out);
        self.current = Some(Current { name: name.to_owned(), labels, at });
    }

    fn number(&mut self, name: &str, key: Option<&str>, value: f64, out: &mut Out<'_>) {
        if let Some(key) = key.filter(|key| holds_stack(key)) {
            // Each stack is identified by its frames, of which there may be very many.
            if self.stacks.is_empty() {
                self.stacks_at = self.moment(&format!("@{name}"), out);
            } else if self.stacks.is_full() {
                self.flush(out);
            }
            return self.stack(name, key, value);
        }
        let labels = key.map_or(String::new(), labels);
        let name = format!("bpftrace.{}", if name.is_empty() { "value" } else { name });
        let (t, dt) = self.moment(&format!("{name} {labels}"), out);
        out.metric(t, dt, &name, &labels, value, unit(&name));
    }

    fn stack(&mut self, name: &str, key: &str, value: f64) {
        let (mut comm, mut pid, mut frames) = (None, None, Vec::new());
        for line in key.lines() {
            let is_frame = line.starts_with("    ") || line.starts_with('\t');
            let text = line.trim().trim_matches(',').trim();
            if is_frame && !text.is_empty() {
                frames.push(frame(text));
                continue;
            }
            for part in text.split(", ").map(|p| p.trim().trim_matches(',')).filter(|p| !p.is_empty()) {
                match part.parse::<i64>() {
                    Ok(number) if pid.is_none() => pid = Some(number),
                    _ if comm.is_none() => comm = Some(part),
                    _ => {}
                }
            }
        }
        self.stacks.add(Owner { comm, pid, event: name }, frames.into_iter().rev(), Amount::of(value));
    }

    fn moment(&mut self, key: &str, out: &mut Out<'_>) -> (Option<Micros>, Option<f64>) {
        self.moments.of(key, out)
    }

    fn flush(&mut self, out: &mut Out<'_>) {
        let (t, dt) = self.stacks_at;
        self.stacks.flush(out, t, dt, None);
    }

    fn json(&mut self, at: u64, line: &str, value: &json::Line, out: &mut Out<'_>) {
        for item in json::items(value) {
            match item {
                json::Item::Number { name, key, value } => self.number(&name, key.as_deref(), value, out),
                json::Item::Distribution { name, key, buckets } => {
                    self.begin(&name, key.as_deref(), out);
                    let Some(current) = self.current.take() else { continue };
                    let ((t, dt), name) = (current.at, current.name.as_str());
                    for (lo, hi, count) in buckets {
                        let lo = lo.unwrap_or(f64::NEG_INFINITY);
                        out.bucket(t, dt, name, &current.labels, lo, hi, unit(name), count);
                    }
                }
                json::Item::Time(text) => {
                    if let Some(time) = time(text.trim()) {
                        self.stamp(time, out);
                    }
                }
                json::Item::Other => self.others.add(at, line),
            }
        }
    }
}

/// A key's parts as labels: `key=bash`, or `key1=bash,key2=42`; a stack is one part.
fn labels(key: &str) -> String {
    let mut labels = String::new();
    if key.contains('\n') {
        let frames: Vec<&str> = key.lines().map(|l| l.trim().trim_matches(',')).filter(|l| !l.is_empty()).collect();
        label(&mut labels, "key", &frames.join(";"));
        return labels;
    }
    let parts: Vec<&str> = key.split(',').collect();
    for (i, part) in parts.iter().enumerate() {
        let name = if parts.len() == 1 { "key".to_owned() } else { format!("key{}", i + 1) };
        label(&mut labels, &name, part);
    }
    labels
}

/// Whether a key has a stack in it, or the place of one that was empty.
fn holds_stack(key: &str) -> bool {
    key.contains('\n') || key.is_empty() || key.starts_with(',') || key.ends_with(", ")
}

/// A frame's function without its offset: `unmap_vmas+148`.
fn frame(text: &str) -> &str {
    match text.rsplit_once('+') {
        Some((name, offset)) if !name.is_empty() && number(offset).is_some() => name,
        _ => text,
    }
}

fn time(line: &str) -> Option<jiff::civil::Time> {
    if line.len() == 8 { civil_time(line, None) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_have_bounds_of_all_kinds() {
        for (line, expected) in [
            ("[1K, 2K)              31 |@@@  |", (Some(1024.0), Some(2048.0), 31.0)),
            ("[0]                   29 |@@   |", (Some(0.0), Some(1.0), 29.0)),
            ("(..., 0)              80 |@@@@@|", (None, Some(0.0), 80.0)),
            ("[100, ...)            34 |@@   |", (Some(100.0), None, 34.0)),
            ("[512K, 1M)             2 |     |", (Some(524_288.0), Some(1_048_576.0), 2.0)),
        ] {
            assert_eq!(bucket(line), Some(expected), "{line}");
        }
        assert_eq!(bucket("[a, b) 3 |@|"), None);
    }

    #[test]
    fn maps_are_read_with_any_key() {
        assert_eq!(map("@: 12"), Some(("", None, "12")));
        assert_eq!(map("@a_b[x, 1]: 12"), Some(("a_b", Some("x, 1"), "12")));
        assert_eq!(map("@a[b]: "), Some(("a", Some("b"), "")));
        assert_eq!(map("@a["), None);
    }
}
