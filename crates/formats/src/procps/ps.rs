//! `ps` of procps and busybox: processes or threads at a moment, once or in a loop.
//!
//! `%CPU` of ps is CPU time over the whole life of the process, not over an interval: it goes to
//! `metric`, with the CPU time itself.

use fenxi_model::{
    Micros,
    catalog::{process, thread},
};

use super::{
    moments::{Moments, is_prompt},
    tasks::Header,
};
use crate::{Family, Format, Head, Input, Out, Splitter, Sure, stamp};

/// Importer for ps aux, -ef, -eo with any columns, -eLf, also in a loop with a time stamp before each.
pub static FORMAT: Format = Format {
    name: "ps",
    summary: "ps aux, -ef, -eo with any columns, -eLf, also in a loop with a time stamp before each",
    family: Family::Linux,
    tables: &[&process::TABLE, &thread::TABLE],
    example: "\
USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND
root           1  0.3  0.1 168140 11784 ?        Ss   08:01   0:02 /sbin/init
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let mut header = None;
    for line in head.lines().take(20) {
        let text = stamp(line).map_or(line, |s| s.rest);
        if let Some(found) = header_of(text) {
            header = Some(found);
        } else if let Some(header) = &header {
            let mut splitter = Splitter::default();
            let task = header.task(&splitter.blanks(text), &mut |_, _, _| {});
            return Sure::Likely.when(task.is_some_and(|t| t.pid.is_some() || t.tid.is_some()));
        } else if line.starts_with("top - ") || line.contains(" load average") && !is_prompt(line, "ps") {
            return Sure::No;
        }
    }
    Sure::No
}

/// A header of ps. Those of top have columns that ps has not.
fn header_of(line: &str) -> Option<Header> {
    if line.contains("TIME+") || line.contains("%VSZ") || line.contains(" UserTime") || line.contains('|') {
        return None;
    }
    // sysstat's pidstat has its time in front, and these columns.
    let foreign = ["%usr", "%system", "kB_rd/s", "cswch/s", "minflt/s", "usr_ms", "RDDSK", "SYSCPU", "USED CPU"];
    // Tools that list open files have these words, which ps has not.
    let opened = |word: &str| matches!(word, "FD" | "FILE" | "FILENAME" | "PATH");
    if foreign.iter().any(|f| line.contains(f)) || line.split_ascii_whitespace().any(opened) {
        return None;
    }
    Header::read("ps", line)
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut moments = Moments::new(out);
    let mut header: Option<Header> = None;
    let mut when: Option<(Micros, Option<f64>)> = None;
    let mut splitter = Splitter::default();
    while input.line().is_some() {
        let number = input.number();
        let line = input.text().trim();
        if line.is_empty() {
            continue;
        }
        if let Some(found) = header_of(line) {
            header = Some(found);
            when = None;
            continue;
        }
        if let Some(header) = &header
            && task(header, line, (&mut when, &mut moments), &mut splitter, out)
        {
            continue;
        }
        match stamp(line) {
            Some(stamp) => {
                // The stamp is on a separate line, or before each line.
                let before = stamp.rest.to_owned();
                let header_follows = header_of(&before);
                if header_follows.is_some() || before.trim_matches(['*', '#', '=', '-', ' ']).is_empty() {
                    moments.take(line, out);
                    when = None;
                    header = header_follows.or(header);
                    continue;
                }
                let known =
                    header.as_ref().is_some_and(|h| task(h, &before, (&mut when, &mut moments), &mut splitter, out));
                if !known {
                    out.unknown(number, line, "no line of ps");
                }
            }
            None if is_prompt(line, "ps") => header = None,
            None => out.unknown(number, line, "no line of ps"),
        }
    }
}

/// Takes a line of the list; false when it does not fit the header.
fn task(
    header: &Header,
    line: &str,
    (when, moments): (&mut Option<(Micros, Option<f64>)>, &mut Moments),
    splitter: &mut Splitter,
    out: &mut Out<'_>,
) -> bool {
    let fields = splitter.blanks(line);
    let mut metrics: Vec<(String, f64, &'static str)> = Vec::new();
    let mut keep = |name: &str, value: f64, unit: &'static str| metrics.push((name.to_owned(), value, unit));
    let Some(task) = header.task(&fields, &mut keep).filter(|t| t.pid.is_some() || t.tid.is_some()) else {
        return false;
    };
    let (t, dt) = *when.get_or_insert_with(|| moments.next(out));
    task.write(out, (t, dt), header.threads, None);
    let lifetime = task.cpu.map(|v| ("ps.lifetime_cpu", v, "%"));
    let time = task.time_s.map(|v| ("ps.cpu_time", v, "s"));
    let pid = task.pid.unwrap_or(0);
    let tid = task.tid.map_or(String::new(), |tid| format!(",tid={tid}"));
    let labels = format!("pid={pid}{tid},comm={}", task.comm().unwrap_or("").replace(',', "_"));
    for (name, value, unit) in lifetime.into_iter().chain(time) {
        out.metric(t, dt, name, &labels, value, unit);
    }
    for (name, value, unit) in &metrics {
        out.metric(t, dt, name, &labels, *value, unit);
    }
    true
}
