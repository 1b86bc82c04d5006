//! Logs of a machine as text: what rsyslog and syslog-ng write (RFC 3164, RFC 5424, dates of ISO 8601), and `journalctl` in its
//! short forms.
//!
//! Each line becomes an event of kind `log`, with the program as its subject and the priority, as far as the line has them; the
//! message begins with the process. Texts are kept as they are. A line without a year is of the latest one that fits.

use fenxi_model::{Micros, catalog::event};

use crate::{Clock, Family, Format, Head, Input, Out, Sure, When, stamp};

/// Importer for system logs.
pub static FORMAT: Format = Format {
    name: "syslog",
    summary: "system logs: syslog files of any date form, RFC 5424, journalctl -o short, short-iso, short-full ...",
    family: Family::Linux,
    tables: &[&event::TABLE],
    example: "\
Nov 23 04:44:09 db1 CRON[2026]: (root) CMD (run-parts /etc/cron.hourly)
Nov 23 04:44:09 db1 kernel: Out of memory: Killed process 4711 (java)
Nov 23 04:44:10 db1 systemd[1]: Started Session 12 of User bob.
",
    sniff,
    read,
};

/// The longest message that is kept.
const MAX_TEXT: usize = 16 << 10;

/// Names of priorities, by their numbers.
pub(super) const PRIORITIES: [&str; 8] = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"];

/// Words in the place of a host, in logs of other programs.
const LEVELS: &[&str] =
    &["trace", "debug", "info", "notice", "warn", "warning", "error", "err", "fatal", "critical", "panic"];

/// Fewer lines do not show that it is such a log.
const FEWEST: usize = 3;

fn sniff(head: &Head<'_>) -> Sure {
    let (mut own, mut numbered, mut others, mut solaris) = (0, 0, 0, 0);
    let mut lines = head.text.lines().filter(|line| !line.trim().is_empty()).take(60).peekable();
    while let Some(line) = lines.next() {
        match entry(line) {
            Some(entry) if !entry.program.is_empty() || entry.is_5424 => {
                own += 1;
                solaris += usize::from(entry.is_solaris);
                numbered += usize::from(entry.is_5424 || !entry.pid.is_empty() || entry.program == "kernel");
            }
            // Further lines of a message; the last line of the head may be cut.
            // Further lines of a message have the host, too.
            Some(_) if solaris > 0 => {}
            _ if (own > 0 && line.starts_with(' ')) || is_remark(line) || lines.peek().is_none() => {}
            _ => others += 1,
        }
    }
    Sure::Likely.when(own >= FEWEST && others * 10 <= own && numbered * 2 >= own || solaris > 0 && others == 0)
}

/// Lines of `journalctl` about the journal.
fn is_remark(line: &str) -> bool {
    line.starts_with("-- ") && line.ends_with(" --")
        || line.starts_with("-- Logs begin at ")
        || line.starts_with("-- Journal begins at ")
}

/// One line of a log.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) when: When<'a>,
    pub(crate) host: &'a str,
    pub(crate) program: &'a str,
    pub(crate) pid: &'a str,
    priority: Option<&'static str>,
    pub(crate) text: &'a str,
    is_5424: bool,
    /// It has `[ID 107833 kern.warning]`.
    is_solaris: bool,
}

/// Reads a line; None when it has no time that such logs have, or no host behind it.
pub(crate) fn entry(line: &str) -> Option<Entry<'_>> {
    let (priority, rest) = priority(line);
    if let Some(rest) = rest.strip_prefix("1 ").filter(|_| priority.is_some()) {
        return rfc5424(priority, rest);
    }
    let (when, rest) = time(rest)?;
    let (host, rest) = rest.split_once(' ')?;
    if !is_host(host) {
        return None;
    }
    let word = rest.split(' ').next().unwrap_or("");
    let Some(tag) = word.strip_suffix(':').filter(|tag| !tag.is_empty()) else {
        return Some(Entry {
            when,
            host,
            program: "",
            pid: "",
            priority,
            text: rest,
            is_5424: false,
            is_solaris: false,
        });
    };
    let text = rest.get(word.len()..).unwrap_or("");
    let text = text.strip_prefix(' ').unwrap_or(text);
    let (program, pid) = match tag.strip_suffix(']').and_then(|tag| tag.rsplit_once('[')) {
        Some((program, pid)) => (program, pid),
        None => (tag, ""),
    };
    let solaris = text.strip_prefix("[ID ").and_then(|rest| rest.split_once("] ")).and_then(|(id, text)| {
        let (number, level) = id.split_once(' ')?;
        let level = level.rsplit('.').next()?;
        number
            .bytes()
            .all(|b| b.is_ascii_digit())
            .then_some((PRIORITIES.iter().find(|name| **name == level).copied(), text))
    });
    let (level, text, is_solaris) = solaris.map_or((None, text, false), |(level, text)| (level, text, true));
    Some(Entry { when, host, program, pid, priority: priority.or(level), text, is_5424: false, is_solaris })
}

/// The priority in `<38>` and what is behind it.
pub(super) fn priority(line: &str) -> (Option<&'static str>, &str) {
    let found = line.strip_prefix('<').and_then(|rest| rest.split_once('>')).and_then(|(digits, rest)| {
        let code: usize = digits.parse().ok().filter(|code| *code < 192)?;
        Some((PRIORITIES.get(code % 8).copied(), rest))
    });
    found.unwrap_or((None, line))
}

/// The time at the beginning of a line, in one of the forms of such logs.
fn time(text: &str) -> Option<(When<'_>, &str)> {
    let first = text.bytes().next()?;
    // `Mon 2026-11-23 04:25:01 UTC`.
    let day = ["Mon ", "Tue ", "Wed ", "Thu ", "Fri ", "Sat ", "Sun "].iter().find_map(|day| text.strip_prefix(day));
    let dated = day.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let found = stamp(dated.unwrap_or(text)).map(|stamp| (stamp.when, stamp.rest))?;
    let right = match &found.0 {
        When::Yearless(..) => first.is_ascii_uppercase(),
        When::Moment(_) => first.is_ascii_digit() || dated.is_some(),
        When::Civil(_, zone) => dated.is_some() || (zone.is_some() && text.as_bytes().get(10) == Some(&b'T')),
        When::Time(_) => false,
    };
    right.then_some(found)
}

/// Whether a word can be the name or the address of a host.
fn is_host(word: &str) -> bool {
    let begins = word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word.bytes().any(|b| b.is_ascii_alphabetic() || b == b'.');
    begins
        && word.len() < 256
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b':'))
        && !word.ends_with(':')
        && !LEVELS.iter().any(|level| word.eq_ignore_ascii_case(level))
}

/// `2026-11-23T04:44:09.257985+00:00 db1 sshd 2024 ID47 [data] text`; what is missing is `-`.
fn rfc5424<'a>(priority: Option<&'static str>, rest: &'a str) -> Option<Entry<'a>> {
    let mut parts = rest.splitn(6, ' ');
    let (stamped, host, program, pid, _) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let rest = parts.next()?;
    let when = stamp(stamped)
        .map(|stamp| stamp.when)
        .filter(|when| matches!(when, When::Moment(_) | When::Civil(_, Some(_))))?;
    let text = rest.strip_prefix('-').unwrap_or_else(|| behind_data(rest));
    let known = |word: &'a str| if word == "-" { "" } else { word };
    let text = text.trim_start_matches([' ', '\u{feff}']);
    Some(Entry {
        when,
        host: known(host),
        program: known(program),
        pid: known(pid),
        priority,
        text,
        is_5424: true,
        is_solaris: false,
    })
}

/// The text after structured data: `[id a="b"][id c="]"] text`.
fn behind_data(rest: &str) -> &str {
    let (mut quoted, mut escaped, mut open) = (false, false, false);
    for (at, c) in rest.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = quoted,
            '"' => quoted = !quoted,
            '[' if !quoted => open = true,
            ']' if !quoted => open = false,
            ' ' if !quoted && !open => return rest.get(at..).unwrap_or(""),
            _ => {}
        }
    }
    if open { rest } else { "" }
}

/// An event that further lines may add to.
struct Pending {
    t: Micros,
    host: String,
    program: String,
    priority: Option<&'static str>,
    message: String,
}

impl Pending {
    fn write(self, out: &mut Out<'_>) {
        out.set_host(&self.host);
        let subject = if self.program.is_empty() { "syslog" } else { &self.program };
        out.log(self.t, subject, self.priority, &self.message);
    }
}

/// The message with the process before it: `[88] text`.
pub(super) fn message(pid: &str, text: &str) -> String {
    let pid = if pid.is_empty() { String::new() } else { format!("[{pid}] ") };
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{pid}{}", text.get(..end).unwrap_or(""))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut clock = Clock::new(out.hints());
    let mut pending: Option<Pending> = None;
    input.each_line(|number, line| {
        if line.trim().is_empty() || is_remark(line) {
            return;
        }
        if let Some(entry) = entry(line) {
            if let Some(pending) = pending.take() {
                pending.write(out);
            }
            pending = Some(Pending {
                t: entry.when.moment(&mut clock, out),
                host: entry.host.to_owned(),
                program: entry.program.to_owned(),
                priority: entry.priority,
                message: message(entry.pid, entry.text),
            });
        } else if let Some(pending) = pending.as_mut().filter(|_| line.starts_with([' ', '\t'])) {
            if pending.message.len() + line.len() < MAX_TEXT {
                pending.message.push('\n');
                pending.message.push_str(line.trim());
            }
        } else {
            out.unknown(number, line, "no time and host of a log");
        }
    });
    if let Some(pending) = pending {
        pending.write(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::read as import;

    fn sure(text: &str) -> Sure {
        sniff(&Head { text })
    }

    #[test]
    fn logs_of_other_programs_are_not_the_machines() {
        let times = |line: &str| format!("{line}\n").repeat(9);
        assert_eq!(sure(&times("Nov 23 04:44:09 db1 sshd[88]: hello")), Sure::Likely);
        for line in [
            "2026-11-23T04:44:09Z INFO server: started",
            "2026-11-23T04:44:09.123456Z 0 [System] [MY-010116] [Server] mysqld starting as process 1",
            "2026-11-23 04:44:09 db1 sshd[88]: hello",
            "2026-11-23 04:44:09.123 UTC [4711] LOG:  checkpoint starting: time",
            "04:44:09 db1 sshd[88]: hello",
            "Nov 23 04:44:09 2026 something: else",
            "Nov 23 04:44:09 db1 reading 5 of 7",
            "1795407901 42 7: 9",
            "Mon Nov 23 04:44:09 UTC 2026",
        ] {
            assert_eq!(sure(&times(line)), Sure::No, "{line}");
        }
        assert_eq!(sure("Nov 23 04:44:09 db1 sshd[88]: hello\n"), Sure::No);
    }

    #[test]
    fn structured_data_is_no_part_of_the_text() {
        let text = "<27>1 2026-11-23T04:44:09.273026Z db1 app - ID47 [ex@32473 a=\"x ] \\\" y\"][b c=\"d\"] the text\n\
                    <165>1 2026-11-23T04:44:10Z db1 app 7 - - \u{feff}other\n";
        let read = import(&FORMAT, text.as_bytes());
        assert!(read.text.contains("\tapp\terr\tthe text"), "{}", read.text);
        assert!(read.text.contains("\tapp\tnotice\t[7] other"), "{}", read.text);
    }
}
