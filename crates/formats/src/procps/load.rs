//! The line of `uptime`, with which `w` and `top` begin too.

use jiff::civil::Time;

use crate::{civil_time, number};

/// The fields of the line: ` 08:19:07 up  3:22,  2 users,  load average: 0.28, 0.28, 0.48`.
#[derive(Debug, PartialEq)]
pub struct Load {
    pub time: Option<Time>,
    pub up_s: Option<f64>,
    pub users: Option<f64>,
    pub averages: [Option<f64>; 3],
}

/// How translations call the load average.
const MARKS: &[&str] = &[
    "load average: ",
    "load averages: ",
    "Durchschnittslast: ",
    "charge moyenne: ",
    "carga media: ",
    "średnie obciążenie: ",
];

/// Reads the line, of Linux, BSD, macOS and Solaris; None when it is none.
pub fn load(line: &str) -> Option<Load> {
    let (at, mark) = MARKS.iter().find_map(|m| line.find(m).map(|at| (at, m)))?;
    let (before, figures) = (&line[..at], &line[at + mark.len()..]);
    let mut averages = [None; 3];
    let cells = figures.split_ascii_whitespace().map(|w| w.trim_end_matches([',', ';']));
    let mut n = 0;
    for (average, cell) in averages.iter_mut().zip(cells) {
        *average = Some(number(cell)?);
        n += 1;
    }
    let before = before.trim_start().trim_start_matches("top - ");
    let (clock, rest) = before.split_once(" up ").unwrap_or((before, ""));
    let users = rest.split(',').find(|p| p.contains("user")).and_then(|p| number(p.split_ascii_whitespace().next()?));
    (n == 3).then_some(Load { time: time(clock), up_s: up(rest), users, averages })
}

/// `08:19:07`, `10:11am`, `9:35`.
fn time(text: &str) -> Option<Time> {
    let text = text.split_ascii_whitespace().next()?;
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    civil_time(digits, Some(&text[digits.len()..]).filter(|h| !h.is_empty()))
}

/// `3:22`, `2 min`, `45 days, 23:00`, `1 day, 2 min`, `12 day(s), 3 hr(s)`.
fn up(text: &str) -> Option<f64> {
    let mut seconds = None;
    for part in text.split(',') {
        let mut words = part.split_ascii_whitespace();
        let (Some(first), unit) = (words.next(), words.next()) else { continue };
        let value = match (first.split_once(':'), unit) {
            (Some((hours, minutes)), None) => number(hours)? * 3600.0 + number(minutes)? * 60.0,
            (None, Some(unit)) => {
                let factor = match unit.get(..2)? {
                    "da" => 86_400.0,
                    "ho" | "hr" => 3600.0,
                    "mi" => 60.0,
                    "se" => 1.0,
                    _ => continue,
                };
                number(first)? * factor
            }
            _ => continue,
        };
        *seconds.get_or_insert(0.0) += value;
    }
    seconds
}

#[cfg(test)]
mod tests {
    use jiff::civil::time;

    use super::*;

    #[test]
    fn the_line_is_read_in_its_forms() {
        let read = |line| load(line).unwrap();
        let linux = read(" 08:19:07 up 45 days,  3:22,  2 users,  load average: 0.28, 1.50, 12.48");
        assert_eq!((linux.time, linux.users), (Some(time(8, 19, 7, 0)), Some(2.0)));
        assert_eq!(linux.up_s, Some(45.0 * 86_400.0 + 3.0 * 3600.0 + 22.0 * 60.0));
        assert_eq!(linux.averages, [Some(0.28), Some(1.5), Some(12.48)]);
        let top = read("top - 11:24:50 up 2 min,  1 user,  load average: 0,23, 0,22, 0,09");
        assert_eq!((top.up_s, top.averages[0]), (Some(120.0), Some(0.23)));
        let solaris = read(" 10:11am  up 45 day(s), 23:00,  2 users,  load average: 0.10, 0.12, 0.15");
        assert_eq!((solaris.time, solaris.up_s), (Some(time(10, 11, 0, 0)), Some(45.0 * 86_400.0 + 23.0 * 3600.0)));
        let bsd = read("9:35  up 3 days, 21 mins, 3 users, load averages: 1.23 1.45 1.50");
        assert_eq!((bsd.up_s, bsd.averages[2]), (Some(3.0 * 86_400.0 + 21.0 * 60.0), Some(1.5)));
        assert_eq!(load("load average is high"), None);
    }
}
