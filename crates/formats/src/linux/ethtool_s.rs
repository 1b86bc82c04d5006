//! `ethtool -S`: the private counters of a network driver, once or again and again.
//!
//! ethtool does not print whose counters they are. The command above them may (`# ethtool -S eth0`), or the file's name
//! as sosreport gives it (`ethtool_-S_eth0`). Two readings give rates where the time between them is known; else the
//! counters are metrics. Two texts of one moment without the names of their interfaces never make a rate.

use fenxi_model::{
    Micros,
    catalog::{metric, net_driver},
};

use super::counters::Counters;
use crate::{
    Family, Format, Head, Input, Out, Sure,
    generic::labels::Labels,
    number,
    procps::moments::{Moments, is_prompt},
    stamp,
};

/// Importer for ethtool -S.
pub static FORMAT: Format = Format {
    name: "ethtool-s",
    summary: "ethtool -S: statistics of a network driver",
    family: Family::Linux,
    tables: &[&net_driver::TABLE, &metric::TABLE],
    example: "\
NIC statistics:
     rx_queue_0_packets: 123456
     rx_queue_0_drops: 12
     tx_queue_0_packets: 98765
",
    sniff,
    read,
};

/// Counters that one interface may have.
const MOST: usize = 1 << 16;

/// The title above counters; the interface, where it names it.
fn title(line: &str) -> Option<Option<&str>> {
    if line == "NIC statistics:" {
        return Some(None);
    }
    Some(Some(line.strip_prefix("Standard stats for ")?.strip_suffix(':')?))
}

/// `rx_queue_0_drops: 12`, `[0]: rx_ucast_packets: 5`
fn counter(line: &str) -> Option<(&str, f64)> {
    let (name, value) = line.rsplit_once(':')?;
    let value = value.trim();
    let digits = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
    Some((name.trim(), number(value)?)).filter(|(name, _)| digits && !name.is_empty())
}

/// The interface of a command: `ethtool -S eth0`, `ethtool_-S_eth0`.
fn of_command(text: &str) -> Option<&str> {
    let rest =
        ["ethtool -S ", "ethtool_-S_", "ethtool --statistics "].iter().find_map(|c| Some(text.split_once(c)?.1))?;
    let name = rest.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | '.' | '@')).next()?;
    Some(name.trim_end_matches(".txt")).filter(|name| !name.is_empty())
}

fn sniff(head: &Head<'_>) -> Sure {
    let mut lines = head.lines().take(60).peekable();
    while let Some(line) = lines.next() {
        let follows = |line: Option<&&str>| line.is_some_and(|line| counter(line).is_some());
        if title(stamp(line).map_or(line, |stamp| stamp.rest)).is_some() && follows(lines.peek()) {
            return Sure::Certain;
        }
    }
    Sure::No
}

/// The counters of one interface at one moment.
struct Block {
    interface: String,
    t: Micros,
    dt: Option<f64>,
    counters: Vec<(String, f64)>,
}

struct Reader {
    moments: Moments,
    counters: Counters,
    /// Interfaces that had their counters at this moment.
    seen: Vec<String>,
    now: Option<(Micros, Option<f64>)>,
    /// The interface of the next block.
    named: Option<String>,
    block: Option<Block>,
    /// The first block of each interface, until a second one follows.
    singles: Vec<(String, Option<Block>)>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        moments: Moments::new(out),
        counters: Counters::default(),
        seen: Vec::new(),
        now: None,
        named: of_command(&out.hints().file).map(str::to_owned),
        block: None,
        singles: Vec::new(),
    };
    input.each_line(|number, line| {
        let line = line.trim();
        if line.is_empty() || reader.line(line, out) {
            return;
        }
        match stamp(line).map(|stamp| stamp.rest.trim().to_owned()) {
            Some(rest) => {
                if rest.is_empty() || title(&rest).is_some() {
                    reader.end(out);
                    reader.now = None;
                }
                reader.moments.take(line, out);
                if !rest.is_empty() && !reader.line(&rest, out) {
                    out.unknown(number, line, "no counter of a driver");
                }
            }
            None if is_prompt(line, "ethtool") || line == "no stats available" => {}
            None => out.unknown(number, line, "no counter of a driver"),
        }
    });
    reader.end(out);
    for block in reader.singles.into_iter().filter_map(|(_, block)| block) {
        totals(&block, out);
    }
}

impl Reader {
    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if let Some(named) = title(line) {
            // The groups that ethtool prints for one interface are one block.
            let named = named.map(str::to_owned).or_else(|| self.named.take());
            if self.block.as_ref().is_some_and(|b| named.as_ref().is_some_and(|n| *n == b.interface)) {
                return true;
            }
            self.begin(named.unwrap_or_default(), out);
            return true;
        }
        if let Some(name) = of_command(line) {
            self.end(out);
            self.named = Some(name.to_owned());
            return true;
        }
        let (Some(block), Some((name, value))) = (&mut self.block, counter(line)) else { return false };
        if block.counters.len() < MOST {
            block.counters.push((name.to_owned(), value));
        }
        true
    }

    fn begin(&mut self, interface: String, out: &mut Out<'_>) {
        self.end(out);
        if self.now.is_none() || self.moments.is_stamped() || self.seen.contains(&interface) {
            self.seen.clear();
            self.now = Some(self.moments.next(out));
        }
        let Some((t, dt)) = self.now else { return };
        self.seen.push(interface.clone());
        self.block = Some(Block { interface, t, dt, counters: Vec::new() });
    }

    /// A block is complete.
    fn end(&mut self, out: &mut Out<'_>) {
        let Some(block) = self.block.take() else { return };
        let measured = self.moments.is_measured();
        for (name, value) in &block.counters {
            let rate = self.counters.rate(&format!("{} {name}", block.interface), block.t, *value);
            // Unchanged counters have no row.
            if let Some(rate) = rate.filter(|rate| measured && *rate > 0.0) {
                let mut row = out.row(&net_driver::TABLE, block.t, block.dt);
                row.str(net_driver::interface, Some(&*block.interface).filter(|name| !name.is_empty()));
                row.str(net_driver::counter, &**name).f64(net_driver::growth_per_s, rate);
            }
        }
        match self.singles.iter_mut().find(|(name, _)| *name == block.interface) {
            None => self.singles.push((block.interface.clone(), Some(block))),
            Some((_, single)) => {
                let first = single.take();
                if !measured {
                    first.iter().chain([&block]).for_each(|block| totals(block, out));
                }
            }
        }
    }
}

/// Counters without a rate.
fn totals(block: &Block, out: &mut Out<'_>) {
    let labels = Labels::of("interface", &block.interface);
    for (name, value) in &block.counters {
        out.metric(block.t, None, &format!("ethtool-s.{name}"), labels.text(), *value, "");
    }
}

#[cfg(test)]
mod tests {
    use super::{FORMAT, counter, of_command};
    use crate::fixtures::read;

    #[test]
    fn counters_and_interfaces_are_read() {
        assert_eq!(counter("[0]: rx_ucast_packets: 5"), Some(("[0]: rx_ucast_packets", 5.0)));
        assert_eq!(counter("a: -"), None);
        assert_eq!(counter(": 5"), None);
        assert_eq!(of_command("root@db1:~# ethtool -S enp1s0"), Some("enp1s0"));
        assert_eq!(of_command("ethtool_-S_eth0.100"), Some("eth0.100"));
        assert_eq!(of_command("ethtool eth0"), None);
    }

    #[test]
    fn rates_need_the_time_and_the_interface() {
        let block = |n: u32| format!("NIC statistics:\n     rx: {n}\n     tx: 7\n");
        let rows = |text: String| read(&FORMAT, text.as_bytes()).text;
        let timed = rows(format!("1795249143\n{}1795249148\n{}", block(10), block(60)));
        assert!(timed.contains("\trx\t10\n") && !timed.contains("\ttx\t"), "{timed}");
        // Two interfaces at one moment.
        let same = rows(format!("1795249143\n{}{}", block(10), block(60)));
        assert!(!same.contains("net_driver") && same.contains("ethtool-s.rx\t60"), "{same}");
        let named = rows(format!(
            "1795249143\n# ethtool -S eth0\n{}# ethtool -S eth1\n{}1795249145\n# ethtool -S eth0\n{}",
            block(10),
            block(60),
            block(12)
        ));
        assert!(named.contains("\teth0\trx\t1\n") && named.contains("ethtool-s.rx\tinterface=eth1\t60"), "{named}");
    }
}
