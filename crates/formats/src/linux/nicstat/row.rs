//! One line of values as rows of the tables.

use fenxi_model::{
    Micros, Place,
    catalog::{net, tcp, udp},
    place::F64,
};

use crate::{Fields, Out, number};

/// Bytes of what nicstat calls a kilobyte.
const KB: f64 = 1024.0;
/// Bytes per second of what nicstat calls Mbps.
const MBPS: f64 = 131_072.0;
/// No interface and no host is that fast. Differences of counters have no sign, so an interface that
/// was set up anew shows 2^64 over the interval.
const IMPOSSIBLE: f64 = 1e13;
/// Utilisation prints as 0.00 below this many percent.
const LEAST_UTIL: f64 = 0.005;
/// Bytes per second of the fastest link there is, 1.6 Tbit/s.
const FASTEST: f64 = 2e11;

/// A line of values under named columns.
pub(super) struct Row<'a, S> {
    pub(super) line: u64,
    pub(super) time: (Micros, Option<f64>),
    /// The interface, `TCP` or `UDP`.
    pub(super) name: &'a str,
    pub(super) columns: &'a [S],
    pub(super) values: &'a Fields<'a>,
}

/// How nicstat calls a column of a table, the column's place, and the factor to its unit.
type Known<S> = (&'static str, Place<S, F64>, f64);

/// The columns of an interface, their places and units.
const NET: &[Known<net::Schema>] = &[
    ("rKB/s", net::rx_bytes_per_s, KB),
    ("wKB/s", net::tx_bytes_per_s, KB),
    ("rKb/s", net::rx_bytes_per_s, KB),
    ("wKb/s", net::tx_bytes_per_s, KB),
    ("rMbps", net::rx_bytes_per_s, MBPS),
    ("wMbps", net::tx_bytes_per_s, MBPS),
    ("RdKB", net::rx_bytes_per_s, KB),
    ("WrKB", net::tx_bytes_per_s, KB),
    ("RdKb", net::rx_bytes_per_s, KB),
    ("WrKb", net::tx_bytes_per_s, KB),
    ("RdMbps", net::rx_bytes_per_s, MBPS),
    ("WrMbps", net::tx_bytes_per_s, MBPS),
    ("rPk/s", net::rx_packets_per_s, 1.0),
    ("wPk/s", net::tx_packets_per_s, 1.0),
    ("RdPkt", net::rx_packets_per_s, 1.0),
    ("WrPkt", net::tx_packets_per_s, 1.0),
    ("rAvs", net::rx_packet_bytes, 1.0),
    ("wAvs", net::tx_packet_bytes, 1.0),
    ("IErr", net::rx_errors_per_s, 1.0),
    ("OErr", net::tx_errors_per_s, 1.0),
    ("Coll", net::collisions_per_s, 1.0),
    ("%Util", net::util, 1.0),
    ("Sat", net::saturation_per_s, 1.0),
];

const TCP: &[Known<tcp::Schema>] = &[
    ("InKB", tcp::in_bytes_per_s, KB),
    ("OutKB", tcp::out_bytes_per_s, KB),
    ("InSeg", tcp::in_segments_per_s, 1.0),
    ("OutSeg", tcp::out_segments_per_s, 1.0),
    ("AttF", tcp::attempt_fails_per_s, 1.0),
    ("%ReTX", tcp::retransmit, 1.0),
    ("InConn", tcp::passive_opens_per_s, 1.0),
    ("OutCon", tcp::active_opens_per_s, 1.0),
    ("Drops", tcp::listen_drops_per_s, 1.0),
];

const UDP: &[Known<udp::Schema>] = &[
    ("InDG", udp::in_datagrams_per_s, 1.0),
    ("OutDG", udp::out_datagrams_per_s, 1.0),
    ("InErr", udp::in_errors_per_s, 1.0),
    ("OutErr", udp::send_buffer_errors_per_s, 1.0),
];

impl<S: AsRef<str>> Row<'_, S> {
    /// The value in the column called `name`.
    fn value(&self, name: &str) -> Option<f64> {
        let at = self.columns.iter().position(|c| c.as_ref() == name)?;
        number(self.values.get(at))
    }

    /// Sets the columns that are `known` and `wanted`. Gives a cell that is no number.
    fn fill<T>(
        &self,
        row: &mut fenxi_model::Row<'_, T>,
        known: &[Known<T>],
        wanted: impl Fn(Place<T, F64>, f64) -> bool,
    ) -> Option<&str> {
        let mut bad = None;
        for (column, cell) in self.columns.iter().zip(self.values.iter()) {
            let Some((_, place, scale)) = known.iter().find(|(name, ..)| *name == column.as_ref()) else { continue };
            match number(cell) {
                Some(value) if wanted(*place, value) => {
                    row.f64(*place, value * scale);
                }
                Some(_) => {}
                None if cell == "-" => {}
                None => bad = Some(cell),
            }
        }
        bad
    }

    /// Notes a cell that is no number, and writes the columns that are not `known` as metrics.
    fn others<T>(&self, known: &[Known<T>], labels: &str, bad: Option<&str>, out: &mut Out<'_>) {
        let (t, dt) = self.time;
        if let Some(cell) = bad {
            out.unknown(self.line, cell, "no number");
        }
        for (column, cell) in self.columns.iter().zip(self.values.iter()) {
            if known.iter().any(|(name, ..)| *name == column.as_ref()) {
                continue;
            }
            if let Some(value) = number(cell) {
                out.metric(t, dt, &format!("nicstat.{}", column.as_ref()), labels, value, "");
            }
        }
    }

    /// Of `-U`: the utilisation of the busier direction.
    fn busier(&self) -> Option<f64> {
        Some(self.value("%rUtil")?.max(self.value("%wUtil")?))
    }

    /// A row of an interface.
    pub(super) fn net(&self, out: &mut Out<'_>) {
        let (t, dt) = self.time;
        if self.values.iter().any(|v| number(v).is_some_and(|v| v > IMPOSSIBLE)) {
            out.row(&net::TABLE, t, dt).str(net::interface, self.name);
            out.event(
                t,
                "counter reset",
                self.name,
                "counters of the interface went back; the rates of this interval are unknown",
            );
            return;
        }
        let bytes = NET.iter().filter(|(_, place, _)| [net::rx_bytes_per_s, net::tx_bytes_per_s].contains(place));
        let busiest = bytes.filter_map(|(name, _, scale)| Some(self.value(name)? * scale)).fold(0.0, f64::max);
        // No speed, no utilisation: then it is 0.00 whatever the traffic.
        let speed_unknown = self.name.starts_with("lo") || busiest * 100.0 / FASTEST > LEAST_UTIL;
        let wanted = |place, value| match place {
            net::rx_packet_bytes | net::tx_packet_bytes => value > 0.0,
            net::util => value > 0.0 || !speed_unknown,
            _ => true,
        };
        let mut row = out.row(&net::TABLE, t, dt);
        row.str(net::interface, self.name);
        let bad = self.fill(&mut row, NET, wanted);
        row.f64(net::util, self.busier().filter(|util| wanted(net::util, *util)));
        self.others(NET, &format!("interface={}", self.name), bad, out);
    }

    /// A row of TCP. Gives whether this system counts TCP's bytes, which `counted` said until now:
    /// Linux does not, and then the bytes, the retransmissions and the drops are zero for ever.
    pub(super) fn tcp(&self, counted: bool, out: &mut Out<'_>) -> bool {
        let bytes = [self.value("InKB"), self.value("OutKB")].into_iter().flatten().any(|v| v > 0.0);
        let counted = counted || bytes;
        let wanted = |place, value| match place {
            tcp::in_bytes_per_s | tcp::out_bytes_per_s | tcp::retransmit | tcp::listen_drops_per_s => {
                counted || value > 0.0
            }
            _ => true,
        };
        let bad = self.fill(&mut out.row(&tcp::TABLE, self.time.0, self.time.1), TCP, wanted);
        self.others(TCP, "", bad, out);
        counted
    }

    /// A row of UDP.
    pub(super) fn udp(&self, out: &mut Out<'_>) {
        let bad = self.fill(&mut out.row(&udp::TABLE, self.time.0, self.time.1), UDP, |_, _| true);
        self.others(UDP, "", bad, out);
    }
}
