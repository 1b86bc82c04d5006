//! The lines of nicstat: headers, and the records of `-p`.

use fenxi_model::Micros;
use jiff::civil::Time;

use crate::{Fields, Splitter, civil_time, number};

/// Kind of the lines under a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Lines with a time and an interface: the default, `-s`, `-U`, `-M`.
    Timed,
    /// Lines with an interface, under a time: `-x`.
    Extended,
    /// A line of TCP: `-t`.
    Tcp,
    /// A line of UDP: `-u`.
    Udp,
    /// The list of interfaces: `-l`.
    Listing,
}

/// A header line: the columns' names, and for most kinds the time of the lines below.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) time: Option<Time>,
    pub(super) columns: Vec<String>,
}

/// Reads a header line. The first versions wrote `rKb/s` for kilobytes.
pub(super) fn header(line: &str) -> Option<Header> {
    let mut words = line.split_ascii_whitespace();
    let (first, second) = (words.next()?, words.next()?);
    let kind = match (first, second) {
        ("Time", "Int") => Kind::Timed,
        ("Int", "Loopback") => Kind::Listing,
        (_, "RdKB" | "RdKb" | "RdMbps") => Kind::Extended,
        (_, "InKB") => Kind::Tcp,
        (_, "InDG") => Kind::Udp,
        _ => return None,
    };
    let time = match kind {
        Kind::Timed | Kind::Listing => None,
        _ => Some(civil_time(first, None)?),
    };
    let named = if time.is_some() { Some(second) } else { None };
    let columns: Vec<String> = named.into_iter().chain(words).map(str::to_owned).collect();
    let known = kind != Kind::Timed || matches!(columns.first()?.as_str(), "rKB/s" | "rKb/s" | "rMbps");
    known.then_some(Header { kind, time, columns })
}

/// The time at the beginning of a line, in seconds of the day or since 1970: to find the usual interval.
pub(super) fn stamp_seconds(line: &str) -> Option<f64> {
    let end = line.find([' ', ':'])?;
    let first = line.get(..end)?;
    if first.len() > 2 {
        return number(first).filter(|_| line.as_bytes().get(end) == Some(&b':'));
    }
    let time = civil_time(line.split_ascii_whitespace().next()?, None)?;
    Some(f64::from(time.hour()) * 3600.0 + f64::from(time.minute()) * 60.0 + f64::from(time.second()))
}

/// Seconds between two lines of one interface under one header of `-x`, from two headers.
pub(super) fn extended_step(head: &str) -> Option<f64> {
    let (mut begin, mut leader, mut lines) = (None::<f64>, "", 0u32);
    for line in head.lines() {
        let first = line.split_ascii_whitespace().next().unwrap_or("");
        if header(line).is_some_and(|h| h.kind == Kind::Extended) {
            let now = stamp_seconds(line)?;
            if let Some(begin) = begin.filter(|_| lines > 1) {
                let passed = if now < begin { now + 86_400.0 - begin } else { now - begin };
                return Some(passed / f64::from(lines)).filter(|step| *step > 0.0);
            }
            (begin, leader, lines) = (Some(now), "", 0);
        } else if !first.is_empty() {
            leader = if leader.is_empty() { first } else { leader };
            lines += u32::from(first == leader);
        }
    }
    None
}

/// One line of `-p`.
pub(super) struct Record<'a> {
    pub(super) t: Micros,
    /// The interface, `TCP` or `UDP`.
    pub(super) name: &'a str,
    pub(super) columns: &'static [&'static str],
    pub(super) values: Fields<'a>,
}

const TCP: &[&str] = &["InKB", "OutKB", "InSeg", "OutSeg", "Reset", "AttF", "%ReTX", "InConn", "OutCon", "Drops"];
const UDP: &[&str] = &["InDG", "OutDG", "InErr", "OutErr"];
const NET: &[&str] = &["rKB/s", "wKB/s", "rPk/s", "wPk/s", "%Util", "Sat"];
const EXTENDED: &[&str] =
    &["rKB/s", "wKB/s", "rPk/s", "wPk/s", "%Util", "Sat", "IErr", "OErr", "Coll", "NoCP", "Defer"];
/// As recorders that began with nicstat write it, with packet sizes.
const SIZES: &[&str] = &["rKB/s", "wKB/s", "rPk/s", "wPk/s", "rAvs", "wAvs", "%Util", "Sat"];

/// Reads a line of `-p`: `time:name:value:...`, where the name may have colons in it.
pub(super) fn parseable<'a>(line: &'a str, splitter: &'a mut Splitter) -> Option<Record<'a>> {
    let end = memchr::memchr(b':', line.as_bytes()).filter(|end| (9..=11).contains(end))?;
    let seconds: i64 = line.get(..end)?.parse().ok()?;
    let fields = splitter.at(line, b':');
    // The first value follows the name; it has a point below 10,000, unlike the number of an alias.
    let first = (2..fields.len()).find(|i| is_value(fields.get(*i)))?;
    let begin = fields.rest(1);
    let name = begin.get(..begin.len() - fields.rest(first).len())?.strip_suffix(':')?;
    let values = fields.from(first);
    let columns = match (name, values.len()) {
        ("TCP", 10) => TCP,
        ("UDP", 4) => UDP,
        (_, 6) => NET,
        (_, 8) => SIZES,
        (_, 11) => EXTENDED,
        _ => return None,
    };
    // `fenxi watch nicstat` prints what is not known as a dash.
    let numbers = values.iter().all(|value| value == "-" || number(value).is_some());
    numbers.then(|| Record { t: Micros(seconds.saturating_mul(1_000_000)), name, columns, values })
}

fn is_value(cell: &str) -> bool {
    number(cell).is_some() && (cell.contains(['.', ',']) || cell.len() > 4)
}
