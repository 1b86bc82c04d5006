//! `tcp`: connections, segments, retransmissions and overflows, from /proc/net/snmp,
//! /proc/net/netstat and /proc/net/sockstat.
//!
//! The kernel counts TCP over IPv4 and IPv6 together. `retransmit` is the share of retransmitted
//! segments among all that were sent, first transmissions and retransmissions; NULL when none was.
//! Linux does not count the bytes of TCP alone: those columns are left to `tcp_bytes`.
//!
//! Sockets count what limits their senders. All are asked for it now and then: after one, two, four intervals etc.,
//! every [`SELDOM`] and at the end: for an answer the kernel walks its whole hash table (1.4 ms for 262,144 entries).

use std::io;

use fenxi_model::{Rows, catalog::tcp};

use super::{
    keyed::{
        As::{Aside, Gauge, Rate},
        Lines, Meters, Pairs, Wanted, wanted,
    },
    tcp_bytes::{Counters, Payload},
};
use crate::{Collector, ProcFile, Root, Source, SourceError, Spec, Take, Tick};

/// The `tcp` source.
pub static SOURCE: Tcp = Tcp;

static SPEC: Spec = Spec {
    name: "tcp",
    summary: "TCP connections, segments, retransmissions, resets, listen overflows",
    tables: &[&tcp::TABLE],
    take: Take::EveryTick,
    default: true,
    live: true,
};

static WANTED: &[Wanted<tcp::Schema>] = &[
    wanted(tcp::established, Gauge, 1.0, &["Tcp.CurrEstab"]),
    wanted(tcp::active_opens_per_s, Rate, 1.0, &["Tcp.ActiveOpens"]),
    wanted(tcp::passive_opens_per_s, Rate, 1.0, &["Tcp.PassiveOpens"]),
    wanted(tcp::attempt_fails_per_s, Rate, 1.0, &["Tcp.AttemptFails"]),
    wanted(tcp::estab_resets_per_s, Rate, 1.0, &["Tcp.EstabResets"]),
    wanted(tcp::in_segments_per_s, Rate, 1.0, &["Tcp.InSegs"]),
    wanted(tcp::out_segments_per_s, Rate, 1.0, &["Tcp.OutSegs"]),
    wanted(tcp::retransmits_per_s, Rate, 1.0, &["Tcp.RetransSegs"]),
    wanted(tcp::in_errors_per_s, Rate, 1.0, &["Tcp.InErrs"]),
    wanted(tcp::out_resets_per_s, Rate, 1.0, &["Tcp.OutRsts"]),
    wanted(tcp::listen_overflows_per_s, Rate, 1.0, &["TcpExt.ListenOverflows"]),
    wanted(tcp::listen_drops_per_s, Rate, 1.0, &["TcpExt.ListenDrops"]),
    wanted(tcp::timeouts_per_s, Rate, 1.0, &["TcpExt.TCPTimeouts"]),
    wanted(tcp::fast_retransmits_per_s, Rate, 1.0, &["TcpExt.TCPFastRetrans"]),
    wanted(tcp::syncookies_per_s, Rate, 1.0, &["TcpExt.SyncookiesSent"]),
    wanted(tcp::delayed_acks_per_s, Rate, 1.0, &["TcpExt.DelayedACKs"]),
    // Collapsing comes first in pruning, so this counts both.
    wanted(tcp::receive_pruned_per_s, Rate, 1.0, &["TcpExt.PruneCalled"]),
    wanted(tcp::time_wait, Gauge, 1.0, &["TCP.tw"]),
    wanted(tcp::sockets, Gauge, 1.0, &["TCP.inuse", "TCP6.inuse"]),
    wanted(tcp::socket_mem_bytes, Aside, 1.0, &["TCP.mem"]),
];

/// Collects the `tcp` table.
pub struct Tcp;

impl Source for Tcp {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        connections(root, root.is_live().then(Payload::open))
    }
}

/// Intervals after which sockets are asked at the latest.
const SELDOM: u64 = 64;
/// Sockets are not asked where there are more, unless their bytes are wanted: each costs a microsecond.
const MANY: u64 = 5000;

/// Begins to observe TCP, with what all sockets count where it can be had.
pub(super) fn connections(
    root: &Root,
    payload: Option<io::Result<Payload>>,
) -> Result<Box<dyn Collector>, SourceError> {
    let sockets = Protocols::open(root, WANTED)?;
    let netstat = root.open("/proc/net/netstat").ok();
    Ok(Box::new(Connections { netstat, extended: Pairs::default(), sockets, payload, n: 0, unasked_s: 0.0 }))
}

/// The files on TCP and UDP alike, and the numbers wanted from them.
pub(super) struct Protocols<S: 'static> {
    pub(super) meters: Meters<S>,
    snmp: ProcFile,
    pairs: Pairs,
    snmp6: Option<ProcFile>,
    lines: Lines,
    sockstat: Vec<ProcFile>,
    page_bytes: f64,
}

impl<S> Protocols<S> {
    pub(super) fn open(root: &Root, wanted: &'static [Wanted<S>]) -> Result<Protocols<S>, SourceError> {
        let sockstat = ["/proc/net/sockstat", "/proc/net/sockstat6"];
        let dotless = wanted.iter().any(|w| w.keys.iter().any(|k| !k.contains('.')));
        Ok(Protocols {
            meters: Meters::new(wanted),
            snmp: root.open("/proc/net/snmp")?,
            pairs: Pairs::default(),
            // Names without a section are those of IPv6; TCP has none.
            snmp6: dotless.then(|| root.open("/proc/net/snmp6").ok()).flatten(),
            lines: Lines::default(),
            sockstat: sockstat.iter().filter_map(|f| root.open(f).ok()).collect(),
            page_bytes: rustix::param::page_size() as f64,
        })
    }

    /// Reads all files into `meters`.
    pub(super) fn read(&mut self, rows: &mut Rows) -> Result<(), SourceError> {
        self.meters.begin();
        self.pairs.take(self.snmp.read()?, &mut self.meters);
        note_misfit(&mut self.pairs, "/proc/net/snmp", rows);
        if let Some(snmp6) = &mut self.snmp6 {
            self.lines.take(snmp6.read()?, &mut self.meters);
        }
        for file in &mut self.sockstat {
            self.meters.take_sockets(file.read()?);
        }
        Ok(())
    }

    /// Memory in socket buffers, which the kernel counts in pages.
    pub(super) fn memory(&self, key: &str) -> Option<f64> {
        self.meters.value(key).map(|pages| pages as f64 * self.page_bytes)
    }
}

/// Notes numbers that do not fit their names; those are NULL.
fn note_misfit(pairs: &mut Pairs, file: &str, rows: &mut Rows) {
    if let Some(line) = pairs.unread() {
        rows.note(file, line, "the numbers do not fit the names in the line above");
    }
}

struct Connections {
    netstat: Option<ProcFile>,
    extended: Pairs,
    sockets: Protocols<tcp::Schema>,
    /// Counters of all sockets, or why they cannot be had.
    payload: Option<io::Result<Payload>>,
    /// Samples so far, and the seconds since sockets were last asked.
    n: u64,
    unasked_s: f64,
}

impl Connections {
    /// Counters since sockets were last asked, where known, and the seconds since then; a refusal is noted once.
    fn counters(&mut self, tick: Tick, rows: &mut Rows) -> Option<(Counters, f64)> {
        let n = self.n;
        self.n += 1;
        self.unasked_s += tick.dt.unwrap_or(0.0);
        let is_due = tick.is_last || n.is_power_of_two() || n.is_multiple_of(SELDOM);
        let are_many = || self.sockets.meters.value("TCP.inuse") > Some(MANY);
        let answer = match self.payload.as_mut()? {
            Ok(payload) if !payload.counts_all() && (!is_due || are_many()) => return None,
            Ok(payload) => payload.sample(),
            Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
        };
        if let Err(error) = &answer {
            rows.note(
                "",
                None,
                &format!("cannot ask for sockets: {error}; the bytes of TCP and what limits it are not known"),
            );
            self.payload = None;
        }
        let seen_s = std::mem::take(&mut self.unasked_s);
        answer.ok().flatten().filter(|_| seen_s > 0.0).map(|counters| (counters, seen_s))
    }
}

impl Collector for Connections {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        self.sockets.read(rows)?;
        let counters = self.counters(tick, rows);
        let counts_all = matches!(&self.payload, Some(Ok(payload)) if payload.counts_all());
        let Connections { netstat, extended, sockets, .. } = self;
        if let Some(netstat) = netstat {
            extended.take(netstat.read()?, &mut sockets.meters);
            note_misfit(extended, "/proc/net/netstat", rows);
        }
        sockets.meters.advance("tcp", tick, rows);
        let Some(dt) = tick.dt.filter(|dt| *dt > 0.0) else { return Ok(()) };
        let mut row = rows.row(&tcp::TABLE, tick.t, dt);
        sockets.meters.fill(&mut row, dt);
        let grown = |key| sockets.meters.grown(key).map(|n| n as f64);
        let share = || {
            let again = grown("Tcp.RetransSegs")?;
            let sent = grown("Tcp.OutSegs")? + again;
            (sent > 0.0).then(|| again * 100.0 / sent)
        };
        if let Some((counters, seen_s)) = counters {
            let mean = |us: u64| (!counters.lacks_times).then_some(us as f64 / 1e6 / seen_s);
            row.f64(tcp::sending, mean(counters.busy_us))
                .f64(tcp::window_limited, mean(counters.window_limited_us))
                .f64(tcp::send_buffer_limited, mean(counters.send_buffer_limited_us));
            if counts_all {
                row.f64(tcp::in_bytes_per_s, counters.received as f64 / seen_s)
                    .f64(tcp::out_bytes_per_s, counters.sent as f64 / seen_s);
            }
        }
        row.f64(tcp::retransmit, share()).f64(tcp::socket_mem_bytes, sockets.memory("TCP.mem"));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::SOURCE;
    use crate::testing::{Machine, near, observe};

    #[test]
    fn two_captured_moments_give_rates_and_gauges() {
        let seen = observe(&SOURCE, "tcp", 2.0);
        let value = |column| seen.value("tcp", column, &[]);
        near(value("active_opens_per_s"), (102 - 97) as f64 / 2.0);
        near(value("passive_opens_per_s"), (7 - 2) as f64 / 2.0);
        near(value("in_segments_per_s"), (10_439 - 10_384) as f64 / 2.0);
        near(value("out_segments_per_s"), (6201 - 6146) as f64 / 2.0);
        near(value("retransmits_per_s"), 0.0);
        near(value("retransmit"), 0.0);
        near(value("listen_overflows_per_s"), 0.0);
        assert_eq!((value("established"), value("time_wait"), value("sockets")), (Some(0.0), Some(5.0), Some(1.0)));
        near(value("socket_mem_bytes"), 207.0 * rustix::param::page_size() as f64);
        assert_eq!(value("in_bytes_per_s"), None, "sockets are not asked");
        assert!(seen.events().is_empty());
    }

    #[test]
    fn numbers_are_found_by_name_wherever_they_stand() {
        let machine = Machine::new();
        machine.put("/proc/net/snmp", "Tcp: MaxConn OutSegs RetransSegs CurrEstab\nTcp: -1 100 0 7\n");
        machine.put("/proc/net/netstat", "TcpExt: TCPTimeouts New ListenDrops\nTcpExt: 4 9 1\n");
        let mut session = machine.start(&SOURCE);
        session.tick(None);
        session.machine.put("/proc/net/snmp", "Tcp: MaxConn OutSegs RetransSegs CurrEstab\nTcp: -1 190 10 8\n");
        session.machine.put("/proc/net/netstat", "TcpExt: ListenDrops TCPTimeouts\nTcpExt: 5 6\n");
        let seen = session.tick(2.0);
        let value = |column| seen.value("tcp", column, &[]);
        near(value("retransmit"), 10.0);
        near(value("timeouts_per_s"), 1.0);
        near(value("listen_drops_per_s"), 2.0);
        assert_eq!(value("established"), Some(8.0));
        assert_eq!((value("in_segments_per_s"), value("sockets"), value("socket_mem_bytes")), (None, None, None));
    }

    #[test]
    fn numbers_that_do_not_fit_their_names_are_noted_and_null() {
        let machine = Machine::new();
        machine.put("/proc/net/snmp", "Tcp: InSegs CurrEstab\nTcp: 5\n");
        let mut session = machine.start(&SOURCE);
        let misfit = "/proc/net/snmp: the numbers do not fit the names in the line above";
        assert_eq!(session.tick(None).notes(), [misfit]);
        let seen = session.tick(1.0);
        assert!(seen.notes().is_empty());
        assert_eq!(seen.value("tcp", "established", &[]), None);
        near(seen.value("tcp", "in_segments_per_s", &[]), 0.0);
    }

    #[test]
    fn nothing_sent_leaves_the_share_null_and_a_reset_is_an_event() {
        let machine = Machine::new();
        machine.put("/proc/net/snmp", "Tcp: InSegs OutSegs RetransSegs\nTcp: 4294967295 10 3\n");
        let mut session = machine.start(&SOURCE);
        session.tick(None);
        session.machine.put("/proc/net/snmp", "Tcp: InSegs OutSegs RetransSegs\nTcp: 7 10 3\n");
        let seen = session.tick(1.0);
        near(seen.value("tcp", "in_segments_per_s", &[]), 8.0);
        assert_eq!(seen.value("tcp", "retransmit", &[]), None);
        session.machine.put("/proc/net/snmp", "Tcp: InSegs OutSegs RetransSegs\nTcp: 7 2 1\n");
        let seen = session.tick(1.0);
        assert_eq!(seen.value("tcp", "out_segments_per_s", &[]), None);
        assert_eq!(seen.events(), ["counter reset tcp: counters went back: Tcp.OutSegs, Tcp.RetransSegs"]);
    }
}
