//! `dd` of coreutils, busybox and BSD: bytes copied, and how long that took.

use super::names::{self, Results};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "dd",
    summary: "dd: what it copied, also with status=progress",
    family: Family::Load,
    tables: &[],
    example: "\
500+0 records in
500+0 records out
32768000 bytes (33 MB, 31 MiB) copied, 1.32188 s, 24.8 MB/s
",
    sniff,
    read,
};

/// `32768000 bytes (33 MB, 31 MiB) copied, 1.32188 s, 24.8 MB/s`, `32768000 bytes transferred in 1.32188 secs (… bytes/sec)`:
/// bytes and seconds. The rate follows from both, and is rounded where it is printed.
fn copied(line: &str) -> Option<(f64, f64)> {
    let (bytes, rest) = line.split_once(" byte")?;
    let (_, time) = rest.split_once("copied, ").or_else(|| rest.split_once("transferred in "))?;
    let (seconds, unit) = time.split_once(' ')?;
    let seconds = number(seconds)?;
    (unit.starts_with('s') && unit.contains("/s")).then_some((number(bytes)?, seconds))
}

/// `500+0 records in`
fn records(line: &str) -> bool {
    let Some((count, what)) = line.split_once(' ') else { return false };
    let whole = count.split_once('+').is_some_and(|(a, b)| number(a).is_some() && number(b).is_some());
    whole && matches!(what, "records in" | "records out")
}

/// The last state of a line: `status=progress` overwrites it.
fn last_state(line: &str) -> &str {
    line.rsplit('\r').map(str::trim).find(|part| !part.is_empty()).unwrap_or("")
}

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain
        .when(head.any(|line| copied(last_state(line)).is_some()) && head.any(|line| records(last_state(line))))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut runs = 0u32;
    let mut ended = false;
    while input.line().is_some() {
        let (at, text) = (input.number(), input.text());
        let line = last_state(text);
        if records(line) {
            ended = true;
        } else if let Some((bytes, seconds)) = copied(line) {
            // A line before the records is a state under way.
            if std::mem::take(&mut ended) {
                runs = runs.saturating_add(1);
                let mut results = Results::nth(runs);
                results.set(out, names::TRANSFER_BYTES, bytes);
                results.set(out, names::ELAPSED, seconds);
                results.set(out, names::TRANSFER_BYTES_PER_S, (seconds > 0.0).then(|| bytes / seconds));
            }
        } else if !line.is_empty() {
            out.unknown(at, line, "no line of dd");
        }
    }
}
