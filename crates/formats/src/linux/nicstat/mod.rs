//! `nicstat` of Linux and Solaris: network interfaces, TCP and UDP.
//!
//! The first sample of every interface, and of TCP and UDP, is an average since boot. Kilobytes
//! are 1024 bytes, and what `-M` calls Mbps is 131,072 bytes per second. On Linux some columns are
//! never counted and always print as zero: the bytes of TCP and its share of retransmissions, the
//! utilisation of an interface whose speed is not known; they are NULL here.

mod parse;
mod row;
#[cfg(test)]
mod tests;

use fenxi_model::{
    Micros,
    catalog::{net, tcp, udp},
};
use rustc_hash::FxHashSet;

use crate::{Clock, Family, Fields, Format, Head, Hints, Input, Out, Splitter, Sure, Ticker, civil_time};
use parse::{Header, Kind, extended_step, header, parseable, stamp_seconds};

/// Importer for nicstat.
pub static FORMAT: Format = Format {
    name: "nicstat",
    summary: "nicstat: default, -s, -x, -t, -u, -a, -U, -M, -p, -l",
    family: Family::Linux,
    tables: &[&net::TABLE, &tcp::TABLE, &udp::TABLE],
    example: "    Time      Int   rKB/s   wKB/s   rPk/s   wPk/s    rAvs    wAvs %Util    Sat
17:08:59  e1000g0   239.2    2.33   174.4   33.60  1404.4   71.11  1.98   0.00
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    if head.any(|line| header(line).is_some()) {
        return Sure::Certain;
    }
    let mut splitter = Splitter::default();
    let mut lines = head.lines().filter(|line| !skipped(line)).take(4);
    // Only the first must be whole; the last may be cut.
    Sure::Likely.when(lines.next().is_some_and(|line| parseable(line, &mut splitter).is_some()))
}

/// A line without figures of the system: the version (`-v`), or the command as a terminal shows it.
fn skipped(line: &str) -> bool {
    line.starts_with("nicstat version") || (line.contains("nicstat") && line.contains(['#', '$', '%', '>', ')']))
}

struct Reader {
    clock: Clock,
    ticker: Ticker,
    /// Seconds between the lines of one interface under one header with a time.
    step: Option<f64>,
    /// The last header, which describes the lines under it.
    header: Option<Header>,
    /// The time of the last header that had one, later of the row before.
    t: Option<Micros>,
    /// The first interface under the last header of `-x`.
    leader: String,
    /// Names that had their first sample: interfaces, `TCP`, `UDP`.
    seen: FxHashSet<String>,
    /// TCP's bytes are counted on this system.
    counts_tcp_bytes: bool,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head();
    let step = out.hints().interval_s.or_else(|| extended_step(&head));
    let hints = Hints { interval_s: step, ..out.hints().clone() };
    let mut reader = Reader {
        clock: Clock::new(&hints),
        ticker: Ticker::new(&hints, &head, stamp_seconds),
        step,
        header: None,
        t: None,
        leader: String::new(),
        seen: FxHashSet::default(),
        counts_tcp_bytes: false,
    };
    drop(head);
    let mut splitter = Splitter::default();
    input.each_line(|number, line| reader.line(number, line, &mut splitter, out));
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        if line.trim().is_empty() {
            return;
        }
        if skipped(line) {
            self.restart();
            return;
        }
        if let Some(header) = header(line) {
            if let Some(time) = header.time {
                let t = self.clock.at(time, out);
                self.t = Some(self.follow(t));
                self.leader.clear();
            }
            self.header = Some(header);
            return;
        }
        if let Some(record) = parseable(line, splitter) {
            let t = self.follow(record.t);
            self.write(number, t, record.name, record.columns, &record.values, out);
            return;
        }
        let Some(header) = self.header.take() else {
            out.unknown(number, line, "no header of nicstat before this line");
            return;
        };
        self.under(&header, number, &splitter.blanks(line), out);
        self.header = Some(header);
    }

    /// A line of values under `header`.
    fn under(&mut self, header: &Header, number: u64, fields: &Fields<'_>, out: &mut Out<'_>) {
        let name = fields.get(0);
        match header.kind {
            Kind::Listing => out.fact("interface", name, fields.rest(1)),
            Kind::Timed => match civil_time(name, None) {
                Some(time) => {
                    let t = self.clock.at(time, out);
                    let t = self.follow(t);
                    self.write(number, t, fields.get(1), &header.columns, &fields.from(2), out);
                }
                None => out.unknown(number, fields.rest(0), "no time at the beginning of the line"),
            },
            Kind::Extended | Kind::Tcp | Kind::Udp => {
                let t = if header.kind == Kind::Extended { self.paged(name, out) } else { self.t };
                let Some(t) = t else { return };
                self.write(number, t, name, &header.columns, &fields.from(1), out);
            }
        }
    }

    /// The time of a line of `-x`. With one interface the header comes only every 20 lines, and the
    /// lines between have no time.
    fn paged(&mut self, name: &str, out: &mut Out<'_>) -> Option<Micros> {
        if self.leader.is_empty() {
            name.clone_into(&mut self.leader);
        } else if self.leader == name {
            let step = self.step(out);
            self.t = self.t.map(|t| Micros(t.0.saturating_add((step * 1e6) as i64)));
        }
        self.t
    }

    fn step(&mut self, out: &mut Out<'_>) -> f64 {
        *self.step.get_or_insert_with(|| {
            out.assume("one second between samples, as the input does not say (give --interval)");
            1.0
        })
    }

    /// The tool was begun anew: its first samples are since boot again.
    fn restart(&mut self) {
        self.seen.clear();
        self.ticker.restart();
    }

    /// Time that goes back is another run of the tool.
    fn follow(&mut self, t: Micros) -> Micros {
        if self.t.is_some_and(|last| t < last && !self.leader_pages()) {
            self.restart();
        }
        self.t = Some(t);
        t
    }

    /// Whether times are counted on from a header, which the next header may correct a little.
    fn leader_pages(&self) -> bool {
        self.step.is_some() && !self.leader.is_empty()
    }

    fn write<S: AsRef<str>>(
        &mut self,
        line: u64,
        t: Micros,
        name: &str,
        columns: &[S],
        values: &Fields<'_>,
        out: &mut Out<'_>,
    ) {
        if values.len() != columns.len() {
            out.wrong_count(line, values.rest(0), values.len(), columns.len());
            return;
        }
        let dt = self.ticker.tick(t);
        let boot = !self.seen.contains(name);
        if boot {
            self.seen.insert(name.to_owned());
        }
        out.since_boot(boot);
        let row = row::Row { line, time: (t, dt.filter(|_| !boot)), name, columns, values };
        match name {
            "TCP" => self.counts_tcp_bytes = row.tcp(self.counts_tcp_bytes, out),
            "UDP" => row.udp(out),
            _ => row.net(out),
        }
        out.since_boot(false);
    }
}
