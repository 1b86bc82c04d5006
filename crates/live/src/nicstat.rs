//! nicstat: network interfaces, TCP and UDP, in the columns and widths of nicstat 1.95.
//!
//! Its parseable lines keep their fields and order. What is not known is `-`, where the original
//! shows 0 or 65535. What the original has not (the network stack by CPU, drivers' own counters) comes in separate
//! lines.

mod nic;
mod text;

use std::fmt::Write;

use fenxi_model::{
    RowsOf,
    catalog::{net, net_driver, softnet, tcp, udp},
};
use jiff::{Timestamp, tz::TimeZone};

use crate::{Frame, View};
use nic::Nic;
pub use nic::{Duplex, Speed};
use text::{field, human, parseable, small};

/// Lines after which the header of a single interface is shown again.
const PAGE: usize = 20;
const KIB: f64 = 1024.0;

/// Which columns interfaces have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Columns {
    /// Throughput, packets, sizes, utilisation, saturation.
    Full,
    /// Throughput only (`-s`).
    Summary,
    /// Errors and collisions too (`-x`).
    Extended,
    /// No interfaces: only protocols.
    None,
}

/// In what throughput is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Throughput {
    /// Kilobytes of 1024 bytes, as nicstat has them.
    Kilobytes,
    /// Megabits of 1,000,000 bits (`-M`), as speeds of links are given.
    Megabits,
    /// Megabits of 1,048,576 bits, as nicstat 1.95 has them.
    Mebibits,
}

impl Throughput {
    fn of(self, bytes_per_s: f64) -> f64 {
        bytes_per_s
            / match self {
                Throughput::Kilobytes => KIB,
                Throughput::Megabits => 125_000.0,
                Throughput::Mebibits => 131_072.0,
            }
    }
}

/// Options of the view.
#[derive(Clone, Debug)]
pub struct Options {
    /// Columns of interfaces.
    pub columns: Columns,
    /// Lines of fields between colons instead of columns (`-p`).
    pub parseable: bool,
    /// Utilisation of each direction (`-U`).
    pub by_direction: bool,
    /// Unit of throughput.
    pub throughput: Throughput,
    /// True if TCP is shown (`-t`).
    pub tcp: bool,
    /// True if UDP is shown (`-u`).
    pub udp: bool,
    /// True if interfaces without a packet in the interval are left out (`-z`).
    pub skip_zero: bool,
    /// True if loopback is left out (`-n`).
    pub skip_loopback: bool,
    /// Only these interfaces (`-i`); empty: all.
    pub only: Vec<String>,
    /// Speeds that win over what drivers say (`-S`).
    pub speeds: Vec<Speed>,
    /// True if the kinds of bonds, VLANs, bridges and virtual interfaces follow their lines.
    pub kinds: bool,
    /// True if the first frame's interfaces are only listed (`-l`).
    pub list: bool,
    /// True if the network stack is shown by CPU.
    pub softnet: bool,
    /// True if drivers' own counters are shown.
    pub drivers: bool,
}

/// The view.
#[derive(Debug)]
pub struct Nicstat {
    options: Options,
    zone: TimeZone,
    /// Lines of interfaces since the last header.
    lines: usize,
    /// Frames shown.
    n_frames: u64,
    /// `HH:MM:SS` of the frame, or its seconds since the epoch.
    time: String,
}

impl Nicstat {
    /// A view with times in `zone`.
    pub fn new(options: Options, zone: TimeZone) -> Nicstat {
        Nicstat { options, zone, lines: PAGE, n_frames: 0, time: String::new() }
    }

    fn set_time(&mut self, frame: &Frame<'_>) {
        self.time.clear();
        if self.options.parseable {
            let _ = write!(self.time, "{}", frame.t.0.div_euclid(1_000_000));
        } else {
            let t = Timestamp::from_microsecond(frame.t.0).unwrap_or(Timestamp::UNIX_EPOCH);
            let t = t.to_zoned(self.zone.clone());
            let _ = write!(self.time, "{:02}:{:02}:{:02}", t.hour(), t.minute(), t.second());
        }
    }

    fn shows(&self, name: &str, class: Option<&str>) -> bool {
        let options = &self.options;
        let wanted = options.only.is_empty() || options.only.iter().any(|only| only == name);
        wanted && !(options.skip_loopback && (class == Some("loopback") || name == "lo"))
    }

    fn tcp(&self, rows: RowsOf<'_, tcp::Schema>, out: &mut String) {
        let Options { parseable: by_colons, .. } = self.options;
        if !by_colons {
            text::tcp_header(out, &self.time);
        }
        for row in 0..rows.n_rows() {
            let get = |place| rows.f64(row, place);
            let resets = get(tcp::estab_resets_per_s).zip(get(tcp::out_resets_per_s)).map(|(a, b)| a + b);
            let line = text::Tcp {
                in_kb: get(tcp::in_bytes_per_s).map(|v| v / KIB),
                out_kb: get(tcp::out_bytes_per_s).map(|v| v / KIB),
                segments: [get(tcp::in_segments_per_s), get(tcp::out_segments_per_s)],
                resets,
                attempt_fails: get(tcp::attempt_fails_per_s),
                retransmit: get(tcp::retransmit).or_else(|| nothing_sent(get(tcp::out_segments_per_s))),
                opens: [get(tcp::passive_opens_per_s), get(tcp::active_opens_per_s)],
                drops: get(tcp::listen_drops_per_s),
            };
            if by_colons { line.colons(out, &self.time) } else { line.columns(out) }
        }
    }

    fn udp(&self, rows: RowsOf<'_, udp::Schema>, out: &mut String) {
        let by_colons = self.options.parseable;
        if !by_colons {
            let _ = writeln!(
                out,
                "{}                 {:>7} {:>7}   {:>7} {:>7}",
                self.time, "InDG", "OutDG", "InErr", "OutErr"
            );
        }
        for row in 0..rows.n_rows() {
            let places = [
                udp::in_datagrams_per_s,
                udp::out_datagrams_per_s,
                udp::in_errors_per_s,
                udp::send_buffer_errors_per_s,
            ];
            let values = places.map(|place| rows.f64(row, place));
            if by_colons {
                let _ = write!(out, "{}:UDP", self.time);
                text::colons(out, values, parseable);
            } else {
                out.push_str("UDP                      ");
                for (value, gap) in values.into_iter().zip([" ", "   ", " ", ""]) {
                    field(out, value, 7, human);
                    out.push_str(gap);
                }
            }
            out.push('\n');
        }
    }

    fn nics(&mut self, rows: Option<RowsOf<'_, net::Schema>>, with_protocols: bool, out: &mut String) {
        let n = rows.map_or(0, |rows| rows.n_rows());
        let chosen = |view: &Nicstat, row| {
            rows.and_then(|r| Nic::of(r, row, &view.options)).filter(|nic| view.shows(nic.name, nic.class))
        };
        let n_chosen = (0..n).filter(|row| chosen(self, *row).is_some()).count();
        if !self.options.parseable && (with_protocols || self.lines >= PAGE) {
            self.lines = 0;
            text::nic_header(out, &self.time, &self.options);
        }
        for row in 0..n {
            let Some(nic) = chosen(self, row) else { continue };
            self.lines += if n_chosen > 1 { PAGE } else { 1 };
            if self.options.skip_zero && nic.is_silent() {
                continue;
            }
            text::nic(out, &self.time, &nic, &self.options);
        }
    }

    fn list(&self, rows: RowsOf<'_, net::Schema>, out: &mut String) {
        out.push_str("Int      Loopback   Mbit/s Duplex State");
        out.push_str(if self.options.kinds { " Kind\n" } else { "\n" });
        for row in 0..rows.n_rows() {
            if let Some(nic) = Nic::of(rows, row, &self.options).filter(|nic| self.shows(nic.name, nic.class)) {
                text::listed(out, &nic, self.options.kinds);
            }
        }
    }

    fn softnet(&self, rows: RowsOf<'_, softnet::Schema>, out: &mut String) {
        let places = [
            softnet::packets_per_s,
            softnet::drops_per_s,
            softnet::squeezes_per_s,
            softnet::flow_limits_per_s,
            softnet::rps_per_s,
            softnet::backlog,
        ];
        if !self.options.parseable {
            let [a, b, c, d, e, f] = ["Packets", "Drops", "Squeeze", "FlowLim", "RPS", "Backlog"];
            let _ = writeln!(out, "{} {:>8} {a:>7} {b:>7} {c:>7} {d:>7} {e:>7} {f:>7}", self.time, "CPU");
        }
        let sum = |place| (0..rows.n_rows()).filter_map(|row| rows.f64(row, place)).reduce(|a, b| a + b);
        self.softnet_line("all", places.map(sum), out);
        for row in 0..rows.n_rows() {
            let values = places.map(|place| rows.f64(row, place));
            // Of hundreds of CPUs those that did nothing are no news.
            if values.iter().flatten().any(|v| *v > 0.0) {
                self.softnet_line(rows.str(row, softnet::cpu).unwrap_or("-"), values, out);
            }
        }
    }

    fn softnet_line(&self, cpu: &str, values: [Option<f64>; 6], out: &mut String) {
        if self.options.parseable {
            let _ = write!(out, "{}:SOFTNET:{cpu}", self.time);
            text::colons(out, values, parseable);
        } else {
            let _ = write!(out, "softnet  {cpu:>8}");
            for value in values {
                out.push(' ');
                field(out, value, 7, human);
            }
        }
        out.push('\n');
    }

    fn drivers(&self, rows: Option<RowsOf<'_, net_driver::Schema>>, out: &mut String) {
        if !self.options.parseable {
            let _ = writeln!(out, "{} {:>8} {:>11}  Driver's counter", self.time, "Int", "/s");
        }
        let Some(rows) = rows else { return };
        for row in 0..rows.n_rows() {
            let (Some(name), Some(counter)) =
                (rows.str(row, net_driver::interface), rows.str(row, net_driver::counter))
            else {
                continue;
            };
            if !self.shows(name, None) {
                continue;
            }
            let growth = rows.f64(row, net_driver::growth_per_s);
            if self.options.parseable {
                let _ = write!(out, "{}:DRIVER:{name}:{counter}", self.time);
                text::colons(out, [growth], parseable);
            } else {
                let _ = write!(out, "driver   {name:>8} ");
                field(out, growth, 11, small);
                let _ = write!(out, "  {counter}{}", if is_trouble(counter) { "  !" } else { "" });
            }
            out.push('\n');
        }
    }
}

/// Of nothing nothing was retransmitted: the original prints 0 then.
fn nothing_sent(segments: Option<f64>) -> Option<f64> {
    segments.filter(|n| *n == 0.0)
}

/// Whether the name of a driver's counter speaks of loss.
fn is_trouble(counter: &str) -> bool {
    const WORDS: [&str; 10] =
        ["drop", "err", "miss", "discard", "no_buf", "nobuf", "overrun", "fifo", "timeout", "full"];
    let lower = counter.to_ascii_lowercase();
    WORDS.iter().any(|word| lower.contains(word))
}

impl View for Nicstat {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut String) {
        self.n_frames += 1;
        self.set_time(frame);
        if self.options.list {
            if let (1, Some(rows)) = (self.n_frames, frame.rows.of(&net::TABLE)) {
                self.list(rows, out);
            }
            return;
        }
        if let Some(rows) = frame.rows.of(&tcp::TABLE).filter(|_| self.options.tcp) {
            self.tcp(rows, out);
        }
        if let Some(rows) = frame.rows.of(&udp::TABLE).filter(|_| self.options.udp) {
            self.udp(rows, out);
        }
        if self.options.columns != Columns::None {
            self.nics(frame.rows.of(&net::TABLE), self.options.tcp || self.options.udp, out);
        }
        if let Some(rows) = frame.rows.of(&softnet::TABLE).filter(|_| self.options.softnet) {
            self.softnet(rows, out);
        }
        if self.options.drivers {
            self.drivers(frame.rows.of(&net_driver::TABLE), out);
        }
    }
}

#[cfg(test)]
mod tests;
