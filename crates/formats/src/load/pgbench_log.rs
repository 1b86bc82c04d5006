//! The per-transaction log of `pgbench -l`: a line when a transaction ends.
//!
//! `client transaction time script epoch microseconds [lag] [retries]`; the time is in microseconds,
//! or a word: `skipped` with `--latency-limit`, and since 15 `failed`, `serialization` or `deadlock`.
//! Threads write separate files; put together, their times go back.

use fenxi_model::{
    Micros,
    catalog::{histogram, load},
};

use rustc_hash::FxHashMap;

use super::{
    names::{self, Results},
    seconds::{Event, Kinds, Seconds},
};
use crate::{Family, Fields, Format, Head, Input, Out, Splitter, Sure};

/// Importer for pgbench -l.
pub static FORMAT: Format = Format {
    name: "pgbench-log",
    summary: "pgbench -l: transaction log, also with --rate and --max-tries",
    family: Family::Load,
    tables: &[&load::TABLE, &histogram::TABLE],
    example: "1 1 9880 0 1795249933 830364\n0 1 10579 0 1795249933 831006\n1 2 829 0 1795249933 831213\n",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let mut splitter = Splitter::default();
    // The last line may be cut.
    let complete = head.text.rfind('\n').map_or(head.text, |end| &head.text[..end]);
    let mut lines = complete.lines().filter(|l| !l.trim().is_empty()).take(50).peekable();
    Sure::Likely.when(lines.peek().is_some() && lines.all(|line| Line::read(&splitter.blanks(line)).is_some()))
}

/// The content of one line.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    time: Time,
    script: u32,
    end: Micros,
    /// Lag and retries, or one of them.
    more: (Option<u64>, Option<u64>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Time {
    Took(u64),
    Skipped,
    Failed,
}

impl Line {
    fn read(fields: &Fields<'_>) -> Option<Line> {
        if !(6..=8).contains(&fields.len()) {
            return None;
        }
        fields.get(0).parse::<u32>().ok()?;
        fields.get(1).parse::<u64>().ok()?;
        let script: u32 = fields.get(3).parse().ok()?;
        let time = match fields.get(2) {
            "skipped" => Time::Skipped,
            "failed" | "serialization" | "deadlock" => Time::Failed,
            // A clock that was set back gave negative times.
            time => Time::Took(time.parse::<i64>().ok()?.max(0) as u64),
        };
        let seconds: i64 = fields.get(4).parse().ok().filter(|s| (100_000_000..100_000_000_000).contains(s))?;
        let micros: i64 = fields.get(5).parse().ok().filter(|m| (0..1_000_000).contains(m))?;
        let more = |i: usize| match fields.get(i) {
            "" => Some(None),
            text => text.parse::<f64>().ok().map(|v| Some(v.max(0.0) as u64)),
        };
        Some(Line { time, script, end: Micros(seconds * 1_000_000 + micros), more: (more(6)?, more(7)?) })
    }
}

/// The thread whose log a file is: the first one's is `pgbench_log.PID`, further ones' `pgbench_log.PID.1`.
pub fn thread(file: &str) -> Option<u32> {
    let mut parts = file.rsplit('/').next()?.rsplit('.');
    let (thread, pid) = (parts.next()?.parse().ok()?, parts.next()?);
    (!pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit())).then_some(thread)
}

/// Label that distinguishes the rows of a thread's log from those of others.
pub fn generator(thread: Option<u32>) -> String {
    thread.map_or_else(|| "pgbench".to_owned(), |thread| format!("pgbench thread {thread}"))
}

/// The content of the seventh column.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Seventh {
    Lag,
    Retries,
}

/// Beyond this many a seventh column has no retries but microseconds.
const MOST_RETRIES: u64 = 100;

/// The log's properties by its head.
fn survey(head: &str) -> (Seventh, Kinds, bool) {
    let mut splitter = Splitter::default();
    let (mut most, mut eight, mut failed, mut scripts) = (0, false, false, false);
    for line in head.lines() {
        let fields = splitter.blanks(line);
        let Some(line) = Line::read(&fields) else { continue };
        most = most.max(line.more.0.unwrap_or(0));
        eight |= line.more.1.is_some();
        failed |= line.time == Time::Failed;
        scripts |= line.script != 0;
    }
    let seventh = if eight || most > MOST_RETRIES { Seventh::Lag } else { Seventh::Retries };
    let some = head.lines().next().is_some_and(|l| splitter.blanks(l).len() > 6);
    let retries = eight || some && seventh == Seventh::Retries;
    (seventh, Kinds { errors: retries || failed, retries }, scripts)
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let (seventh, kinds, scripts) = survey(&input.head());
    let thread = thread(&out.hints().file);
    let results = Results::nth(thread.map_or(1, |thread| thread.saturating_add(1)));
    let mut seconds = Seconds::new(generator(thread), 1e-3, kinds).with_results(results.clone());
    let mut splitter = Splitter::default();
    let (mut skipped, mut told) = (0u64, false);
    let mut numbers: FxHashMap<u32, Option<u32>> = FxHashMap::default();
    let mut last_script: Option<(u32, Option<u32>)> = None;
    while input.line().is_some() {
        let (number, text) = (input.number(), input.text());
        let fields = splitter.blanks(text);
        if fields.is_empty() {
            continue;
        }
        let Some(line) = Line::read(&fields) else {
            out.unknown(number, text, "expected `client transaction time script epoch microseconds`");
            continue;
        };
        if line.more.0.is_some() && line.more.1.is_none() && !told {
            told = true;
            let what = if seventh == Seventh::Lag { "the lag (--rate)" } else { "retries (--max-tries)" };
            out.assume(&format!("column 7 has {what}, judging from its values"));
        }
        let (lag, retries) = match line.more {
            (first, None) if seventh == Seventh::Retries => (None, first),
            more => more,
        };
        if scripts && last_script.is_none_or(|(script, _)| script != line.script) {
            let known =
                *numbers.entry(line.script).or_insert_with(|| seconds.operation(&format!("script {}", line.script)));
            last_script = Some((line.script, known));
        }
        let event = match line.time {
            Time::Took(us) => Event { lag, retries: retries.unwrap_or(0), ..Event::done(line.end, us) },
            Time::Failed => Event { retries: retries.unwrap_or(0), ..Event::failed(line.end, None) },
            Time::Skipped => {
                skipped += 1;
                continue;
            }
        };
        seconds.add(out, last_script.and_then(|(_, operation)| operation), &event);
    }
    seconds.finish(out);
    if skipped > 0 {
        results.clone().set(out, names::SKIPPED, skipped as f64);
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::{
        fixtures::read,
        load::tests::{column, result},
    };

    #[test]
    fn threads_are_told_apart_by_the_files_name() {
        assert_eq!((thread("x/pgbench_log.18472"), thread("pgbench_log.18472.3")), (None, Some(3)));
        assert_eq!((thread("my.log"), thread("9.6-plain.txt"), thread("")), (None, None, None));
        assert_eq!(generator(Some(3)), "pgbench thread 3");
    }

    proptest! {
        #[test]
        fn seconds_add_up_to_the_log(rows in vec((0u64..60_000_000, 1u64..3_000_000), 1..400)) {
            let mut rows = rows;
            rows.sort_unstable();
            let begin = 1_700_000_000_000_000u64;
            let line = |(i, (at, took)): (usize, &(u64, u64))| {
                let end = begin + at;
                format!("{} {} {took} 0 {} {}\n", i % 7, i, end / 1_000_000, end % 1_000_000)
            };
            let text: String = rows.iter().enumerate().map(line).collect();
            let read = read(&FORMAT, text.as_bytes());
            prop_assert_eq!(read.tally.notes, 0, "{}", read.text);
            let tps = column(&read.text, "load", "transactions_per_s");
            prop_assert_eq!(tps.iter().flatten().sum::<f64>(), rows.len() as f64);
            // Every second is there, also the idle ones.
            let (first, last) = (rows[0].0 / 1_000_000, rows[rows.len() - 1].0 / 1_000_000);
            prop_assert_eq!(tps.len() as u64, last - first + 1);
            let counted: f64 = column(&read.text, "histogram", "count").iter().flatten().sum();
            prop_assert_eq!(counted, rows.len() as f64);
            let mean = rows.iter().map(|(_, took)| *took as f64).sum::<f64>() / rows.len() as f64 / 1e3;
            let got = result(&read.text, "latency_mean").unwrap();
            prop_assert!((got - mean).abs() <= mean * 1e-9, "{got} {mean}");
            let max = rows.iter().map(|(_, took)| *took).max().unwrap() as f64 / 1e3;
            prop_assert!((result(&read.text, "latency_max").unwrap() - max).abs() <= max * 1e-9);
        }
    }
}
