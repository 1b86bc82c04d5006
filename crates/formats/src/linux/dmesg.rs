//! `dmesg`: messages of the kernel, with seconds since it began, `-T`, `--time-format iso`, `-x`, or raw.
//!
//! Each becomes an event of kind `log` of the subject `kernel`, with the priority where the line has it.
//! Seconds since the boot need the time of the boot: without `--start` the last one is taken to be from when the file was written.

use fenxi_model::catalog::event;

use super::syslog::{PRIORITIES, message, priority};
use crate::{Clock, Family, Format, Head, Input, Out, Relative, Sure, When, number, stamp};

/// Importer for dmesg.
pub static FORMAT: Format = Format {
    name: "dmesg",
    summary: "dmesg: messages of the kernel, also with -T, -x, -r, --time-format iso",
    family: Family::Linux,
    tables: &[&event::TABLE],
    example: "\
[    0.000402] e820: remove [mem 0x000a0000-0x000fffff] usable
[    0.000404] last_pfn = 0x640000 max_arch_pfn = 0x400000000
[    0.000558] MTRR map: 0 entries (0 fixed + 0 variable; max 16), built from 8 variable MTRRs
",
    sniff,
    read,
};

/// Facilities as `-x` prints them.
const FACILITIES: &[&str] =
    &["kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp"];

/// Fewer lines do not show that it is such a log.
const FEWEST: usize = 3;

/// When the kernel wrote a line.
enum Logged<'a> {
    Uptime(f64),
    At(When<'a>),
}

/// A message.
struct Entry<'a> {
    when: Logged<'a>,
    priority: Option<&'static str>,
    text: &'a str,
}

fn sniff(head: &Head<'_>) -> Sure {
    let (mut own, mut others) = (0, 0);
    let mut lines = head.text.lines().filter(|line| !line.trim().is_empty()).take(60).peekable();
    while let Some(line) = lines.next() {
        let is_own = entry(line).is_some();
        own += usize::from(is_own);
        others += usize::from(!is_own && !line.starts_with(' ') && lines.peek().is_some());
    }
    Sure::Likely.when(own >= FEWEST && others * 10 <= own)
}

fn entry(line: &str) -> Option<Entry<'_>> {
    let (mut level, mut rest) = priority(line);
    if let Some((decoded, behind)) = decoded(rest) {
        (level, rest) = (Some(decoded), behind);
    }
    if let Some((inside, behind)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let when = match uptime(inside) {
            Some(seconds) => Logged::Uptime(seconds),
            None => Logged::At(ctime(inside)?),
        };
        let text = behind.strip_prefix(' ').or_else(|| behind.is_empty().then_some(""))?;
        return Some(Entry { when, priority: level, text });
    }
    // `2026-11-23T03:46:39,000402+00:00`: six figures behind a comma.
    let (word, text) = rest.split_once(' ')?;
    let (seconds, fraction) = word.split_once(',')?;
    if seconds.len() != 19 || fraction.len() != 12 {
        return None;
    }
    let when = moment(seconds, fraction)?;
    Some(Entry { when: Logged::At(when), priority: level, text })
}

/// A time whose fraction is behind a comma.
fn moment(seconds: &str, fraction: &str) -> Option<When<'static>> {
    match stamp(&format!("{seconds}.{fraction}"))?.when {
        When::Moment(t) => Some(When::Moment(t)),
        _ => None,
    }
}

/// `kern  :info  : ` before the time.
fn decoded(line: &str) -> Option<(&'static str, &str)> {
    let (facility, rest) = line.split_once(':')?;
    let (level, rest) = rest.split_once(':')?;
    let level = level.trim_end();
    let level = PRIORITIES.iter().find(|known| **known == level || (level == "warn" && **known == "warning"))?;
    FACILITIES.contains(&facility.trim_end()).then_some((*level, rest.strip_prefix(' ')?))
}

/// `    0.000402`: at least five figures or blanks before the point, six behind it.
fn uptime(inside: &str) -> Option<f64> {
    let (whole, fraction) = inside.split_once('.')?;
    let is_padded = whole.len() >= 5 && fraction.len() == 6 && fraction.bytes().all(|b| b.is_ascii_digit());
    if is_padded { number(inside.trim_start_matches(' ')) } else { None }
}

/// `Mon Nov 23 03:46:39 2026`.
fn ctime(inside: &str) -> Option<When<'_>> {
    let found = stamp(inside).filter(|stamp| stamp.rest.is_empty())?;
    matches!(found.when, When::Civil(..)).then_some(found.when).filter(|_| inside.len() == 24)
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut clock = Clock::new(out.hints());
    let mut elapsed: Option<Relative> = None;
    input.each_line(|at, line| {
        if line.trim().is_empty() {
            return;
        }
        let Some(entry) = entry(line) else {
            out.unknown(at, line, "no time of a message of the kernel");
            return;
        };
        let t = match entry.when {
            Logged::Uptime(seconds) => elapsed.get_or_insert_with(|| Relative::elapsed(out)).after(seconds),
            Logged::At(when) => when.moment(&mut clock, out),
        };
        out.log(t, "kernel", entry.priority, &message("", entry.text));
    });
}
