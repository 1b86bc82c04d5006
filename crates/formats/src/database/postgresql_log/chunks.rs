//! The server's lines within another log: a system log, or Cloud Logging of Google as JSON. A system log has a message in chunks,
//! each a line `[SEQUENCE-CHUNK] text`, those of several processes mixed; a tab at the begin of a line may be written as `#011`.

use std::{borrow::Cow, collections::VecDeque};

use fenxi_model::Micros;

use super::{
    Entry, Times,
    line::{Line, add, report},
    message::Log,
};
use crate::{Head, Input, Out, When, json::object, linux::syslog};

/// How many lines of the head show whose log it is, and how many reports may be incomplete at a time.
const HEAD: usize = 60;
const PENDING: usize = 64;

/// The other log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Within {
    System,
    Cloud,
}

/// A line of the server.
struct Chunk<'a> {
    when: When<'a>,
    host: &'a str,
    /// The process; None where only the text can name it.
    pid: Option<i64>,
    /// Its place in the message; None where chunks have no numbers.
    place: Option<u32>,
    text: Cow<'a, str>,
}

impl Within {
    fn chunk(self, line: &str) -> Option<Chunk<'_>> {
        match self {
            Within::System => of_system(line),
            Within::Cloud => of_cloud(line),
        }
    }
}

fn of_system(line: &str) -> Option<Chunk<'_>> {
    let entry = syslog::entry(line)?;
    let numbered = entry.text.strip_prefix('[').and_then(|rest| {
        let (number, text) = rest.split_once(']')?;
        let (sequence, place) = number.split_once('-')?;
        sequence.parse::<u64>().ok()?;
        Some((place.parse().ok()?, text.strip_prefix(' ').unwrap_or(text)))
    });
    let is_server = numbered.is_some() || entry.program.starts_with("postgres");
    let (place, text) = numbered.map_or((None, entry.text), |(place, text)| (Some(place), text));
    let pid = entry.pid.parse().ok();
    is_server.then(|| Chunk { when: entry.when, host: entry.host, pid, place, text: text.into() })
}

fn of_cloud(line: &str) -> Option<Chunk<'_>> {
    let entry = object(line)?;
    let member = |name: &str| entry.get(name).and_then(serde_json::Value::as_str);
    let t = member("timestamp")?.parse::<jiff::Timestamp>().ok()?;
    let text = member("textPayload")?.to_owned();
    let pid = report(&text).and_then(|line| line.pid);
    Some(Chunk { when: When::Moment(Micros(t.as_microsecond())), host: "", pid, place: None, text: text.into() })
}

/// In which log the lines of a server are, alone or nearly so. A log whose lines have the server's own times is read without it.
pub(super) fn within(head: &Head<'_>) -> Option<Within> {
    let within = if head.first().starts_with('{') { Within::Cloud } else { Within::System };
    let (mut own, mut others, mut reports) = (0, 0, 0);
    for line in head.lines().filter(|line| !line.trim().is_empty()).take(HEAD) {
        let Some(chunk) = within.chunk(line) else {
            others += 1;
            // However many of the rest are the server's: most texts end here.
            if others * 10 > HEAD {
                return None;
            }
            continue;
        };
        own += 1;
        let found = report(&chunk.text).filter(|line| line.kind == "LOG" || line.kind == "STATEMENT");
        let is_bare = |line: Line<'_>| within == Within::Cloud || chunk.place.is_some() || line.when.is_none();
        reports += usize::from(found.is_some_and(is_bare));
    }
    (reports > 0 && others * 10 <= own).then_some(within)
}

/// A report of which more may come.
struct Pending {
    pid: Option<i64>,
    entry: Entry,
    /// The part that a further chunk belongs to.
    part: String,
}

/// Reads the whole log.
pub(super) fn read(within: Within, input: &mut Input<'_>, times: &mut Times, log: &mut Log, out: &mut Out<'_>) {
    let mut pending: VecDeque<Pending> = VecDeque::new();
    while input.line().is_some() {
        let (number, text) = (input.number(), input.text());
        let Some(chunk) = within.chunk(text) else {
            if !text.trim().is_empty() {
                out.unknown(number, text, "no line of the server");
            }
            continue;
        };
        if !chunk.host.is_empty() {
            out.set_host(chunk.host);
        }
        let of_process = pending.iter().rposition(|pending| chunk.pid.is_none() || pending.pid == chunk.pid);
        match (line(&chunk), of_process) {
            (Some(line), _) if line.is_primary() => {
                // In the order in which they began; of this process nothing more can come.
                let done = of_process.map_or(pending.len().saturating_sub(PENDING), |place| place + 1);
                pending.drain(..done).for_each(|pending| log.entry(pending.entry, out));
                let t = match line.when {
                    Some((when, zone)) => times.moment(when, zone, out),
                    None => chunk.when.moment(&mut times.clock, out),
                };
                let entry = Entry { pid: line.pid.or(chunk.pid), ..line.entry(number, Some(t)) };
                pending.push_back(Pending { pid: chunk.pid, entry, part: String::new() });
            }
            (found, Some(place)) => pending[place].add(found, &chunk.text),
            (_, None) => out.unknown(number, text, "no report of the server before it"),
        }
    }
    pending.into_iter().for_each(|pending| log.entry(pending.entry, out));
}

/// The report or the part that begins with a chunk; None where the one before goes on.
fn line<'c>(chunk: &'c Chunk<'_>) -> Option<Line<'c>> {
    let goes_on = chunk.text.starts_with(['\t', ' ']) || chunk.text.starts_with("#011");
    report(&chunk.text).filter(|line| !(goes_on || line.is_primary() && chunk.place.is_some_and(|place| place > 1)))
}

impl Pending {
    /// A further part, or more of the one before: a new line of it, or what a chunk had no room for.
    fn add(&mut self, part: Option<Line<'_>>, text: &str) {
        if let Some(line) = part {
            line.kind.clone_into(&mut self.part);
            add(&mut self.entry, &self.part, line.text);
        } else if let Some(text) = text.strip_prefix("#011").or_else(|| text.strip_prefix('\t')) {
            add(&mut self.entry, &self.part, "\n");
            add(&mut self.entry, &self.part, text);
        } else {
            add(&mut self.entry, &self.part, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::FORMAT;
    use crate::{Head, detect, fixtures::read};

    const LINES: &str = "\
Nov 23 04:23:02 db1 postgres[4711]: [7-1] db=shop,user=bob,app=x LOG:  duration: 20.500 ms  statement: select a
Nov 23 04:23:02 db1 postgres[4712]: [3-1] db=shop,user=eve,app=x ERROR:  division by zero
Nov 23 04:23:02 db1 postgres[4711]: [7-2] #011from t where a = 'secret
Nov 23 04:23:02 db1 postgres[4711]: [7-3]  ERROR:  of a text' and b = 2
Nov 23 04:23:02 db1 postgres[4712]: [3-2] db=shop,user=eve,app=x STATEMENT:  select 1/0
Nov 23 04:23:03 db1 postgres[4711]: [8-1] db=shop,user=bob,app=x LOG:  duration: 10.000 ms  statement: select 2
";

    #[test]
    fn messages_of_several_processes_are_put_together() {
        assert_eq!(detect(&Head { text: LINES }).map(|format| format.name), Some("postgresql-log"));
        let read = read(&FORMAT, LINES.as_bytes());
        assert_eq!(read.tally.notes, 0, "{}", read.text);
        assert!(read.text.contains("select a from t where a = ? and b = ?"), "{}", read.text);
        assert!(read.text.contains("select ?/?") && !read.text.contains("secret"), "{}", read.text);
        assert!(read.text.contains("-11-23T04:23:02.000000Z") && read.text.contains("\tdb1\t"), "{}", read.text);
    }

    #[test]
    fn forms_of_system_logs_and_a_prefix_with_a_time_are_read() {
        for (from, into) in [
            ("Nov 23 04:23:02 db1", "2026-11-23T05:23:02.000000+01:00 db1"),
            ("Nov 23 04:23:02 db1", "<134>Nov 23 04:23:02 db1"),
            ("] db=", "] 2026-11-23 04:23:02.000 UTC [4711] db="),
        ] {
            let text = LINES.replace(from, into);
            assert_eq!(detect(&Head { text: &text }).map(|format| format.name), Some("postgresql-log"), "{into}");
            let read = read(&FORMAT, text.as_bytes());
            assert_eq!(read.tally.notes, 0, "{}", read.text);
            assert!(read.text.contains("-11-23T04:23:02.000000Z"), "{}", read.text);
            assert!(read.text.contains("select a from t where a = ? and b = ?"), "{}", read.text);
        }
    }

    #[test]
    fn messages_in_cloud_logging_are_the_servers_own() {
        let entry = |t: u32, text: &str| {
            format!(
                "{{\"insertId\":\"s=a4\",\"receiveTimestamp\":\"2026-11-23T05:00:00.5Z\",\"severity\":\"INFO\",\"textPayload\":\"{text}\",\"timestamp\":\"2026-11-23T04:23:0{t}.5Z\"}}\n"
            )
        };
        let text = entry(2, "[4711]: [3-1] db=shop,user=bob LOG:  duration: 20.000 ms  statement: select a")
            + &entry(2, "\\tfrom t where a = 'secret'")
            + &entry(3, "[4712]: [1-1] db=[unknown],user=[unknown] LOG:  connection received: host=10.0.0.1 port=4");
        assert_eq!(detect(&Head { text: &text }).map(|format| format.name), Some("postgresql-log"));
        let read = read(&FORMAT, text.as_bytes());
        assert_eq!(read.tally.notes, 0, "{}", read.text);
        assert!(read.text.contains("\tselect a from t where a = ?\t"), "{}", read.text);
        assert!(read.text.contains("2026-11-23T04:23:02.500000Z") && !read.text.contains("timestamp"), "{}", read.text);
    }

    #[test]
    fn a_machines_log_with_some_lines_of_a_server_is_the_machines() {
        let other = "Nov 23 04:23:04 db1 sshd[88]: Accepted publickey for bob\n".repeat(3);
        let text = format!("{LINES}{other}");
        assert_eq!(detect(&Head { text: &text }).map(|format| format.name), Some("syslog"));
        let errors =
            LINES.lines().filter(|line| line.contains("4712")).map(|line| format!("{line}\n")).collect::<String>();
        assert_eq!(
            detect(&Head { text: &errors.replace("STATEMENT", "HINT").repeat(3) }).map(|f| f.name),
            Some("syslog")
        );
    }
}
