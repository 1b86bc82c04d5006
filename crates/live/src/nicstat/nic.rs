//! Figures of one interface in one frame.

use fenxi_model::{Place, RowsOf, catalog::net, place::F64};

use super::Options;

/// Duplex mode of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplex {
    /// Each direction has the whole speed.
    Full,
    /// Both share it.
    Half,
}

/// A speed that the user gave for an interface.
#[derive(Clone, Debug, PartialEq)]
pub struct Speed {
    /// The interface.
    pub interface: String,
    /// Megabits per second.
    pub mbps: f64,
    /// Full by default.
    pub duplex: Duplex,
}

impl std::str::FromStr for Speed {
    type Err = String;

    /// Reads `eth0:1000`, `eth0:100hd` or `eth0:10000fd`; names may hold colons.
    fn from_str(text: &str) -> Result<Speed, String> {
        let form = || format!("`{text}` is not INTERFACE:MBPS, with `fd` or `hd` behind it if you like");
        let (interface, speed) = text.rsplit_once(':').ok_or_else(form)?;
        let digits = speed.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let duplex = match speed[digits.len()..].to_ascii_lowercase().as_str() {
            "" | "f" | "fd" => Duplex::Full,
            "h" | "hd" => Duplex::Half,
            _ => return Err(form()),
        };
        let mbps = digits.parse().ok().filter(|v: &f64| v.is_finite() && *v > 0.0).ok_or_else(form)?;
        if interface.is_empty() {
            return Err(form());
        }
        Ok(Speed { interface: interface.to_owned(), mbps, duplex })
    }
}

/// An interface's figures; None where unknown.
#[derive(Debug)]
pub(super) struct Nic<'a> {
    pub name: &'a str,
    pub class: Option<&'a str>,
    pub state: Option<&'a str>,
    pub mbps: Option<f64>,
    pub duplex: Option<Duplex>,
    /// Bytes per second: received, sent.
    pub bytes: [Option<f64>; 2],
    pub packets: [Option<f64>; 2],
    /// Mean size of packets.
    pub sizes: [Option<f64>; 2],
    /// Errors received and sent, collisions.
    pub errors: [Option<f64>; 3],
    pub saturation: Option<f64>,
    pub util: Option<f64>,
    /// Utilisation of each direction.
    pub utils: [Option<f64>; 2],
}

impl<'a> Nic<'a> {
    pub fn of(rows: RowsOf<'a, net::Schema>, row: usize, options: &Options) -> Option<Nic<'a>> {
        let get = |place| rows.f64(row, place);
        let name = rows.str(row, net::interface)?;
        let given = options.speeds.iter().rev().find(|speed| speed.interface == name);
        let mbps = given.map(|speed| speed.mbps).or_else(|| get(net::speed_mbps));
        let duplex = given.map(|speed| speed.duplex).or_else(|| match rows.str(row, net::duplex)? {
            "full" => Some(Duplex::Full),
            "half" => Some(Duplex::Half),
            _ => None,
        });
        let bytes = [get(net::rx_bytes_per_s), get(net::tx_bytes_per_s)];
        let packets = [get(net::rx_packets_per_s), get(net::tx_packets_per_s)];
        let size = |i: usize, place| match packets[i] {
            // As the original has it: no packets, size 0.
            Some(0.0) => Some(0.0),
            Some(n) => get(place).or_else(|| Some(bytes[i]? / n)),
            None => get(place),
        };
        let share = |bytes_per_s: f64| mbps.map(|mbps| (bytes_per_s * 800.0 / (mbps * 1e6)).min(100.0));
        let both = bytes[0].zip(bytes[1]);
        let util = match duplex {
            Some(Duplex::Half) => both.and_then(|(rx, tx)| share(rx + tx)),
            // Every link since gigabit is full duplex: so is one that does not say.
            _ => both.and_then(|(rx, tx)| share(rx.max(tx))),
        };
        Some(Nic {
            name,
            class: rows.str(row, net::class),
            state: rows.str(row, net::state),
            mbps,
            duplex,
            bytes,
            packets,
            sizes: [size(0, net::rx_packet_bytes), size(1, net::tx_packet_bytes)],
            errors: [get(net::rx_errors_per_s), get(net::tx_errors_per_s), get(net::collisions_per_s)],
            saturation: saturation(get).or_else(|| get(net::saturation_per_s)),
            util: util.or_else(|| if given.is_none() { get(net::util) } else { None }),
            utils: bytes.map(|b| b.and_then(share)),
        })
    }

    /// Returns true if not a packet came or went.
    pub fn is_silent(&self) -> bool {
        self.packets.iter().all(|n| n.unwrap_or(0.0) == 0.0)
    }

    /// Kind of an interface whose packets are counted by another one, too (bond, bridge, VLAN).
    pub fn kind(&self) -> Option<&'a str> {
        self.class.filter(|class| !matches!(*class, "physical" | "loopback"))
    }
}

/// The sum that nicstat calls saturation on Linux: what was lost for want of room or of a free line.
fn saturation(get: impl Fn(Place<net::Schema, F64>) -> Option<f64>) -> Option<f64> {
    let places = [
        net::rx_errors_per_s,
        net::rx_drops_per_s,
        net::tx_drops_per_s,
        net::tx_fifo_per_s,
        net::collisions_per_s,
        net::carrier_errors_per_s,
    ];
    places.into_iter().map(get).sum()
}
