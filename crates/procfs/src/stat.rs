//! `/proc/PID/stat`: state, parent, CPU time, faults, start and memory of a process or a thread.

use std::borrow::Cow;

use fenxi_model::visible;

use crate::{
    Root,
    scan::{number, words},
};

/// Fields of /proc/PID/stat that are used. Times are clock ticks ([`crate::TICK_NS`]).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stat {
    /// One letter, as ps(1) shows it.
    pub state: u8,
    /// The parent process.
    pub ppid: u32,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Minor faults of children that ended and were waited for.
    pub child_minor_faults: u64,
    /// Major faults of children that ended and were waited for.
    pub child_major_faults: u64,
    /// CPU time in user mode.
    pub utime: u64,
    /// CPU time in the kernel.
    pub stime: u64,
    /// CPU time in user mode of children that ended and were waited for.
    pub child_utime: u64,
    /// CPU time in the kernel of children that ended and were waited for.
    pub child_stime: u64,
    /// As top shows it: 20 plus nice, or negative for real-time.
    pub priority: i64,
    /// Threads of the process.
    pub threads: u64,
    /// Ticks from boot to the process's start: with the pid it names a process uniquely.
    pub start: u64,
    /// Size of the address space.
    pub vsz_bytes: u64,
    /// Resident memory.
    pub rss_bytes: u64,
    /// The CPU it ran on last.
    pub last_cpu: Option<u32>,
    /// Time waited for block I/O; counted only with delay accounting.
    pub io_wait_ticks: Option<u64>,
}

/// Fields are counted from 1, as proc(5) does; the last one used.
const LAST_FIELD: usize = 42;
/// Kernels since 2.6 have at least these.
const MIN_FIELDS: usize = 24;

/// The process `pid` now, and its name; None when there is none.
pub fn of_process(root: &Root, pid: u32) -> Option<(Stat, String)> {
    of_file(root, &format!("/proc/{pid}/stat"))
}

/// The thread `tid` of `pid` now, and its name; None when there is none.
pub fn of_thread(root: &Root, pid: u32, tid: u32) -> Option<(Stat, String)> {
    of_file(root, &format!("/proc/{pid}/task/{tid}/stat"))
}

fn of_file(root: &Root, absolute: &str) -> Option<(Stat, String)> {
    let text = root.read(absolute).ok()?;
    parse(&text).map(|(stat, name)| (stat, name.into_owned()))
}

/// Reads a line; gives the name as well, which may hold blanks, brackets and newlines.
pub fn parse(text: &[u8]) -> Option<(Stat, Cow<'_, str>)> {
    let open = memchr::memchr(b'(', text)?;
    let close = memchr::memrchr(b')', text).filter(|close| *close > open)?;
    let mut words = words(text[close + 1..].trim_ascii());
    let state = *words.next()?.first()?;
    let mut fields = [0_i64; LAST_FIELD + 1];
    let mut n_fields = 3;
    for word in words.take(LAST_FIELD - 3) {
        n_fields += 1;
        fields[n_fields] = signed(word)?;
    }
    if n_fields < MIN_FIELDS {
        return None;
    }
    let count = |place: usize| fields[place].max(0) as u64;
    let page = rustix::param::page_size() as u64;
    let stat = Stat {
        state,
        ppid: count(4) as u32,
        minor_faults: count(10),
        child_minor_faults: count(11),
        major_faults: count(12),
        child_major_faults: count(13),
        utime: count(14),
        stime: count(15),
        child_utime: count(16),
        child_stime: count(17),
        priority: fields[18],
        threads: count(20),
        start: count(22),
        vsz_bytes: count(23),
        rss_bytes: count(24).saturating_mul(page),
        last_cpu: (n_fields >= 39).then(|| count(39) as u32),
        io_wait_ticks: (n_fields >= 42).then(|| count(42)),
    };
    Some((stat, printable(&text[open + 1..close])))
}

/// A whole number with a sign; what exceeds 63 bits (unlimited) is the maximum.
fn signed(word: &[u8]) -> Option<i64> {
    match word.strip_prefix(b"-") {
        Some(digits) => Some(-i64::try_from(number(digits)?).ok()?),
        None => Some(i64::try_from(number(word)?).unwrap_or(i64::MAX)),
    }
}

/// The name with control characters as `?`, as ps shows it: a newline would break every table.
pub fn printable(name: &[u8]) -> Cow<'_, str> {
    match String::from_utf8_lossy(name) {
        Cow::Borrowed(name) => visible(name),
        Cow::Owned(name) => visible(&name).into_owned().into(),
    }
}

impl Stat {
    /// Returns true if nothing was done between two samples, by this file.
    pub fn same_work(&self, other: &Stat) -> bool {
        let work = |s: &Stat| {
            let faults = [s.minor_faults, s.major_faults, s.child_minor_faults, s.child_major_faults];
            ([s.utime, s.stime, s.child_utime, s.child_stime], faults, s.threads, s.io_wait_ticks)
        };
        work(self) == work(other)
    }

    /// Ticks of CPU time used since `before`, usr and sys.
    pub fn ticks_since(&self, before: &Stat) -> u64 {
        (self.utime + self.stime).saturating_sub(before.utime + before.stime)
    }

    /// Clock ticks of CPU time in all, usr and sys.
    pub fn ticks(&self) -> u64 {
        self.utime + self.stime
    }

    /// Divides `ns` of CPU time, used since `before`, into usr and sys as its ticks are divided:
    /// those of the interval, or, when it had none, those of its life.
    pub fn split(&self, before: &Stat, ns: u64) -> (u64, u64) {
        let usr = self.utime.saturating_sub(before.utime);
        let sys = self.stime.saturating_sub(before.stime);
        let (usr, sys) = if usr + sys > 0 { (usr, sys) } else { (self.utime, self.stime) };
        split_as(ns, usr, sys)
    }
}

/// Divides `ns` in the proportion of `usr` to `sys`; all of it is usr when both are 0.
pub fn split_as(ns: u64, usr: u64, sys: u64) -> (u64, u64) {
    let share = if usr + sys == 0 { 1.0 } else { usr as f64 / (usr + sys) as f64 };
    let usr_ns = ((ns as f64 * share) as u64).min(ns);
    (usr_ns, ns - usr_ns)
}

#[cfg(test)]
mod tests {
    use super::{parse, split_as};

    /// Fields 3 to 42 with the numbers that the tests look at.
    const REST: &str = "S 7 7 7 0 -1 4194560 100 200 3 4 50 60 70 80 -2 0 5 0 12345 8192000 10 \
                        18446744073709551615 1 1 0 0 0 0 0 4096 16386 0 0 0 17 3 0 0 9";

    #[test]
    fn every_field_is_where_proc_5_says() {
        let line = format!("42 (sh) {REST} 0 0 0\n");
        let (stat, comm) = parse(line.as_bytes()).unwrap();
        assert_eq!((stat.state, stat.ppid, &*comm), (b'S', 7, "sh"));
        assert_eq!((stat.minor_faults, stat.child_minor_faults), (100, 200));
        assert_eq!((stat.major_faults, stat.child_major_faults), (3, 4));
        assert_eq!((stat.utime, stat.stime, stat.child_utime, stat.child_stime), (50, 60, 70, 80));
        assert_eq!((stat.priority, stat.threads, stat.start, stat.vsz_bytes), (-2, 5, 12345, 8_192_000));
        assert_eq!(stat.rss_bytes, 10 * rustix::param::page_size() as u64);
        assert_eq!((stat.last_cpu, stat.io_wait_ticks), (Some(3), Some(9)));
    }

    #[test]
    fn names_may_hold_brackets_blanks_and_newlines() {
        for (name, shown) in [
            ("(sd-pam)", "(sd-pam)"),
            ("a) R 1 1", "a) R 1 1"),
            ("tmux: server", "tmux: server"),
            ("evil\nname", "evil?name"),
            ("", ""),
            (") S 1 (", ") S 1 ("),
            ("((((", "(((("),
        ] {
            let line = format!("42 ({name}) {REST}\n");
            let (stat, comm) = parse(line.as_bytes()).unwrap();
            assert_eq!((&*comm, stat.ppid), (shown, 7), "{name:?}");
        }
        let (_, comm) = parse(&[b"1 (a\xffb) ", REST.as_bytes()].concat()).map(|(s, c)| (s, c.into_owned())).unwrap();
        assert_eq!(comm, "a\u{fffd}b");
    }

    #[test]
    fn a_torn_or_empty_line_is_nothing() {
        for text in ["", "42", "42 (sh", "42 (sh) S 1 2 3", "42 )sh( S 1", "42 (sh) S x"] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn nanoseconds_are_divided_as_ticks_are() {
        assert_eq!(split_as(30, 2, 1), (20, 10));
        assert_eq!(split_as(30, 0, 4), (0, 30));
        assert_eq!(split_as(30, 0, 0), (30, 0));
    }
}
