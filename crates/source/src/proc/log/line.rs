//! A line of a log file: who wrote it, and what.

/// A line of a log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line<'a> {
    /// The program that wrote it; empty where it does not say.
    pub subject: &'a str,
    /// How urgent it is, as syslog calls it; None where it does not say.
    pub priority: Option<&'static str>,
    /// Its text.
    pub message: &'a str,
}

/// The priorities of syslog (RFC 5424), from 0.
const PRIORITIES: [&str; 8] = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"];

/// The priority in a number of facility and priority.
pub fn priority(code: u64) -> Option<&'static str> {
    PRIORITIES.get(usize::try_from(code & 7).ok()?).copied()
}

impl<'a> Line<'a> {
    /// The parts of a line that syslog wrote (`Nov 22 10:11:12 db1 sshd[12]: text` or with a time as ISO 8601 has it); of another
    /// one only its text is known.
    pub fn parse(text: &'a str) -> Line<'a> {
        Line::of_syslog(text).unwrap_or(Line { subject: "", priority: None, message: text.trim() })
    }

    fn of_syslog(text: &'a str) -> Option<Line<'a>> {
        let (first, rest) = word(text)?;
        let rest = if is_iso_time(first) {
            rest
        } else {
            let (day, rest) = word(rest).filter(|_| is_month(first))?;
            let (time, rest) = word(rest).filter(|_| day.parse::<u8>().is_ok())?;
            (time.len() == 8 && time.split(':').count() == 3).then_some(rest)?
        };
        let (_host, rest) = word(rest)?;
        let (tag, message) = rest.trim_start().split_once(": ")?;
        let subject = tag.split_once('[').map_or(tag, |(name, _)| name);
        let is_name = !subject.is_empty() && !subject.contains(char::is_whitespace);
        is_name.then_some(Line { subject, priority: None, message: message.trim() })
    }
}

/// The next word, and what follows it.
fn word(text: &str) -> Option<(&str, &str)> {
    text.trim_start().split_once(' ')
}

fn is_month(word: &str) -> bool {
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"].contains(&word)
}

fn is_iso_time(word: &str) -> bool {
    matches!(word.as_bytes(), [a, b, c, d, b'-', _, _, b'-', _, _, b'T', _, _, b':', ..] if [a, b, c, d].iter().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_syslog_name_their_program() {
        let of = |text| {
            let line = Line::parse(text);
            (line.subject, line.message)
        };
        assert_eq!(of("Nov  2 10:11:12 db1 sshd[412]: Accepted key: yes"), ("sshd", "Accepted key: yes"));
        assert_eq!(of("2026-11-22T10:11:12.123456+01:00 db1 cron: job"), ("cron", "job"));
        assert_eq!(
            of("2026-11-22 10:11:12.123 UTC [77] LOG:  ready"),
            ("", "2026-11-22 10:11:12.123 UTC [77] LOG:  ready")
        );
        assert_eq!(of("Nov 22 late db1 x: y"), ("", "Nov 22 late db1 x: y"));
        assert_eq!(of("May I ask: why"), ("", "May I ask: why"));
    }

    #[test]
    fn priorities_are_the_lowest_three_bits() {
        assert_eq!(
            (priority(0), priority(3), priority(6), priority(30)),
            (Some("emerg"), Some("err"), Some("info"), Some("info"))
        );
    }
}
