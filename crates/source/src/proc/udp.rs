//! `udp`: datagrams, errors and lost ones, from /proc/net/snmp, /proc/net/snmp6 and /proc/net/sockstat.
//!
//! The kernel counts UDP over IPv4 and IPv6 apart; here they are added up. UDP-Lite is not UDP.

use fenxi_model::{Rows, catalog::udp};

use super::{
    keyed::{
        As::{Aside, Gauge, Rate},
        Wanted, wanted,
    },
    tcp::Protocols,
};
use crate::{Collector, Root, Source, SourceError, Spec, Take, Tick};

/// The `udp` source.
pub static SOURCE: Udp = Udp;

static SPEC: Spec = Spec {
    name: "udp",
    summary: "UDP datagrams, errors and full socket buffers, IPv4 and IPv6 together",
    tables: &[&udp::TABLE],
    take: Take::EveryTick,
    default: true,
    live: true,
};

static WANTED: &[Wanted<udp::Schema>] = &[
    wanted(udp::in_datagrams_per_s, Rate, 1.0, &["Udp.InDatagrams", "Udp6InDatagrams"]),
    wanted(udp::out_datagrams_per_s, Rate, 1.0, &["Udp.OutDatagrams", "Udp6OutDatagrams"]),
    wanted(udp::no_ports_per_s, Rate, 1.0, &["Udp.NoPorts", "Udp6NoPorts"]),
    wanted(udp::in_errors_per_s, Rate, 1.0, &["Udp.InErrors", "Udp6InErrors"]),
    wanted(udp::receive_buffer_errors_per_s, Rate, 1.0, &["Udp.RcvbufErrors", "Udp6RcvbufErrors"]),
    wanted(udp::send_buffer_errors_per_s, Rate, 1.0, &["Udp.SndbufErrors", "Udp6SndbufErrors"]),
    wanted(udp::checksum_errors_per_s, Rate, 1.0, &["Udp.InCsumErrors", "Udp6InCsumErrors"]),
    wanted(udp::sockets, Gauge, 1.0, &["UDP.inuse", "UDP6.inuse"]),
    wanted(udp::socket_mem_bytes, Aside, 1.0, &["UDP.mem"]),
];

/// Collects the `udp` table.
pub struct Udp;

impl Source for Udp {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        Ok(Box::new(Datagrams { sockets: Protocols::open(root, WANTED)? }))
    }
}

struct Datagrams {
    sockets: Protocols<udp::Schema>,
}

impl Collector for Datagrams {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        let sockets = &mut self.sockets;
        sockets.read(rows)?;
        sockets.meters.advance("udp", tick, rows);
        if let Some(dt) = tick.dt.filter(|dt| *dt > 0.0) {
            let mut row = rows.row(&udp::TABLE, tick.t, dt);
            sockets.meters.fill(&mut row, dt);
            row.f64(udp::socket_mem_bytes, sockets.memory("UDP.mem"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::SOURCE;
    use crate::testing::{Machine, near, observe};

    #[test]
    fn two_captured_moments_add_up_both_protocols() {
        let seen = observe(&SOURCE, "udp", 2.0);
        let value = |column| seen.value("udp", column, &[]);
        // 101 datagrams over IPv4 and 7 over IPv6 were sent, one of them to a port without a listener.
        near(value("out_datagrams_per_s"), (298 - 197 + 7) as f64 / 2.0);
        near(value("no_ports_per_s"), 0.5);
        near(value("in_datagrams_per_s"), 0.0);
        assert_eq!((value("sockets"), value("socket_mem_bytes")), (Some(0.0), Some(0.0)));
    }

    #[test]
    fn a_system_without_ipv6_has_the_figures_of_ipv4_and_old_kernels_lack_some() {
        let machine = Machine::new();
        machine.put("/proc/net/snmp", "Udp: InDatagrams NoPorts\nUdp: 5 1\nUdpLite: InDatagrams\nUdpLite: 50\n");
        machine.put("/proc/net/sockstat", "UDP: inuse 4 mem 3\n");
        let mut session = machine.start(&SOURCE);
        session.tick(None);
        session
            .machine
            .put("/proc/net/snmp", "Udp: InDatagrams NoPorts\nUdp: 9 1\nUdpLite: InDatagrams\nUdpLite: 99\n");
        let seen = session.tick(2.0);
        near(seen.value("udp", "in_datagrams_per_s", &[]), 2.0);
        assert_eq!(seen.value("udp", "receive_buffer_errors_per_s", &[]), None);
        assert_eq!(seen.value("udp", "sockets", &[]), Some(4.0));
        near(seen.value("udp", "socket_mem_bytes", &[]), 3.0 * rustix::param::page_size() as f64);
    }

    #[test]
    fn a_counter_that_goes_back_is_null_with_an_event() {
        let machine = Machine::new();
        machine.put("/proc/net/snmp", "Udp: InDatagrams OutDatagrams\nUdp: 900 4294967295\n");
        let mut session = machine.start(&SOURCE);
        session.tick(None);
        session.machine.put("/proc/net/snmp", "Udp: InDatagrams OutDatagrams\nUdp: 3 1\n");
        let seen = session.tick(1.0);
        assert_eq!(seen.value("udp", "in_datagrams_per_s", &[]), None);
        near(seen.value("udp", "out_datagrams_per_s", &[]), 2.0);
        assert_eq!(seen.events(), ["counter reset udp: counter went back: Udp.InDatagrams"]);
    }
}
