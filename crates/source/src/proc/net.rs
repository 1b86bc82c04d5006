//! Network interfaces from /proc/net/dev; speed, duplex and kind of the link from sysfs.
//!
//! A counter of some drivers is 32 bits wide although the kernel prints 64: a step back from its upper half is a wrap, unless
//! another counter of the interface shows that it was reset.

mod link;

use fenxi_model::{
    Rows,
    catalog::net::{self, TABLE},
};
use link::Link;

use super::{
    roster::{Member, Roster},
    scan::{lines, number, words},
};
use crate::{Collector, Counter, ProcFile, Root, Source, SourceError, Spec, Step, Take, Tick, Width};

const FILE: &str = "/proc/net/dev";

/// Seconds after which speed and duplex are read anew; asking some drivers costs a talk to the card.
const LINK_AGE_S: f64 = 30.0;

/// Places of the counters, in the file's order.
const N_COUNTERS: usize = 16;
const RX_BYTES: usize = 0;
const RX_PACKETS: usize = 1;
const RX_ERRORS: usize = 2;
const RX_DROPS: usize = 3;
const RX_FIFO: usize = 4;
const RX_FRAME: usize = 5;
const RX_COMPRESSED: usize = 6;
const MULTICAST: usize = 7;
const TX_BYTES: usize = 8;
const TX_PACKETS: usize = 9;
const TX_ERRORS: usize = 10;
const TX_DROPS: usize = 11;
const TX_FIFO: usize = 12;
const COLLISIONS: usize = 13;
const CARRIER: usize = 14;
const TX_COMPRESSED: usize = 15;

pub struct Net;

/// The source.
pub static SOURCE: Net = Net;

static SPEC: Spec = Spec {
    name: "net",
    summary: "network interfaces: bytes, packets, errors, utilisation (/proc/net/dev)",
    tables: &[&TABLE],
    take: Take::EveryTick,
    default: true,
    live: true,
};

impl Source for Net {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        Ok(Box::new(Interfaces { file: root.open(FILE)?, root: root.clone(), roster: Roster::new(), noted: false }))
    }
}

struct Interfaces {
    file: ProcFile,
    root: Root,
    roster: Roster<Interface>,
    /// Whether a malformed line was noted already: one note is enough.
    noted: bool,
}

struct Interface {
    link: Link,
    link_age_s: f64,
    counters: [Counter; N_COUNTERS],
}

type Values = [u64; N_COUNTERS];

impl Collector for Interfaces {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        let text = self.file.read()?;
        let root = &self.root;
        self.roster.begin();
        for (i, line) in lines(text).enumerate() {
            let Some((name, values)) = parse(line) else {
                // The first two lines are headings; only they have bars.
                if !line.contains(&b'|') && !self.noted {
                    self.noted = true;
                    rows.note(FILE, i as u64 + 1, "not a name, a colon and 16 numbers; the line is left out");
                }
                continue;
            };
            let make =
                |name: &str| Interface { link: Link::read(root, name), link_age_s: 0.0, counters: Default::default() };
            let (member, new) = self.roster.member(name, make);
            if new && tick.dt.is_some() && !tick.since_boot {
                rows.event(tick.t, "appeared", &member.name, "network interface");
            }
            if !new {
                member.value.link_age_s += tick.dt.unwrap_or(0.0);
            }
            if member.value.link_age_s >= LINK_AGE_S {
                member.value.link_age_s = 0.0;
                member.value.link.refresh(root, &member.name);
            }
            emit(member, &values, tick, rows);
        }
        self.roster.end(|m| rows.event(tick.t, "gone", &m.name, "network interface"));
        Ok(())
    }
}

/// Name and counters of a line: `  eth0: 1 2 …`, or `eth0:1 2 …` with a number glued to the name.
fn parse(line: &[u8]) -> Option<(&[u8], Values)> {
    // Names of old kernels may hold a colon themselves (`eth0:1`), numbers never do.
    let colon = memchr::memrchr(b':', line)?;
    let name = line[..colon].trim_ascii();
    let mut values: Values = [0; N_COUNTERS];
    let mut words = words(&line[colon + 1..]);
    for value in &mut values {
        *value = number(words.next()?)?;
    }
    (!name.is_empty()).then_some((name, values))
}

fn emit(member: &mut Member<Interface>, values: &Values, tick: Tick, rows: &mut Rows) {
    let Some(growth) = growth(member, values, tick, rows) else { return };
    let Some(dt) = tick.dt.filter(|dt| *dt > 0.0) else { return };
    let link = &member.value.link;
    let rate = |i: usize| growth.map(|g| g[i] / dt);
    let mean = |sum: usize, n: usize| growth.filter(|g| g[n] > 0.0).map(|g| g[sum] / g[n]);
    let troubles = [RX_ERRORS, RX_DROPS, RX_FIFO, TX_ERRORS, TX_DROPS, TX_FIFO];
    rows.row(&TABLE, tick.t, dt)
        .str(net::interface, &*member.name)
        .str(net::class, link.class)
        .f64(net::rx_bytes_per_s, rate(RX_BYTES))
        .f64(net::tx_bytes_per_s, rate(TX_BYTES))
        .f64(net::rx_packets_per_s, rate(RX_PACKETS))
        .f64(net::tx_packets_per_s, rate(TX_PACKETS))
        .f64(net::rx_packet_bytes, mean(RX_BYTES, RX_PACKETS))
        .f64(net::tx_packet_bytes, mean(TX_BYTES, TX_PACKETS))
        .f64(net::rx_errors_per_s, rate(RX_ERRORS))
        .f64(net::tx_errors_per_s, rate(TX_ERRORS))
        .f64(net::rx_drops_per_s, rate(RX_DROPS))
        .f64(net::tx_drops_per_s, rate(TX_DROPS))
        .f64(net::rx_fifo_per_s, rate(RX_FIFO))
        .f64(net::tx_fifo_per_s, rate(TX_FIFO))
        .f64(net::frame_errors_per_s, rate(RX_FRAME))
        .f64(net::carrier_errors_per_s, rate(CARRIER))
        .f64(net::collisions_per_s, rate(COLLISIONS))
        .f64(net::multicast_per_s, rate(MULTICAST))
        .f64(net::rx_compressed_per_s, rate(RX_COMPRESSED))
        .f64(net::tx_compressed_per_s, rate(TX_COMPRESSED))
        .f64(net::speed_mbps, link.speed_mbps)
        .str(net::duplex, link.duplex)
        .str(net::state, link.state.as_deref())
        .f64(net::util, rate(RX_BYTES).zip(rate(TX_BYTES)).and_then(|(rx, tx)| link.util(rx, tx)))
        .f64(net::saturation_per_s, growth.map(|g| troubles.iter().map(|i| g[*i]).sum::<f64>() / dt));
}

/// How far the counters went: None at the interface's first sample, `Some(None)` after a reset.
///
/// When one counter went back the interface was reset, and none of its counters can be trusted.
fn growth(
    member: &mut Member<Interface>,
    values: &Values,
    tick: Tick,
    rows: &mut Rows,
) -> Option<Option<[f64; N_COUNTERS]>> {
    let mut growth = [0.0; N_COUNTERS];
    let (mut first, mut reset) = (false, false);
    for (i, counter) in member.value.counters.iter_mut().enumerate() {
        match tick.step(counter, values[i], Width::Bits32) {
            Step::First => first = true,
            Step::By(n) => growth[i] = n as f64,
            Step::Reset => reset = true,
        }
    }
    if reset {
        let message = "a counter of the network interface went back; its rates are left out";
        rows.event(tick.t, "counter reset", &member.name, message);
    }
    (!first).then_some((!reset).then_some(growth))
}

#[cfg(test)]
mod tests;
