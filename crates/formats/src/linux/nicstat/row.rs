//! One line of values as rows of the tables.

use std::sync::LazyLock;

use fenxi_model::{
    Micros,
    catalog::{net, tcp, udp},
};

use crate::{
    Fields, Out, number,
    own::{Goal, words::Words},
};

/// No interface and no host is that fast. Differences of counters have no sign, so an interface that
/// was set up anew shows 2^64 over the interval.
const IMPOSSIBLE: f64 = 1e13;
/// Utilisation prints as 0.00 below this many percent.
const LEAST_UTIL: f64 = 0.005;
/// Bytes per second of the fastest link there is, 1.6 Tbit/s.
const FASTEST: f64 = 2e11;

/// Whether a column of `net` counts bytes.
fn is_bytes(place: usize) -> bool {
    [net::rx_bytes_per_s, net::tx_bytes_per_s].iter().any(|column| column.index() == place)
}

/// A line of values under named columns.
pub(super) struct Row<'a, S> {
    pub(super) line: u64,
    pub(super) time: (Micros, Option<f64>),
    /// The interface, `TCP` or `UDP`.
    pub(super) name: &'a str,
    pub(super) columns: &'a [S],
    pub(super) values: &'a Fields<'a>,
}

/// Its columns: of interfaces, TCP and UDP.
static WORDS: LazyLock<Words> =
    LazyLock::new(|| Words::shipped(include_str!("../../../../../formats/linux/nicstat.toml")));

impl<S: AsRef<str>> Row<'_, S> {
    /// The value in the column called `name`.
    fn value(&self, name: &str) -> Option<f64> {
        let at = self.columns.iter().position(|c| c.as_ref() == name)?;
        number(self.values.get(at))
    }

    /// Sets the columns that are known in `group` and `wanted`. Gives a cell that is no number.
    fn fill(&self, mut row: fenxi_model::Row<'_>, group: &str, wanted: impl Fn(usize, f64) -> bool) -> Option<&str> {
        let mut bad = None;
        for (column, cell) in self.columns.iter().zip(self.values.iter()) {
            let Some(Goal::Column { place, scale, .. }) = WORDS.find(group, column.as_ref()) else { continue };
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

    /// Notes a cell that is no number, and writes the columns that are not known as metrics.
    fn others(&self, group: &str, labels: &str, bad: Option<&str>, out: &mut Out<'_>) {
        let (t, dt) = self.time;
        if let Some(cell) = bad {
            out.unknown(self.line, cell, "no number");
        }
        for (column, cell) in self.columns.iter().zip(self.values.iter()) {
            if WORDS.find(group, column.as_ref()).is_some() {
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
        let bytes = |name: &str| match WORDS.find("net", name)? {
            Goal::Column { place, scale, .. } if is_bytes(*place) => Some(self.value(name)? * scale),
            _ => None,
        };
        let busiest = self.columns.iter().filter_map(|name| bytes(name.as_ref())).fold(0.0, f64::max);
        // No speed, no utilisation: then it is 0.00 whatever the traffic.
        let speed_unknown = self.name.starts_with("lo") || busiest * 100.0 / FASTEST > LEAST_UTIL;
        let wanted = |place: usize, value| {
            let of_none = [net::rx_packet_bytes, net::tx_packet_bytes].iter().any(|mean| mean.index() == place);
            value > 0.0 || !of_none && (place != net::util.index() || !speed_unknown)
        };
        let mut row = out.row(&net::TABLE, t, dt);
        row.str(net::interface, self.name);
        row.f64(net::util, self.busier().filter(|util| wanted(net::util.index(), *util)));
        let bad = self.fill(row.any(), "net", wanted);
        self.others("net", &format!("interface={}", self.name), bad, out);
    }

    /// A row of TCP. Gives whether this system counts TCP's bytes, which `counted` was until now:
    /// Linux does not, and then the bytes, the retransmissions and the drops are zero for ever.
    pub(super) fn tcp(&self, counted: bool, out: &mut Out<'_>) -> bool {
        let bytes = [self.value("InKB"), self.value("OutKB")].into_iter().flatten().any(|v| v > 0.0);
        let counted = counted || bytes;
        let linux = [tcp::in_bytes_per_s, tcp::out_bytes_per_s, tcp::retransmit, tcp::listen_drops_per_s];
        let wanted = |place, value| counted || value > 0.0 || !linux.iter().any(|column| column.index() == place);
        let bad = self.fill(out.row(&tcp::TABLE, self.time.0, self.time.1).any(), "tcp", wanted);
        self.others("tcp", "", bad, out);
        counted
    }

    /// A row of UDP.
    pub(super) fn udp(&self, out: &mut Out<'_>) {
        let bad = self.fill(out.row(&udp::TABLE, self.time.0, self.time.1).any(), "udp", |_, _| true);
        self.others("udp", "", bad, out);
    }
}
