//! Output lines of nicstat: its columns, widths and decimals.

use std::fmt::Write;

use super::{Columns, Options, Throughput, nic::Duplex, nic::Nic};

/// Decimals of a figure, by its size.
pub type Decimals = fn(f64) -> usize;

/// Decimals of most columns.
pub fn human(value: f64) -> usize {
    match value {
        v if v < 100.0 => 2,
        v if v < 100_000.0 => 1,
        _ => 0,
    }
}

/// Decimals of narrow columns: errors, utilisation.
pub fn small(value: f64) -> usize {
    match value {
        v if v < 10.0 => 2,
        v if v < 100.0 => 1,
        _ => 0,
    }
}

/// Decimals of most parseable fields.
pub fn parseable(value: f64) -> usize {
    match value {
        v if v < 10.0 => 3,
        v if v < 100.0 => 2,
        v if v < 10_000.0 => 1,
        _ => 0,
    }
}

/// A figure, right-aligned in `width`; `-` when it is unknown.
pub fn field(out: &mut String, value: Option<f64>, width: usize, decimals: Decimals) {
    let _ = match value {
        Some(value) => write!(out, "{value:>width$.0$}", decimals(value)),
        None => write!(out, "{:>width$}", "-"),
    };
}

/// Figures with a colon before each.
pub fn colons<const N: usize>(out: &mut String, values: [Option<f64>; N], decimals: Decimals) {
    for value in values {
        out.push(':');
        field(out, value, 0, decimals);
    }
}

/// The header of TCP.
pub fn tcp_header(out: &mut String, time: &str) {
    let [a, b, c, d] = ["InKB", "OutKB", "InSeg", "OutSeg"];
    let _ = writeln!(out, "{time} {a:>7} {b:>7} {c:>7} {d:>7} Reset  AttF %ReTX InConn OutCon Drops");
}

/// The figures of TCP.
#[derive(Debug)]
pub struct Tcp {
    pub in_kb: Option<f64>,
    pub out_kb: Option<f64>,
    pub segments: [Option<f64>; 2],
    pub resets: Option<f64>,
    pub attempt_fails: Option<f64>,
    pub retransmit: Option<f64>,
    pub opens: [Option<f64>; 2],
    pub drops: Option<f64>,
}

impl Tcp {
    /// With their widths and decimals in columns.
    fn all(&self) -> [(Option<f64>, usize, Decimals); 10] {
        [
            (self.in_kb, 7, human),
            (self.out_kb, 7, human),
            (self.segments[0], 7, human),
            (self.segments[1], 7, human),
            (self.resets, 5, small),
            (self.attempt_fails, 5, small),
            (self.retransmit, 4, parseable),
            (self.opens[0], 6, small),
            (self.opens[1], 6, small),
            (self.drops, 5, small),
        ]
    }

    /// The line of columns.
    pub fn columns(&self, out: &mut String) {
        out.push_str("TCP     ");
        for (value, width, decimals) in self.all() {
            out.push(' ');
            field(out, value, width, decimals);
        }
        out.push('\n');
    }

    /// The parseable line.
    pub fn colons(&self, out: &mut String, time: &str) {
        let _ = write!(out, "{time}:TCP");
        colons(out, self.all().map(|(value, _, _)| value), parseable);
        out.push('\n');
    }
}

/// The header of interfaces.
pub fn nic_header(out: &mut String, time: &str, options: &Options) {
    let megabits = options.throughput != Throughput::Kilobytes;
    let [r, w] = if megabits { ["rMbps", "wMbps"] } else { ["rKB/s", "wKB/s"] };
    let util = if options.by_direction { " %rUtil %wUtil" } else { " %Util    Sat" };
    let _ = match options.columns {
        Columns::Full => {
            let [a, b, c, d] = ["rPk/s", "wPk/s", "rAvs", "wAvs"];
            writeln!(out, "{:>8} {:>8} {r:>7} {w:>7} {a:>7} {b:>7} {c:>7} {d:>7}{util}", "Time", "Int")
        }
        Columns::Summary => writeln!(out, "{:>8} {:>8} {r:>14} {w:>14}", "Time", "Int"),
        Columns::Extended => {
            let [r, w] = if megabits { ["RdMbps", "WrMbps"] } else { ["RdKB", "WrKB"] };
            let util = if options.by_direction { util } else { "  %Util" };
            let names = "  IErr  OErr  Coll  NoCP Defer";
            writeln!(out, "{time:<10} {r:>7} {w:>7} {:>7} {:>7} {names}{util}", "RdPkt", "WrPkt")
        }
        Columns::None => Ok(()),
    };
}

/// The line of an interface.
pub(super) fn nic(out: &mut String, time: &str, nic: &Nic<'_>, options: &Options) {
    if options.parseable {
        return nic_colons(out, time, nic, options);
    }
    let throughput = nic.bytes.map(|bytes| bytes.map(|v| options.throughput.of(v)));
    let columns = |out: &mut String, values: &[Option<f64>], width: usize, decimals: Decimals| {
        for value in values {
            out.push(' ');
            field(out, *value, width, decimals);
        }
    };
    match options.columns {
        Columns::Full => {
            let _ = write!(out, "{time} {:>8}", nic.name);
            for pair in [&throughput, &nic.packets, &nic.sizes] {
                columns(out, pair, 7, human);
            }
            if options.by_direction {
                columns(out, &nic.utils, 6, small);
            } else {
                columns(out, &[nic.util], 5, small);
                columns(out, &[nic.saturation], 6, human);
            }
        }
        Columns::Summary => {
            let _ = write!(out, "{time} {:>8}", nic.name);
            columns(out, &throughput, 14, |_| 3);
        }
        Columns::Extended => {
            let _ = write!(out, "{:<10}", nic.name);
            columns(out, &throughput, 7, human);
            columns(out, &nic.packets, 7, human);
            out.push(' ');
            columns(out, &nic.errors, 5, small);
            // The kernel counts neither failed allocations nor deferred packets.
            columns(out, &[None, None], 5, small);
            if options.by_direction {
                columns(out, &nic.utils, 6, small);
            } else {
                out.push(' ');
                columns(out, &[nic.util], 5, small);
            }
        }
        Columns::None => {}
    }
    if let Some(kind) = nic.kind().filter(|_| options.kinds) {
        let _ = write!(out, " {kind}");
    }
    out.push('\n');
}

fn nic_colons(out: &mut String, time: &str, nic: &Nic<'_>, options: &Options) {
    let _ = write!(out, "{time}:{}", nic.name);
    colons(out, nic.bytes.map(|bytes| bytes.map(|v| Throughput::Kilobytes.of(v))), parseable);
    colons(out, nic.packets, parseable);
    colons(out, [nic.util], small);
    colons(out, [nic.saturation], human);
    if options.columns == Columns::Extended {
        colons(out, nic.errors, human);
        colons(out, [None, None], human);
    }
    out.push('\n');
}

/// The line of an interface in the list.
pub(super) fn listed(out: &mut String, nic: &Nic<'_>, kinds: bool) {
    let duplex = match nic.duplex {
        Some(Duplex::Full) => "full",
        Some(Duplex::Half) => "half",
        None => "unkn",
    };
    let loopback = if nic.class == Some("loopback") { "Yes" } else { "No" };
    let _ = write!(out, "{:<12} {loopback:>4} ", nic.name);
    field(out, nic.mbps, 8, |mbps| usize::from(mbps.fract() != 0.0));
    let _ = write!(out, "   {duplex:>4}  {:>4}", nic.state.unwrap_or("-"));
    if kinds {
        let _ = write!(out, " {}", nic.class.unwrap_or("-"));
    }
    out.push('\n');
}
