//! `ss` of iproute2: sockets with their queues, what the kernel knows about each TCP connection (`-i`), and the
//! summary (`-s`).
//!
//! Each connection's figures are metrics with its two addresses as labels. Counters run from the begin of the
//! connection; rates follow where the time between two outputs is known. `send_rate` is what the window and the
//! round-trip time allow, not what was sent. Of a listening socket the two queues are the accept queue and its limit.
//! The congestion controls in use are facts. The summary's figures are the kernel's own, so those of TCP and UDP have
//! their tables. Names of sockets (inode, cookie, user), timers and options that are in use are not kept.

mod info;

use std::collections::BTreeSet;

use fenxi_model::{
    Micros,
    catalog::{metric, tcp, udp},
};

use self::info::Info;
use super::counters::Counters;
use crate::{
    Family, Format, Head, Input, Out, Sure,
    generic::labels::Labels,
    next_word, number,
    procps::moments::{Moments, is_prompt},
    stamp,
};

/// Importer for ss of iproute2.
pub static FORMAT: Format = Format {
    name: "ss",
    summary: "ss of iproute2: sockets with their queues, TCP internals of each connection (-i), memory (-m), -s",
    family: Family::Linux,
    tables: &[&metric::TABLE, &tcp::TABLE, &udp::TABLE],
    example: "\
State Recv-Q Send-Q Local Address:Port  Peer Address:Port Process
ESTAB 0      0          10.0.0.5:60158     10.0.0.6:5432
	 cubic wscale:7,7 rto:204 rtt:0.598/1.029 mss:1448 cwnd:18 bytes_sent:2752549 delivered:67 minrtt:0.005
",
    sniff,
    read,
};

/// Congestion controls that are kept as facts.
const MOST_CONTROLS: usize = 64;
const STATES: &[&str] = &[
    "ESTAB",
    "SYN-SENT",
    "SYN-RECV",
    "FIN-WAIT-1",
    "FIN-WAIT-2",
    "TIME-WAIT",
    "UNCONN",
    "CLOSE-WAIT",
    "LAST-ACK",
    "LISTEN",
    "CLOSING",
    "CLOSED",
    "NEW-SYN-RECV",
    "BOUND-INACTIVE",
];
const KINDS: &[&str] = &[
    "tcp", "udp", "raw", "u_str", "u_dgr", "u_seq", "nl", "p_raw", "p_dgr", "icmp6", "sctp", "dccp", "tipc", "v_str",
    "v_dgr", "xdp", "mptcp", "ti_st", "ti_dg", "ti_sq", "ti_rd",
];

fn sniff(head: &Head<'_>) -> Sure {
    let mut socket = false;
    for line in head.lines().take(60) {
        let rest = stamp(line).map_or(line, |stamp| stamp.rest);
        if is_header(rest) || summary(rest).is_some() {
            return Sure::Certain;
        }
        if Info::is_own(rest) && socket {
            return Sure::Certain;
        }
        let found = Socket::read(rest);
        if found.as_ref().is_some_and(|found| Info::is_own(found.rest)) {
            return Sure::Certain;
        }
        socket = found.is_some();
    }
    Sure::No
}

fn is_header(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let begins = matches!(words.next(), Some("State" | "Netid" | "Recv-Q"));
    begins && line.contains("Recv-Q") && line.contains("Send-Q") && line.contains("Local Address:Port")
}

/// `TCP:   10 (estab 6, closed 2, orphaned 0, timewait 2)`: the parts of the summary.
fn summary(line: &str) -> Option<Vec<(&str, f64)>> {
    let (all, parts) = line.strip_prefix("TCP:")?.split_once('(')?;
    number(all.trim())?;
    let parts: Option<Vec<_>> = parts.strip_suffix(')')?.split(',').map(summary_part).collect();
    parts.filter(|parts| parts.first().is_some_and(|(name, _)| *name == "estab"))
}

/// `estab 6`; old versions print sockets in time-wait of both kinds: `timewait 2/0`.
fn summary_part(part: &str) -> Option<(&str, f64)> {
    let (name, value) = part.trim().split_once(' ')?;
    Some((name, number(value.split('/').next()?)?))
}

/// The line of one socket.
struct Socket<'l> {
    kind: Option<&'l str>,
    state: Option<&'l str>,
    receive: f64,
    send: f64,
    local: String,
    peer: String,
    /// The text after the addresses.
    rest: &'l str,
}

impl<'l> Socket<'l> {
    /// Reads `tcp ESTAB 0 0 10.0.0.5:22 10.0.0.6:50000 users:(...)`; the kind and the state may be missing.
    fn read(line: &'l str) -> Option<Socket<'l>> {
        let mut rest = line;
        let mut next = || next_word(&mut rest);
        let mut word = next()?;
        let kind = KINDS.contains(&word).then_some(word);
        if kind.is_some() {
            word = next()?;
        }
        let state = STATES.contains(&word).then_some(word);
        if state.is_some() {
            word = next()?;
        }
        let (receive, send) = (number(word)?, number(next()?)?);
        let (local, peer) = (next()?, next()?);
        let (local, peer) = if kind.is_some_and(|kind| kind.starts_with("u_")) {
            // Those of one machine have a path and an inode each.
            let (path, inode) = (next()?, next()?);
            (format!("{local}:{peer}"), format!("{path}:{inode}"))
        } else {
            (local.to_owned(), peer.to_owned())
        };
        // Anything else has numbers at these places too.
        let sure = state.is_some() || local.contains(':') && peer.contains(':');
        sure.then_some(Socket { kind, state, receive, send, local, peer, rest })
    }

    fn labels(&self) -> Labels {
        let mut labels = Labels::default();
        labels.push("kind", self.kind.unwrap_or(""));
        labels.push("local", &self.local);
        labels.push("peer", &self.peer);
        if let Some((name, pid)) = owner(self.rest) {
            labels.push("process", name);
            labels.push("pid", pid);
        }
        labels
    }
}

/// The first owner in `users:(("iperf3",pid=27545,fd=4))`.
fn owner(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once("users:((\"")?.1.split_once('"')?;
    let pid = rest.strip_prefix(",pid=").or_else(|| rest.strip_prefix(','))?;
    Some((name, pid.split([',', ')']).next()?)).filter(|(_, pid)| pid.bytes().all(|b| b.is_ascii_digit()))
}

/// The text without the owners, whose names may have blanks.
fn without_owners(text: &str) -> String {
    match text.split_once("users:((") {
        Some((before, rest)) => format!("{before} {}", rest.split_once("))").map_or("", |(_, after)| after)),
        None => text.to_owned(),
    }
}

struct Reader {
    moments: Moments,
    counters: Counters,
    /// The time of the output at hand.
    now: Option<(Micros, Option<f64>)>,
    /// The first socket of this output: when it comes again, so does the output.
    first: Option<String>,
    /// Labels of the socket whose figures may follow.
    current: Option<String>,
    /// Congestion controls that were written as facts.
    controls: BTreeSet<String>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        moments: Moments::new(out),
        counters: Counters::default(),
        now: None,
        first: None,
        current: None,
        controls: BTreeSet::new(),
    };
    input.each_line(|number, line| {
        let line = line.trim_end();
        if line.trim_start().is_empty() || reader.line(number, line, out) {
            return;
        }
        match stamp(line).map(|stamp| stamp.rest.to_owned()) {
            Some(rest) => {
                reader.moments.take(line, out);
                if rest.is_empty() {
                    reader.end();
                } else if !reader.line(number, &rest, out) {
                    out.unknown(number, line, "no line of ss");
                }
            }
            None if is_prompt(line, "ss") => {}
            None => out.unknown(number, line, "no line of ss"),
        }
    });
}

impl Reader {
    /// The output is complete.
    fn end(&mut self) {
        self.now = None;
        self.current = None;
        self.first = None;
    }

    fn now(&mut self, out: &mut Out<'_>) -> (Micros, Option<f64>) {
        *self.now.get_or_insert_with(|| self.moments.next(out))
    }

    fn line(&mut self, number: u64, line: &str, out: &mut Out<'_>) -> bool {
        let text = line.trim_start();
        if is_header(text) {
            self.end();
            return true;
        }
        if self.summary(text, out) {
            return true;
        }
        let indented = line.starts_with([' ', '\t']);
        if (indented || Info::is_own(text)) && Socket::read(text).is_none() {
            let Some(labels) = self.current.clone() else { return false };
            let mut info = Info::default();
            info.read(text);
            self.figures(number, &labels, info, out);
            return true;
        }
        let Some(socket) = Socket::read(text) else { return false };
        self.socket(number, &socket, out);
        true
    }

    fn socket(&mut self, number: u64, socket: &Socket<'_>, out: &mut Out<'_>) {
        let labels = socket.labels().text().to_owned();
        if self.first.as_ref() == Some(&labels) {
            self.end();
        }
        self.first.get_or_insert_with(|| labels.clone());
        let (t, dt) = self.now(out);
        let names = match socket.state {
            Some("LISTEN") => [("ss.accept_queue", ""), ("ss.accept_queue_limit", "")],
            _ => [("ss.receive_queue", "B"), ("ss.send_queue", "B")],
        };
        for ((name, unit), value) in names.into_iter().zip([socket.receive, socket.send]) {
            out.metric(t, dt, name, &labels, value, unit);
        }
        let rest = without_owners(socket.rest);
        // The figures follow on the same line (`-O`) or on the next one.
        let mut info = Info::default();
        info.read(&rest);
        self.current = Some(labels.clone());
        self.figures(number, &labels, info, out);
    }

    fn figures(&mut self, number: u64, labels: &str, info: Info, out: &mut Out<'_>) {
        let (t, dt) = self.now(out);
        if let Some(control) = info.congestion
            && self.controls.len() < MOST_CONTROLS
            && self.controls.insert(control.clone())
        {
            out.fact("tcp", "congestion control in use", &control);
        }
        for figure in info.figures {
            let name = format!("ss.{}", figure.name);
            out.metric(t, dt, &name, labels, figure.value, figure.unit);
            if !figure.counts {
                continue;
            }
            let rate = self.counters.rate(&format!("{labels} {name}"), t, figure.value);
            if let Some(rate) = rate.filter(|_| self.moments.is_measured()) {
                let unit = match figure.unit {
                    "B" => "B/s",
                    "ms" => "ms/s",
                    _ => "/s",
                };
                out.metric(t, dt, &format!("{name}_per_s"), labels, rate, unit);
            }
        }
        if !info.unknown.is_empty() {
            out.unknown(number, &info.unknown.join(" "), "no figure of a connection");
        }
    }

    /// A line of `ss -s`.
    fn summary(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if let Some(total) = line.strip_prefix("Total:") {
            let Some(total) = total.split_ascii_whitespace().next().and_then(number) else { return false };
            self.end();
            let (t, dt) = self.now(out);
            out.metric(t, dt, "ss.sockets", "", total, "");
            return true;
        }
        if let Some(parts) = summary(line) {
            let (t, dt) = self.now(out);
            let of = |name: &str| parts.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
            out.row(&tcp::TABLE, t, dt).f64(tcp::established, of("estab")).f64(tcp::time_wait, of("timewait"));
            for (name, value) in parts.iter().filter(|(name, _)| !matches!(*name, "estab" | "timewait")) {
                out.metric(t, dt, &format!("ss.tcp_{name}"), "", *value, "");
            }
            return true;
        }
        if line.starts_with("Transport") && line.contains("Total") {
            return true;
        }
        let mut words = line.split_ascii_whitespace();
        let Some(kind @ ("RAW" | "UDP" | "TCP" | "INET" | "FRAG" | "*")) = words.next() else { return false };
        let values: Vec<Option<f64>> = words.map(|word| if word == "-" { None } else { number(word) }).collect();
        if values.len() != 3 {
            return false;
        }
        let (t, dt) = self.now(out);
        match (kind, values[0]) {
            ("UDP", Some(total)) => {
                out.row(&udp::TABLE, t, dt).f64(udp::sockets, total);
            }
            ("*", _) => {}
            _ => {
                let labels = Labels::of("transport", &kind.to_lowercase());
                out.metric(t, dt, "ss.transport_sockets", labels.text(), values[0], "");
            }
        }
        true
    }
}

#[cfg(test)]
mod tests;
