//! Logs of the garbage collectors of a JVM: unified logging (`-Xlog:gc*`, since JDK 9) and what JDK 8 prints with
//! `-XX:+PrintGCDetails`.
//!
//! A pause stops the application; a concurrent phase does not, and takes CPU time from it. Heaps are those before and after a
//! collection and what the JVM had committed then. A collection's heap after is what lives, only after a full one.

mod classic;
mod unified;

use std::collections::BTreeMap;

use fenxi_model::{Micros, catalog::histogram};

use super::syscalls::Others;
use crate::{Clock, Family, Format, Head, Input, Out, Relative, Sure, generic::labels::Labels, scaled, stamp};

/// Importer for garbage collection log of a JVM.
pub static FORMAT: Format = Format {
    name: "jvm-gc",
    summary: "garbage collection log of a JVM: -Xlog:gc*, and -XX:+PrintGCDetails of JDK 8",
    family: Family::Trace,
    tables: &[&histogram::TABLE],
    example: "\
[0.009s][info][gc] Using G1
[1.583s][info][gc          ] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 6M->3M(18M) 25.231ms
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let own = |line: &str| unified::line(line).is_some_and(|line| line.is_own()) || classic::is_own(line);
    Sure::Certain.when(head.lines().take(60).any(own))
}

/// When something was logged: a moment, or seconds since the JVM began.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Logged<'a> {
    Stamp(&'a str),
    Uptime(f64),
}

/// Gathers what both kinds of logs say.
struct Log {
    clock: Clock,
    elapsed: Option<Relative>,
    last: Option<Micros>,
    first: Option<Micros>,
    /// Counts by collection and power of two of microseconds.
    buckets: BTreeMap<(String, i32), f64>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let clock = Clock::new(out.hints());
    let mut log = Log { clock, elapsed: None, last: None, first: None, buckets: BTreeMap::new() };
    let (mut classic, mut others) = (classic::Reader::default(), Others::default());
    input.each_line(|number, line| {
        let bare = line.trim_end();
        if bare.trim().is_empty() {
            return;
        }
        match unified::line(bare) {
            Some(line) => unified::read(number, &line, &mut log, out),
            None if classic.line(bare, &mut log, out) => {}
            None => others.add(number, bare),
        }
    });
    log.end(out);
    others.tell(out);
}

impl Log {
    fn at(&mut self, when: Logged<'_>, out: &mut Out<'_>) -> Option<Micros> {
        let t = match when {
            Logged::Stamp(text) => stamp(text)?.when.moment(&mut self.clock, out),
            Logged::Uptime(seconds) => self.elapsed.get_or_insert_with(|| Relative::elapsed(out)).after(seconds),
        };
        self.first = self.first.or(Some(t));
        self.last = Some(t);
        Some(t)
    }

    /// A pause of `ms` that ended at `t`; `what` is the collection, as `Pause Young (Normal)`.
    fn pause(&mut self, t: Option<Micros>, what: &str, cause: &str, ms: f64, out: &mut Out<'_>) {
        let mut labels = Labels::of("collection", what);
        labels.push("cause", cause);
        out.metric(t, Some(ms / 1000.0).filter(|dt| *dt > 0.0), "jvm-gc.pause", labels.text(), ms, "ms");
        let power = if ms < 0.001 { -1 } else { ((ms * 1000.0).log2().floor() as i32).clamp(0, 40) };
        if self.buckets.len() < 1 << 14 {
            *self.buckets.entry((what.to_owned(), power)).or_default() += 1.0;
        }
        if let Some(t) = t.filter(|_| what.contains("Full")) {
            out.event(t, "full gc", "jvm", &format!("{what} ({cause}), {ms} ms"));
        }
    }

    /// The heap or one of its parts before and after a collection.
    fn heap(t: Option<Micros>, space: &str, change: Change, out: &mut Out<'_>) {
        let labels = Labels::of("space", space);
        let values =
            [("used_before", change.before), ("used_after", Some(change.after)), ("committed_after", change.size)];
        for (name, value) in values {
            if let Some(value) = value {
                out.metric(t, None, &format!("jvm-gc.{name}"), labels.text(), value, "B");
            }
        }
    }

    fn end(&mut self, out: &mut Out<'_>) {
        let dt = self.first.zip(self.last).map(|(first, last)| last.seconds_since(first)).filter(|dt| *dt > 0.0);
        for ((what, power), count) in std::mem::take(&mut self.buckets) {
            let lo = if power < 0 { 0.0 } else { 2f64.powi(power) / 1000.0 };
            let labels = Labels::of("collection", &what);
            let hi = 2f64.powi(power + 1) / 1000.0;
            let hi = if power < 0 { 0.001 } else { hi };
            out.bucket(self.last, dt, "gc_pause_ms", labels.text(), lo, hi, "ms", count);
        }
    }
}

/// Bytes before and after a collection, and what is committed after it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Change {
    before: Option<f64>,
    after: f64,
    size: Option<f64>,
}

/// `6M->3M(18M)`, `4096K(4608K)->512K(4608K)`, `4M(12%)->4M(12%)`, `24.0M(24.0M)->0.0B(13.0M)`.
fn change(word: &str) -> Option<Change> {
    let (before, after) = word.split_once("->")?;
    let amount = |text: &str| {
        let plain = text.split('(').next().unwrap_or("");
        plain.ends_with(['K', 'M', 'G', 'B']).then(|| scaled(plain, 1024.0))?
    };
    let size = after.split_once('(').and_then(|(_, size)| amount(size.strip_suffix(')')?));
    Some(Change { before: Some(amount(before)?), after: amount(after)?, size })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_heaps_are_bytes() {
        let mb = 1_048_576.0;
        let read = |word| change(word).map(|c| (c.before.unwrap() / mb, c.after / mb, c.size.map(|s| s / mb)));
        assert_eq!(read("6M->3M(18M)"), Some((6.0, 3.0, Some(18.0))));
        assert_eq!(read("4096K(4608K)->512K(4608K)"), Some((4.0, 0.5, Some(4.5))));
        assert_eq!(read("4M(12%)->2M(12%)"), Some((4.0, 2.0, None)));
        assert_eq!(read("24.0M(24.0M)->0.0B(13.0M)"), Some((24.0, 0.0, Some(13.0))));
        assert_eq!(read("6->0(3)"), None);
    }

    #[test]
    fn generational_zgc_and_safepoints_of_jdk_11_are_read() {
        let text = "\
[0.100s][info][gc,phases] GC(0) y: Pause Mark Start 0.010ms
[0.120s][info][gc,phases] GC(0) Y: Concurrent Mark 5.500ms
[0.134s][info][gc       ] GC(0) Minor Collection (Allocation Rate) 20M(62%)->8M(25%) 0.034s
[0.200s][info][safepoint] Total time for which application threads were stopped: 0.0012500 seconds, Stopping threads took: 0.0002500 seconds
[0.210s][info][safepoint] Application time: 0.1 seconds
[0.300s][warning][gc] something to know
";
        let read = crate::fixtures::read(&FORMAT, text.as_bytes());
        for part in [
            "jvm-gc.pause\tcollection=Pause Mark Start\t0.01\tms",
            "jvm-gc.concurrent\tphase=Concurrent Mark\t5.5\tms",
            "jvm-gc.used_before\tspace=heap\t20971520\tB",
            "jvm-gc.safepoint\t\t1.25\tms",
            "jvm-gc.safepoint_reaching\t\t0.25\tms",
            "gc warning\tjvm\tsomething to know",
        ] {
            assert!(read.text.contains(part), "{part}: {}", read.text);
        }
        assert_eq!(read.tally.notes, 0);
    }
}
