//! The time of day at the beginning of a line of `sar`, in any locale.

use jiff::civil::Time;

use crate::civil_time;

/// The time at the beginning of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp<'a> {
    /// How it is written, half of the day included.
    pub(super) text: &'a str,
    /// The text after it, without blanks before.
    pub(super) rest: &'a str,
}

impl<'a> Stamp<'a> {
    /// Finds a time at the beginning of `line`: `14:35:53`, `02:35:53 PM`, or as other locales write it.
    pub(super) fn find(line: &'a str) -> Option<Stamp<'a>> {
        let bytes = line.as_bytes();
        let digit = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
        let usual = digit(0) && digit(1) && bytes.get(2) == Some(&b':') && digit(4) && bytes.get(5) == Some(&b':');
        if usual && digit(7) && matches!(bytes.get(8), Some(b' ' | b'\t')) {
            let half = matches!(bytes.get(9..12), Some([b'A' | b'P', b'M', b' ' | b'\t']));
            let end = if half { 11 } else { 8 };
            return Some(Stamp { text: line.get(..end)?, rest: line.get(end..)?.trim_ascii_start() });
        }
        Stamp::unusual(line)
    }

    /// Other locales: `14.35.53`, `2:35:53 pm`, `14時35分53秒`, `下午 02時35分53秒`.
    #[cold]
    fn unusual(line: &'a str) -> Option<Stamp<'a>> {
        let begin = HALVES.iter().find_map(|(word, _)| line.strip_prefix(word)).unwrap_or(line).trim_start();
        let mut rest = begin;
        for separators in [&[':', '.', '时', '時', '시'][..], &[':', '.', '分', '분'][..], &['秒', '초'][..]] {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            if !matches!(digits, 1 | 2) {
                return None;
            }
            rest = &rest[digits..];
            match rest.strip_prefix(separators) {
                Some(after) => rest = if separators.contains(&':') { after.trim_start() } else { after },
                None if separators.contains(&'秒') => {}
                None => return None,
            }
        }
        let blank = rest.trim_start();
        if blank.len() == rest.len() {
            return None;
        }
        let half = HALVES.iter().find_map(|(word, _)| blank.strip_prefix(word)).filter(|r| r.starts_with([' ', '\t']));
        let end = line.len() - half.map_or(rest.len(), str::len);
        Some(Stamp { text: &line[..end], rest: half.unwrap_or(blank).trim_start() })
    }

    /// The time of day.
    pub(super) fn time(&self) -> Option<Time> {
        let half = HALVES.iter().find(|(word, _)| self.text.contains(word)).map(|(_, half)| *half);
        let mut plain = [0_u8; 8];
        let mut digits = self.text.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
        for (i, at) in [0, 3, 6].into_iter().enumerate() {
            let part = digits.next()?.as_bytes();
            let (tens, ones) = match part {
                [ones] => (b'0', *ones),
                [tens, ones] => (*tens, *ones),
                _ => return None,
            };
            plain[at] = tens;
            plain[at + 1] = ones;
            if i < 2 {
                plain[at + 2] = b':';
            }
        }
        civil_time(std::str::from_utf8(&plain).ok()?, half)
    }

    /// Seconds since midnight.
    pub(super) fn seconds(&self) -> Option<f64> {
        let time = self.time()?;
        Some(f64::from(time.hour()) * 3600.0 + f64::from(time.minute()) * 60.0 + f64::from(time.second()))
    }
}

/// Words for the halves of a day.
const HALVES: [(&str, &str); 12] = [
    ("AM", "am"),
    ("PM", "pm"),
    ("am", "am"),
    ("pm", "pm"),
    ("a.m.", "am"),
    ("p.m.", "pm"),
    ("上午", "am"),
    ("下午", "pm"),
    ("午前", "am"),
    ("午後", "pm"),
    ("오전", "am"),
    ("오후", "pm"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_in_any_locale() {
        let cases = [
            ("14:35:53        all", "14:35:53", "all"),
            ("02:35:53 PM     all", "14:35:53", "all"),
            ("12:05:03 AM  CPU", "00:05:03", "CPU"),
            ("14.35.53     CPU", "14:35:53", "CPU"),
            ("2:35:53 pm  CPU", "14:35:53", "CPU"),
            ("14時35分53秒  CPU", "14:35:53", "CPU"),
            ("下午 02時35分53秒  CPU", "14:35:53", "CPU"),
            ("14시 35분 53초  CPU", "14:35:53", "CPU"),
            ("00:00:01 PMI", "00:00:01", "PMI"),
        ];
        for (line, time, rest) in cases {
            let stamp = Stamp::find(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((stamp.time().map(|t| t.to_string()), stamp.rest), (Some(time.to_owned()), rest), "{line}");
        }
        for line in ["Average:   all", "Linux 6.1", "14:35 CPU", "", "1234:1:1 a", "25:00", "14:35:53"] {
            assert!(Stamp::find(line).is_none_or(|s| s.time().is_none()), "{line}");
        }
    }
}
