//! `plockstat` of Solaris and illumos: locks of one process, held, blocked on and spun for.
//!
//! Sections come in the order of their longest times, so one may come several times. Rows of a lock
//! and caller come several times as well, once for each stack behind the caller. With `-s` the mean is
//! computed by the tool from the distribution, whose printed values are the buckets' upper bounds.

use fenxi_model::catalog::{histogram, lock, stack};

use super::{
    locks::{Locks, Mean, Place},
    lockstat::{MAX_FRAMES, bucket, dashes, word},
    report::Reports,
    stacks::{Amount, Owner, Stacks, function},
};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// Importer for plockstat of Solaris and illumos.
pub static FORMAT: Format = Format {
    name: "plockstat",
    summary: "plockstat of Solaris and illumos: -C, -H, -A, -s, -v",
    family: Family::Trace,
    tables: &[&lock::TABLE, &stack::TABLE, &histogram::TABLE],
    example: "\
Mutex block

Count     nsec Lock                         Caller
-------------------------------------------------------------------------------
    9 18220133 dbworker`pool_mutex          dbworker`pool_checkout+0x28
",
    sniff,
    read,
};

/// The sections as the tool heads them and as rows call them.
const SECTIONS: &[(&str, &str)] = &[
    ("Mutex hold", "mutex hold"),
    ("Mutex block", "mutex block"),
    ("Mutex spin", "mutex spin"),
    ("Mutex unsuccessful spin", "mutex unsuccessful spin"),
    ("R/W reader hold", "rwlock read hold"),
    ("R/W writer hold", "rwlock write hold"),
    ("R/W reader block", "rwlock read block"),
    ("R/W writer block", "rwlock write block"),
];

fn sniff(head: &Head<'_>) -> Sure {
    let section = head.any(|line| section(line).is_some());
    if section && head.any(legend) {
        return Sure::Certain;
    }
    let cut = !head.first().is_empty() && head.lines().take(3).all(section_or_pid);
    Sure::Likely.when(cut || head.any(legend))
}

fn section_or_pid(line: &str) -> bool {
    section(line).is_some() || tracing(line).is_some()
}

fn section(line: &str) -> Option<&'static str> {
    SECTIONS.iter().find(|(head, _)| *head == line.trim()).map(|(_, event)| *event)
}

fn legend(line: &str) -> bool {
    line.split_ascii_whitespace().eq(["Count", "nsec", "Lock", "Caller"])
}

/// `plockstat: tracing enabled for pid 2039`, as `-v` prints.
fn tracing(line: &str) -> Option<i64> {
    let rest = line.trim().strip_prefix("plockstat: ")?;
    rest.strip_prefix("tracing enabled for pid ")?.trim().parse().ok()
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        reports: Reports::default(),
        locks: Locks::new("plockstat"),
        stacks: Stacks::default(),
        pid: None,
        event: None,
        record: None,
        in_distribution: false,
    };
    input.each_line(|number, line| reader.line(number, line, out));
    reader.end_of_run(out);
}

struct Reader {
    reports: Reports,
    locks: Locks,
    stacks: Stacks,
    pid: Option<i64>,
    event: Option<&'static str>,
    record: Option<Record>,
    in_distribution: bool,
}

/// The row being read; a distribution and a stack may follow.
struct Record {
    count: f64,
    mean_s: f64,
    lock: String,
    caller: String,
    buckets: Vec<(f64, f64)>,
    /// From the innermost.
    frames: Vec<String>,
}

impl Reader {
    fn line(&mut self, at: u64, text: &str, out: &mut Out<'_>) {
        let line = text.trim();
        if line.is_empty() || legend(line) {
            return;
        }
        if dashes(line) {
            self.end_of_record();
        } else if let Some(event) = section(line) {
            self.end_of_record();
            self.event = Some(event);
        } else if line.contains("Time Distribution") {
            self.in_distribution = true;
        } else if let Some(pid) = tracing(line) {
            self.end_of_run(out);
            self.pid = Some(pid);
        } else if let Some(notice) = line.strip_prefix("plockstat: ") {
            // Its lines about the process it watched, and the program that -V shows.
            if let Some(pid) = notice.strip_prefix("pid ").and_then(word).and_then(|(pid, _)| pid.parse().ok()) {
                self.pid = Some(pid);
            }
        } else if !(self.in_distribution && self.distribution(line) || self.row(line) || interrupted(line)) {
            out.unknown(at, text, "no line of plockstat");
        }
        if self.locks.is_full() || self.stacks.is_full() {
            self.flush(out);
        }
    }

    fn row(&mut self, line: &str) -> bool {
        let Some(event) = self.event else { return false };
        let Some(record) = row(line) else { return false };
        self.end_of_record();
        self.event = Some(event);
        self.record = Some(record);
        true
    }

    fn distribution(&mut self, line: &str) -> bool {
        let Some(record) = &mut self.record else { return false };
        if let Some(bucket) = bucket(line) {
            record.buckets.push((bucket.below, bucket.count));
            if !bucket.frame.is_empty() && record.frames.len() < MAX_FRAMES {
                record.frames.push(bucket.frame.to_owned());
            }
            return true;
        }
        let frame = !line.contains(' ') && number(line).is_none() && record.frames.len() < MAX_FRAMES;
        if frame {
            record.frames.push(line.to_owned());
        }
        frame
    }

    fn end_of_record(&mut self) {
        self.in_distribution = false;
        let (Some(record), Some(event)) = (self.record.take(), self.event) else { return };
        let place = Place { event, lock: &record.lock, caller: &record.caller };
        self.locks.add(place, record.count, Mean::Seconds(record.mean_s), None);
        for (below, count) in &record.buckets {
            self.locks.bucket(place, *below, *count);
        }
        if !record.frames.is_empty() {
            let frames = record.frames.iter().rev().map(|frame| function(frame));
            let owner = Owner { comm: None, pid: self.pid, event };
            self.stacks.add(
                owner,
                frames,
                Amount { time_s: Some(record.mean_s * record.count), ..Amount::of(record.count) },
            );
        }
    }

    fn end_of_run(&mut self, out: &mut Out<'_>) {
        self.end_of_record();
        self.flush(out);
        (self.event, self.pid) = (None, None);
    }

    fn flush(&mut self, out: &mut Out<'_>) {
        if self.locks.is_empty() {
            return;
        }
        let t = self.reports.next(out, None);
        self.locks.flush(out, t, None, self.pid);
        self.stacks.flush(out, t, None, None);
    }
}

/// `    9 18220133 dbworker`pool_mutex          dbworker`pool_checkout+0x28`
fn row(line: &str) -> Option<Record> {
    let (count, rest) = word(line)?;
    let (mean, rest) = word(rest)?;
    let (lock, rest) = word(rest)?;
    let caller = rest.trim();
    let whole = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if caller.is_empty() || !whole(count) || !whole(mean) {
        return None;
    }
    Some(Record {
        count: number(count)?,
        mean_s: number(mean)? / 1e9,
        lock: lock.to_owned(),
        caller: caller.to_owned(),
        buckets: Vec::new(),
        frames: Vec::new(),
    })
}

/// Whether a line is the terminal's echo of a Ctrl-C.
fn interrupted(line: &str) -> bool {
    line == "^C"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::read;

    #[test]
    fn a_place_that_comes_twice_is_one_row_with_the_weighted_mean() {
        let text = "Mutex hold\n\nCount nsec Lock Caller\n----------------\n3 1000 a b`f+0x1\n1 5000 a b`f+0x1\n";
        let read = read(&FORMAT, text.as_bytes());
        assert!(read.text.contains("mutex hold\ta\tb`f+0x1\t4\t2\t0.000008\n"), "{}", read.text);
    }

    #[test]
    fn what_is_no_row_is_told() {
        let text = "Mutex hold\n\nCount nsec Lock Caller\n----------------\n3 1000 a\n1 x a b\n";
        assert_eq!(read(&FORMAT, text.as_bytes()).tally.notes, 2);
    }
}
