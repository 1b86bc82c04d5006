//! Which file of /proc a line is from.

use crate::{number, stamp};

/// A file of /proc that can be read from a saved copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Saved {
    Stat,
    Loadavg,
    Schedstat,
    Meminfo,
    Vmstat,
    Interrupts,
    Softirqs,
    Snmp,
    Snmp6,
    Netstat,
    Sockstat,
    Diskstats,
    NetDev,
    PressureCpu,
    PressureIo,
    PressureIrq,
    PressureMemory,
    /// One of the above, which its content does not show.
    Pressure,
    Uptime,
    Softnet,
    PidStat,
}

use Saved::{
    Diskstats, Interrupts, Loadavg, Meminfo, NetDev, Netstat, PidStat, Pressure, PressureCpu, PressureIo, PressureIrq,
    PressureMemory, Schedstat, Snmp, Snmp6, Sockstat, Softirqs, Softnet, Stat, Uptime, Vmstat,
};

/// Where each is on a system.
const PATHS: &[(Saved, &str)] = &[
    (Stat, "/proc/stat"),
    (Loadavg, "/proc/loadavg"),
    (Schedstat, "/proc/schedstat"),
    (Meminfo, "/proc/meminfo"),
    (Vmstat, "/proc/vmstat"),
    (Interrupts, "/proc/interrupts"),
    (Softirqs, "/proc/softirqs"),
    (Snmp, "/proc/net/snmp"),
    (Snmp6, "/proc/net/snmp6"),
    (Netstat, "/proc/net/netstat"),
    (Sockstat, "/proc/net/sockstat"),
    (Diskstats, "/proc/diskstats"),
    (NetDev, "/proc/net/dev"),
    (PressureCpu, "/proc/pressure/cpu"),
    (PressureIo, "/proc/pressure/io"),
    (PressureIrq, "/proc/pressure/irq"),
    (PressureMemory, "/proc/pressure/memory"),
    (Uptime, "/proc/uptime"),
    (Softnet, "/proc/net/softnet_stat"),
];

/// Lines of /proc/stat besides those of CPUs.
const STAT_LINES: &[&str] =
    &["intr", "ctxt", "btime", "processes", "procs_running", "procs_blocked", "softirq", "page", "swap", "disk_io:"];
/// The first words of sections of /proc/net/snmp and /proc/net/netstat.
const SNMP: &[&str] = &["Ip:", "Icmp:", "IcmpMsg:", "Tcp:", "Udp:", "UdpLite:"];
const NETSTAT: &[&str] = &["TcpExt:", "IpExt:", "MPTcpExt:"];
const SOCKSTAT: &[&str] =
    &["sockets:", "TCP:", "UDP:", "UDPLITE:", "RAW:", "FRAG:", "TCP6:", "UDP6:", "RAW6:", "FRAG6:", "UDPLITE6:"];

/// The file named in a line above its content.
#[derive(Debug, PartialEq)]
pub enum Marker {
    File(Saved),
    /// A file that is not read.
    Other,
}

/// Reads `==> /proc/stat <==`, `### /proc/stat`, `$ cat /proc/stat`, `/proc/stat:`; None when the
/// line is no such marker.
pub fn marker(line: &str) -> Option<Marker> {
    let at = line.find("/proc/")?;
    let before = line[..at].trim_end();
    let own =
        before.is_empty() || before.ends_with(['>', '#', '=', '*', '-', '$', '[', ':']) || before.ends_with("cat");
    let path = line[at..].split(|c: char| c.is_ascii_whitespace()).next()?.trim_end_matches([':', ']']);
    let rest = line[at + path.len()..].trim_matches(|c: char| !c.is_alphanumeric());
    if !own || !rest.is_empty() && !before.ends_with("cat") {
        return None;
    }
    Some(by_path(path).map_or(Marker::Other, Marker::File))
}

/// Reads `/proc/stat:cpu 1 2 3`, as `grep` prints lines of several files.
pub fn prefixed(line: &str) -> Option<(Saved, &str)> {
    let (path, rest) = line.split_once(':').filter(|(p, r)| p.starts_with("/proc/") && !r.is_empty())?;
    Some((by_path(path)?, rest))
}

fn by_path(path: &str) -> Option<Saved> {
    let found = PATHS.iter().find(|(_, p)| *p == path).map(|(saved, _)| *saved);
    found.or_else(|| (path.starts_with("/proc/") && path.ends_with("/stat")).then_some(PidStat))
}

impl Saved {
    /// Its place on a system.
    pub fn path(self) -> &'static str {
        PATHS.iter().find(|(saved, _)| *saved == self).map_or("", |(_, path)| path)
    }

    /// The file that `line` can only be from, or is from as a rule.
    pub fn of(line: &str) -> Option<Saved> {
        let mut words = line.split_ascii_whitespace();
        let (first, second) = (words.next()?, words.next());
        let digits = |w: &str| !w.is_empty() && w.bytes().all(|b| b.is_ascii_digit());
        let value = second.is_some_and(digits);
        let n = 2 + words.clone().count();
        if value && (first == "cpu" || STAT_LINES.contains(&first)) {
            return Some(Stat);
        }
        if first.starts_with("Inter-|") {
            return Some(NetDev);
        }
        if first.len() == 8 && (softnet_cpu(line).is_some() || is_old_softnet(line)) {
            return Some(Softnet);
        }
        if digits(first) {
            let third = words.next().unwrap_or("");
            if second.is_some_and(|w| w.starts_with('(')) {
                return Some(PidStat);
            }
            let disk = value && !digits(third) && !third.is_empty() && words.clone().all(digits);
            return Some(Diskstats).filter(|_| disk && (n == 7 || n >= 14));
        }
        if second.is_none() {
            return Some(Interrupts).filter(|_| is_cpus(line));
        }
        if first == "version" && value && n == 2 {
            return Some(Schedstat);
        }
        if matches!(first, "some" | "full") && second.is_some_and(|w| w.starts_with("avg10=")) {
            return Some(Pressure);
        }
        if SNMP.contains(&first) {
            return Some(Snmp);
        }
        if NETSTAT.contains(&first) {
            return Some(Netstat);
        }
        if SOCKSTAT.contains(&first) {
            return Some(Sockstat);
        }
        if is_cpus(line) {
            return Some(Interrupts);
        }
        if let Some((name, figures)) = line.rsplit_once(':') {
            let counters = figures.split_ascii_whitespace();
            if !name.is_empty() && counters.clone().all(digits) && counters.count() == 16 {
                return Some(NetDev);
            }
        }
        if let Some(name) = first.strip_suffix(':') {
            let kb = n == 3 && words.next() == Some("kB") || n == 2 && name.starts_with("HugePages");
            return Some(Meminfo).filter(|_| value && kb);
        }
        let decimal = |w: Option<&str>| w.is_some_and(|w| w.contains('.') && number(w).is_some());
        if decimal(Some(first)) && decimal(second) {
            let third = words.next();
            let load = n == 5 && decimal(third) && words.next().is_some_and(|w| w.contains('/'));
            return if load { Some(Loadavg) } else { Some(Uptime).filter(|_| n == 2) };
        }
        if n == 2 && value && first.as_bytes()[0].is_ascii_alphabetic() {
            if ["Ip6", "Icmp6", "Udp6", "UdpLite6"].iter().any(|p| first.starts_with(p)) {
                return Some(Snmp6);
            }
            let plain = first.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
            return Some(Vmstat).filter(|_| plain && first.len() > 3);
        }
        None
    }

    /// Returns true if `line`, which [`Saved::of`] does not know, is one more line of this file.
    pub fn goes_on(self, line: &str) -> bool {
        let mut words = line.split_ascii_whitespace();
        let (first, second) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let labelled = first.ends_with(':') && number(second).is_some();
        match self {
            Stat => first.starts_with("cpu"),
            Schedstat => ["timestamp", "cpu", "domain"].iter().any(|w| first.starts_with(w)),
            // `eth0:123 4 ...` with a number glued to the name; the headings have bars.
            NetDev => {
                let figures = line.rsplit_once(':').map_or("", |(_, f)| f);
                line.contains('|') || figures.split_ascii_whitespace().filter(|w| number(w).is_some()).count() >= 10
            }
            // `timestamp: 1424904529.913` begins the next reading.
            Interrupts | Softirqs => labelled && stamp(line).is_none_or(|stamp| !stamp.rest.is_empty()),
            Meminfo => labelled && line.split_ascii_whitespace().count() <= 3,
            _ => false,
        }
    }

    /// Key of the first line of the file: when it comes again, a new copy of the file begins.
    pub fn key(self, line: &str) -> String {
        let mut words = line.split_ascii_whitespace();
        let mut word = || words.next().unwrap_or("");
        match self {
            Diskstats => {
                word();
                word();
                word().to_owned()
            }
            Snmp | Netstat | Sockstat => format!("{} {}", word(), word()),
            Loadavg | Uptime => String::new(),
            PidStat => word().to_owned(),
            Softnet => softnet_cpu(line).unwrap_or("").to_owned(),
            _ => word().to_owned(),
        }
    }
}

/// The CPU of a line of /proc/net/softnet_stat, as in the file: 13 or more hexadecimal numbers of which the fourth to
/// the eighth are no longer used. Kernels before 5.10 did not print the CPU; of those a line alone is not enough.
fn softnet_cpu(line: &str) -> Option<&str> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let number = |word: &&str| word.len() == 8 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let unused = words.get(3..8)?.iter().all(|word| *word == "00000000");
    let cpu = words.get(12).filter(|cpu| cpu.starts_with("0000"))?;
    (unused && words.len() < 20 && words.iter().all(number)).then_some(*cpu)
}

/// Returns true if a line is one of /proc/net/softnet_stat of kernels before 5.10: 9 to 11 hexadecimal numbers and no CPU, so that one
/// alone is no proof.
pub fn is_old_softnet(line: &str) -> bool {
    let number = |word: &str| word.len() == 8 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let words = line.split_ascii_whitespace();
    (9..=11).contains(&words.clone().count())
        && words.clone().all(number)
        && words.skip(3).take(5).all(|word| word == "00000000")
}

/// Whether `line` is the header of /proc/interrupts and /proc/softirqs.
fn is_cpus(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace().peekable();
    words.peek().is_some() && words.all(|w| w.strip_prefix("CPU").is_some_and(|n| n.parse::<u32>().is_ok()))
}

/// Returns true if `line` is one of /proc/softirqs, which has the same header as /proc/interrupts.
pub fn is_softirq(line: &str) -> bool {
    let label = line.trim_start().split(':').next().unwrap_or("");
    matches!(
        label,
        "HI" | "TIMER"
            | "NET_TX"
            | "NET_RX"
            | "BLOCK"
            | "IRQ_POLL"
            | "BLOCK_IOPOLL"
            | "TASKLET"
            | "SCHED"
            | "HRTIMER"
            | "RCU"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_lines() {
        for (line, file) in [
            ("cpu  667702 483 75504 1671282 3687 0 1071 3351 0 0", Some(Stat)),
            ("ctxt 7686351", Some(Stat)),
            ("   8       0 sda 14200 3361 892828 5058 18736 13416 715384 12604 0 24940 17663", Some(Diskstats)),
            ("   3    1 hda1 35486 38030 38030 38030", Some(Diskstats)),
            ("0.82 1.38 0.83 1/90 20743", Some(Loadavg)),
            ("13560.12 24987.00", Some(Uptime)),
            ("MemTotal:       24684100 kB", Some(Meminfo)),
            ("HugePages_Total:       0", Some(Meminfo)),
            ("nr_free_pages 4834377", Some(Vmstat)),
            ("            CPU0       CPU1       ", Some(Interrupts)),
            ("some avg10=0.10 avg60=2.00 avg300=3.85 total=15", Some(Pressure)),
            ("version 15", Some(Schedstat)),
            ("TcpExt: SyncookiesSent SyncookiesRecv", Some(Netstat)),
            ("Udp: 5 6 7", Some(Snmp)),
            ("2001 (my file with", Some(PidStat)),
            ("  lo: 1 2 0 0 0 0 0 0 1 2 0 0 0 0 0 0", Some(NetDev)),
            ("eth0:1 2 0 0 0 0 0 0 1 2 0 0 0 0 0 0", Some(NetDev)),
            (
                "000002bb 00000001 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000003 00000000 00000000",
                Some(Softnet),
            ),
            ("000002bb 00000001 00000000 00000000 00000000 00000000 00000000 00000000 00000000", Some(Softnet)),
            ("000002bb 00000001 00000000 00000000 00000000 00000000 00000000 00000000", None),
            ("Sat Nov 21 08:19:03 UTC 2026", None),
            ("1795249143", None),
            ("total used free", None),
        ] {
            assert_eq!(Saved::of(line), file, "{line}");
        }
    }

    #[test]
    fn markers_name_files() {
        for line in ["==> /proc/stat <==", "### /proc/stat ###", "$ cat /proc/stat", "/proc/stat:", "# cat /proc/stat"]
        {
            assert_eq!(marker(line), Some(Marker::File(Stat)), "{line}");
        }
        assert_eq!(marker("==> /proc/cmdline <=="), Some(Marker::Other));
        assert_eq!(marker("==> /proc/412/stat <=="), Some(Marker::File(PidStat)));
        assert_eq!(marker("see /proc/stat for more"), None);
        assert_eq!(prefixed("/proc/pressure/io:some avg10=0"), Some((PressureIo, "some avg10=0")));
    }
}
