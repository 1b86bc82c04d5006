//! `netstat -s` of Solaris (`tcpOutSegs = 5`), of the BSDs, macOS, AIX and HP-UX (`5 packets sent`) and of
//! Linux (`5 segments sent out`), once or several times: counters of the protocols since boot.
//!
//! From the second report on counters become rates. Sentences are compared without their plurals and
//! without what is in brackets.

use fenxi_model::{
    AnySchema, Micros, Place, Table,
    catalog::{metric, tcp, udp},
    place::F64,
};
use rustc_hash::FxHashMap;

use super::times::{Times, Tool};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// Importer for netstat -s of Solaris, the BSDs, macOS, AIX, HP-UX and Linux, once or repeatedly.
pub static FORMAT: Format = Format {
    name: "netstat-s",
    summary: "netstat -s of Solaris, the BSDs, macOS, AIX, HP-UX and Linux, once or repeatedly",
    family: Family::Unix,
    tables: &[&tcp::TABLE, &udp::TABLE],
    example: "\
TCP     tcpRtoAlgorithm     =     4     tcpRtoMin           =   400
        tcpActiveOpens      =   345     tcpPassiveOpens     =   123
        tcpOutSegs          = 98765     tcpRetransSegs      =    12
",
    sniff,
    read,
};

const TOOL: Tool =
    Tool { name: "netstat", takes: "fpPIMNw", every: None, counters: true, default_s: 1.0, first_since_boot: true };

/// A counter, the table and the column of its rate.
type Counted = (&'static str, &'static Table, usize);

const fn counter<S: AnySchema>(name: &'static str, table: &'static Table<S>, place: Place<S, F64>) -> Counted {
    (name, table, place.index())
}

/// Counters that have a column, as `section.words` in normal form.
const COUNTERS: &[Counted] = &[
    counter("tcpActiveOpens", &tcp::TABLE, tcp::active_opens_per_s),
    counter("tcpPassiveOpens", &tcp::TABLE, tcp::passive_opens_per_s),
    counter("tcpAttemptFails", &tcp::TABLE, tcp::attempt_fails_per_s),
    counter("tcpEstabResets", &tcp::TABLE, tcp::estab_resets_per_s),
    counter("tcpInSegs", &tcp::TABLE, tcp::in_segments_per_s),
    counter("tcpOutSegs", &tcp::TABLE, tcp::out_segments_per_s),
    counter("tcpRetransSegs", &tcp::TABLE, tcp::retransmits_per_s),
    counter("tcpOutRsts", &tcp::TABLE, tcp::out_resets_per_s),
    counter("tcpListenDrop", &tcp::TABLE, tcp::listen_overflows_per_s),
    counter("tcpTimRetrans", &tcp::TABLE, tcp::timeouts_per_s),
    counter("udpInDatagrams", &udp::TABLE, udp::in_datagrams_per_s),
    counter("udpOutDatagrams", &udp::TABLE, udp::out_datagrams_per_s),
    counter("udpInErrors", &udp::TABLE, udp::in_errors_per_s),
    counter("udpNoPorts", &udp::TABLE, udp::no_ports_per_s),
    counter("udpInOverflows", &udp::TABLE, udp::receive_buffer_errors_per_s),
    counter("udpInCksumErrs", &udp::TABLE, udp::checksum_errors_per_s),
    counter("tcp.connection request", &tcp::TABLE, tcp::active_opens_per_s),
    counter("tcp.connection accept", &tcp::TABLE, tcp::passive_opens_per_s),
    counter("tcp.bad connection attempt", &tcp::TABLE, tcp::attempt_fails_per_s),
    counter("tcp.packet received", &tcp::TABLE, tcp::in_segments_per_s),
    counter("tcp.packet sent", &tcp::TABLE, tcp::out_segments_per_s),
    counter("tcp.data packet retransmitted", &tcp::TABLE, tcp::retransmits_per_s),
    counter("tcp.listen queue overflow", &tcp::TABLE, tcp::listen_overflows_per_s),
    counter("tcp.retransmit timeout", &tcp::TABLE, tcp::timeouts_per_s),
    counter("udp.datagram received", &udp::TABLE, udp::in_datagrams_per_s),
    counter("udp.datagram output", &udp::TABLE, udp::out_datagrams_per_s),
    counter("udp.dropped due to no socket", &udp::TABLE, udp::no_ports_per_s),
    counter("udp.dropped due to full socket buffer", &udp::TABLE, udp::receive_buffer_errors_per_s),
    counter("udp.with bad checksum", &udp::TABLE, udp::checksum_errors_per_s),
    counter("Tcp.active connection opening", &tcp::TABLE, tcp::active_opens_per_s),
    counter("Tcp.passive connection opening", &tcp::TABLE, tcp::passive_opens_per_s),
    counter("Tcp.failed connection attempt", &tcp::TABLE, tcp::attempt_fails_per_s),
    counter("Tcp.connection reset received", &tcp::TABLE, tcp::estab_resets_per_s),
    counter("Tcp.segment received", &tcp::TABLE, tcp::in_segments_per_s),
    counter("Tcp.segment sent out", &tcp::TABLE, tcp::out_segments_per_s),
    counter("Tcp.segment send out", &tcp::TABLE, tcp::out_segments_per_s),
    counter("Tcp.segment retransmitted", &tcp::TABLE, tcp::retransmits_per_s),
    counter("Tcp.segment retransmited", &tcp::TABLE, tcp::retransmits_per_s),
    counter("Tcp.bad segment received", &tcp::TABLE, tcp::in_errors_per_s),
    counter("Tcp.reset sent", &tcp::TABLE, tcp::out_resets_per_s),
    counter("Udp.packet received", &udp::TABLE, udp::in_datagrams_per_s),
    counter("Udp.packet to unknown port received", &udp::TABLE, udp::no_ports_per_s),
    counter("Udp.packet receive error", &udp::TABLE, udp::in_errors_per_s),
    counter("Udp.packet sent", &udp::TABLE, udp::out_datagrams_per_s),
    counter("Udp.receive buffer error", &udp::TABLE, udp::receive_buffer_errors_per_s),
    counter("Udp.send buffer error", &udp::TABLE, udp::send_buffer_errors_per_s),
];
/// Amounts at a moment.
const ESTABLISHED: [&str; 2] = ["tcpCurrEstab", "Tcp.connection established"];
/// Settings and other numbers that do not count.
const STATES: &[&str] = &["tcpRtoAlgorithm", "tcpRtoMin", "tcpRtoMax", "tcpMaxConn", "ipForwarding", "ipDefaultTTL"];

/// Most counters that one report can have.
const MAX_COUNTERS: usize = 8192;

fn sniff(head: &Head<'_>) -> Sure {
    let solaris = head.any(|line| line.contains("tcpActiveOpens") && line.contains('='));
    let section = |name: &str| head.any(|line| line == name);
    let bsd = section("tcp:") && head.any(|line| line.ends_with(" packets sent"));
    let linux = section("Tcp:")
        && head.any(|line| line.contains("connection opening") || line.contains("connections openings"));
    Sure::Certain.when(solaris || bsd || linux)
}

/// One report.
struct Report {
    t: Micros,
    dt: Option<f64>,
    order: Vec<String>,
    values: FxHashMap<String, f64>,
}

struct Reader {
    times: Times,
    section: String,
    now: Option<Report>,
    before: Option<Report>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let times = Times::new(input, out, TOOL);
    let mut reader = Reader { times, section: String::new(), now: None, before: None };
    input.each_line(|number, line| reader.line(number, line, out));
    reader.end(out);
    out.since_boot(false);
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, out: &mut Out<'_>) {
        let line = self.times.strip(line, out).trim();
        if line.is_empty() || self.times.knows(line) {
            return;
        }
        if line.contains('=') && self.pairs(line, out) {
            return;
        }
        if let Some(section) = line.strip_suffix(':').filter(|s| !s.starts_with(|c: char| c.is_ascii_digit())) {
            section.clone_into(&mut self.section);
            return;
        }
        if self.item(line, out) || self.section.is_empty() {
            return;
        }
        // Headings among the counters ("Packet lengths", "histogram") carry no number.
        if line.bytes().any(|b| b.is_ascii_digit()) && self.section != "icmp" && !self.section.contains("istogram") {
            out.unknown(number, line, "no counter");
        }
    }

    /// `TCP  tcpRtoMin =   400   tcpRtoMax =60000`
    fn pairs(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let spaced = line.replace('=', " = ");
        let words: Vec<&str> = spaced.split_ascii_whitespace().collect();
        let mut any = false;
        for three in words.windows(3) {
            let [name, "=", value] = three else { continue };
            if let Some(value) = crate::number(value) {
                self.put((*name).to_owned(), value, out);
                any = true;
            }
        }
        any
    }

    /// `12 data packets (345 bytes) retransmitted`, or Linux' `Name: 12`
    fn item(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if let Some((value, words)) = line.split_once(' ')
            && let Some(value) = number(value)
        {
            self.put(format!("{}.{}", self.section, normal(words)), value, out);
            return true;
        }
        if let Some((name, value)) = line.rsplit_once(':')
            && let Some(value) = number(value.trim())
        {
            self.put(format!("{}.{}", self.section, name.trim()), value, out);
            return true;
        }
        false
    }

    fn put(&mut self, name: String, value: f64, out: &mut Out<'_>) {
        let full = |report: &Report| report.order.first() == Some(&name) || report.order.len() >= MAX_COUNTERS;
        if self.now.as_ref().is_some_and(full) {
            self.end(out);
        }
        let report = self.now.get_or_insert_with(|| {
            let (t, dt) = self.times.begin(out);
            let told = self.times.are_told() || out.hints().interval_s.is_some();
            Report { t, dt: dt.filter(|_| told), order: Vec::new(), values: FxHashMap::default() }
        });
        // A protocol of both IP versions has its counters twice.
        if let std::collections::hash_map::Entry::Vacant(entry) = report.values.entry(name) {
            report.order.push(entry.key().clone());
            entry.insert(value);
        }
    }

    /// A report is complete.
    fn end(&mut self, out: &mut Out<'_>) {
        let Some(now) = self.now.take() else { return };
        match &self.before {
            None => {
                if let Some(established) = established(&now) {
                    out.since_boot(false);
                    out.row(&tcp::TABLE, now.t, None).f64(tcp::established, established);
                }
                out.since_boot(true);
                for name in now.order.iter().filter(|name| !STATES.contains(&name.as_str())) {
                    write_metric(&now, name, now.values.get(name).copied(), "", out);
                }
            }
            Some(before) => {
                out.since_boot(false);
                rates(&now, before, out);
            }
        }
        self.before = Some(now);
    }
}

fn established(report: &Report) -> Option<f64> {
    ESTABLISHED.iter().find_map(|name| report.values.get(*name).copied())
}

fn rates(now: &Report, before: &Report, out: &mut Out<'_>) {
    let rate = |name: &str| {
        let (now_is, was) = (now.values.get(name)?, before.values.get(name)?);
        let seconds = now.dt.filter(|dt| *dt > 0.0)?;
        Some((now_is - was) / seconds).filter(|rate| *rate >= 0.0)
    };
    let tables: [&'static Table; 2] = [&tcp::TABLE, &udp::TABLE];
    for table in tables {
        let known: Vec<_> =
            COUNTERS.iter().filter(|(name, of, _)| of.id == table.id && now.values.contains_key(*name)).collect();
        let established = established(now).filter(|_| table.id == tcp::TABLE.id);
        if known.is_empty() && established.is_none() {
            continue;
        }
        let mut row = out.row(table, now.t, now.dt);
        for (name, _, place) in known {
            row.f64(*place, rate(name));
        }
        if let Some(mut row) = row.typed(&tcp::TABLE) {
            row.f64(tcp::established, established);
        }
    }
    for name in &now.order {
        let in_table = COUNTERS.iter().any(|(n, ..)| n == name) || ESTABLISHED.contains(&name.as_str());
        if !in_table && !STATES.contains(&name.as_str()) {
            write_metric(now, name, rate(name), "/s", out);
        }
    }
}

fn write_metric(report: &Report, name: &str, value: Option<f64>, unit: &str, out: &mut Out<'_>) {
    let mut row = out.row(&metric::TABLE, report.t, report.dt);
    row.str(metric::name, format!("netstat-s.{name}").as_str()).f64(metric::value, value);
    row.str(metric::unit, Some(unit).filter(|u| !u.is_empty()));
}

/// The words without what is in brackets and without plurals.
fn normal(words: &str) -> String {
    let mut text = String::with_capacity(words.len());
    let mut depth = 0u32;
    for word in words.split_ascii_whitespace() {
        let opens = word.matches('(').count() as u32;
        let closes = word.matches(')').count() as u32;
        let inside = depth > 0 || opens > 0;
        depth = depth.saturating_add(opens).saturating_sub(closes);
        if inside {
            continue;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        let plural = word.len() > 3 && word.ends_with('s') && !word.ends_with("ss");
        text.push_str(if plural { &word[..word.len() - 1] } else { word });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_compared_without_plurals_and_brackets() {
        assert_eq!(normal("data packets (345 bytes) retransmitted"), "data packet retransmitted");
        assert_eq!(normal("1 packet sent"), "1 packet sent");
        assert_eq!(normal("connections closed (including 3 drops)"), "connection closed");
        assert_eq!(normal("active connections openings"), "active connection opening");
    }
}
