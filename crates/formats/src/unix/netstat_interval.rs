//! `netstat -w N` of the BSDs and macOS, `netstat -i N` and `netstat -I IF N` of Solaris, AIX and HP-UX:
//! packets in and out in each interval, of one interface and of all together.
//!
//! Everything is a count over the interval. Where two groups of columns are side by side (not on
//! BSD and macOS) the first row is since boot. Retransmissions and the like are not among them.

use fenxi_model::{Micros, Place, catalog::net, place::F64};

use super::times::{Times, Tool};
use crate::{Family, Fields, Format, Head, Input, Out, Splitter, Sure, number, scaled};

/// Importer for netstat with an interval.
pub static FORMAT: Format = Format {
    name: "netstat-interval",
    summary: "netstat with an interval: -w of FreeBSD, macOS, OpenBSD; -i, -I of Solaris, AIX, HP-UX",
    family: Family::Unix,
    tables: &[&net::TABLE],
    example: "\
            input        (Total)           output
   packets  errs idrops      bytes    packets  errs      bytes colls
   1511778     0     0   91524540    1508774     0   54260514     0
",
    sniff,
    read,
};

const TOOL: Tool = Tool {
    name: "netstat",
    takes: "IfwnpMNT",
    every: Some('w'),
    counters: false,
    default_s: 1.0,
    first_since_boot: true,
};

fn sniff(head: &Head<'_>) -> Sure {
    let columns = |line: &str| Header::read(line).is_some();
    let above = |line: &str| line.starts_with("input") && line.contains("output");
    Sure::Certain.when(head.any(above) && head.any(columns))
}

/// The columns of one interface: the place in the `net` table of each.
type Group = Vec<Option<Place<net::Schema, F64>>>;

/// The columns under one header.
struct Header {
    groups: Vec<Group>,
}

impl Header {
    /// Reads a line such as `packets errs bytes packets errs bytes colls`.
    fn read(line: &str) -> Option<Header> {
        let mut groups: Vec<Group> = Vec::new();
        // Packets come twice in each group: received, then sent.
        let mut packets = 0u32;
        for word in line.split_ascii_whitespace() {
            if word == "packets" {
                packets = packets.checked_add(1)?;
                if packets % 2 == 1 {
                    groups.push(Vec::new());
                }
            }
            let sent = packets.is_multiple_of(2);
            let place = match (word, sent) {
                ("packets", false) => Some(net::rx_packets_per_s),
                ("packets", true) => Some(net::tx_packets_per_s),
                ("errs", false) => Some(net::rx_errors_per_s),
                ("errs", true) => Some(net::tx_errors_per_s),
                ("idrops" | "drops", false) => Some(net::rx_drops_per_s),
                ("drops", true) => Some(net::tx_drops_per_s),
                ("bytes", false) => Some(net::rx_bytes_per_s),
                ("bytes", true) => Some(net::tx_bytes_per_s),
                ("colls", true) => Some(net::collisions_per_s),
                _ => return None,
            };
            groups.last_mut()?.push(place);
        }
        let whole = packets > 0 && packets.is_multiple_of(2) && groups.len() < 256;
        whole.then_some(Header { groups })
    }

    fn len(&self) -> usize {
        self.groups.iter().map(Vec::len).sum()
    }
}

struct Reader {
    times: Times,
    header: Option<Header>,
    /// The interfaces of the groups.
    names: Vec<String>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head();
    let groups = head.lines().find_map(Header::read).map_or(1, |h| h.groups.len());
    let tool = Tool { first_since_boot: groups > 1, ..TOOL };
    drop(head);
    let mut reader = Reader { times: Times::new(input, out, tool), header: None, names: Vec::new() };
    let mut splitter = Splitter::default();
    while input.line().is_some() {
        let number = input.number();
        let line = reader.times.strip(input.text(), out).trim();
        if line.is_empty() {
            continue;
        }
        if let Some(header) = Header::read(line) {
            reader.header = Some(header);
        } else if line.starts_with("input") {
            let name = |word: &str| word.trim_matches(['(', ')']).to_owned();
            let words = line.split_ascii_whitespace().filter(|w| !matches!(*w, "input" | "output"));
            reader.names = words.map(name).collect();
        } else if line.as_bytes()[0].is_ascii_digit() {
            reader.row(number, &splitter.blanks(line), out);
        } else if !reader.times.knows(line) {
            out.unknown(number, line, "neither header nor counts");
        }
    }
    out.since_boot(false);
}

impl Reader {
    fn row(&mut self, line: u64, fields: &Fields<'_>, out: &mut Out<'_>) {
        let Some(header) = &self.header else {
            out.unknown(line, fields.rest(0), "values before any header");
            return;
        };
        if fields.len() != header.len() {
            out.wrong_count(line, fields.rest(0), fields.len(), header.len());
            return;
        }
        let (t, dt): (Micros, Option<f64>) = self.times.begin(out);
        let count = |cell: &str| number(cell).or_else(|| scaled(cell, 1000.0));
        let mut column = 0;
        for (nth, group) in header.groups.iter().enumerate() {
            let name = self.names.get(nth).map_or("", String::as_str);
            let cells = fields.from(column);
            column += group.len();
            let Some(seconds) = dt.filter(|dt| *dt > 0.0) else {
                totals(name, group, &cells, t, out);
                continue;
            };
            let mut row = out.row(&net::TABLE, t, dt);
            row.str(net::interface, Some(name).filter(|n| !n.is_empty())).str(net::class, class(name));
            for (at, place) in group.iter().enumerate() {
                if let (Some(place), Some(count)) = (place, count(cells.get(at))) {
                    row.f64(*place, count / seconds);
                }
            }
        }
    }
}

/// Counts since boot, which are no rates.
fn totals(name: &str, group: &Group, cells: &Fields<'_>, t: Micros, out: &mut Out<'_>) {
    for (at, place) in group.iter().enumerate() {
        let column = place.map(|place| net::TABLE.column(place));
        if let (Some(column), Some(count)) = (column, number(cells.get(at))) {
            let what = column.name.trim_end_matches("_per_s");
            out.metric(t, None, &format!("netstat-interval.{what}"), &format!("interface={name}"), count, "");
        }
    }
}

/// The class that a name shows for sure.
pub(super) fn class(name: &str) -> Option<&'static str> {
    let is = |driver: &str| name.strip_prefix(driver).is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    if is("lo") {
        Some("loopback")
    } else if is("utun") || is("tun") || is("tap") {
        Some("tun")
    } else if is("bridge") {
        Some("bridge")
    } else {
        None
    }
}
