//! The JSON of iperf3: a document, or a line for each event.

use fenxi_model::Micros;
use serde::de::DeserializeSeed as _;
use serde_json::{Map, Value};

use super::report::{Interval, Part, Summary};
use crate::{
    Input, Out, Relative,
    json::{Bounded, MOST_VALUES},
    load::{
        names::{self, Results},
        tree::{figure, objects, text},
    },
};

/// Documents beyond this are not held in memory.
const MAX_BYTES: usize = 256 << 20;

type Object = Map<String, Value>;

#[derive(Default)]
struct Reader {
    tests: u32,
    begin: Option<Micros>,
    /// When the client began, in whose report this is.
    origin: Option<Micros>,
    relative: Option<Relative>,
    is_server: bool,
    omit_s: f64,
    udp: bool,
}

/// Reads the documents that are left in `input`; a server may print several. In a client's report, which began at `origin`, what
/// follows the server's is the client's.
pub fn read(input: &mut Input<'_>, generator: &'static str, origin: Option<Micros>, out: &mut Out<'_>) {
    let Some(all) = input.whole(MAX_BYTES) else {
        out.note(None, "the JSON document is too long");
        return;
    };
    let begin = all.find('{').unwrap_or(all.len());
    let mut reader = Reader { origin, ..Reader::default() };
    let mut documents = serde_json::Deserializer::from_str(all.get(begin..).unwrap_or(""));
    while documents.end().is_err() {
        let Ok(Value::Object(document)) = Bounded::new(&mut { MOST_VALUES }).deserialize(&mut documents) else {
            if generator == "iperf3" {
                out.note(None, "the JSON document is not complete");
            }
            break;
        };
        reader.document(&document, generator, out);
    }
}

impl Reader {
    fn document(&mut self, document: &Object, generator: &'static str, out: &mut Out<'_>) {
        let data = document.get("data").and_then(Value::as_object);
        match (text(document, "event"), data) {
            ("start", Some(start)) => self.start(start, out),
            ("interval", Some(interval)) => self.interval(interval, generator, out),
            ("end", Some(end)) => self.end(end, generator, out),
            ("error", _) => out.fact("load", "iperf3 message", text(document, "data")),
            ("server_output_json" | "server_output_text", _) => {}
            _ => self.whole(document, generator, out),
        }
    }

    fn whole(&mut self, document: &Object, generator: &'static str, out: &mut Out<'_>) {
        let of = |key: &str| document.get(key).and_then(Value::as_object);
        let Some(start) = of("start") else {
            out.note(None, "a JSON document that is none of iperf3");
            return;
        };
        self.start(start, out);
        for interval in objects(document, "intervals") {
            self.interval(interval, generator, out);
        }
        if let Some(end) = of("end").filter(|end| !end.is_empty()) {
            self.end(end, generator, out);
        }
        if !text(document, "error").is_empty() {
            out.fact("load", "iperf3 message", text(document, "error"));
        }
        if let Some(server) = of("server_output_json").filter(|_| generator == "iperf3") {
            Reader { origin: self.begin, ..Reader::default() }.whole(server, "iperf3 server", out);
        }
    }

    fn start(&mut self, start: &Object, out: &mut Out<'_>) {
        let ms = figure(start, "timestamp/timemillisecs").or(figure(start, "timestamp/timesecs").map(|s| s * 1e3));
        let begin = ms.filter(|ms| (0.0..1e14).contains(ms)).map(|ms| Micros((ms * 1e3) as i64));
        self.begin = self.origin.or(begin);
        self.is_server = start.contains_key("accepted_connection");
        self.omit_s = figure(start, "test_start/omit").unwrap_or(0.0);
        self.udp = text(start, "test_start/protocol") == "UDP";
        if self.origin.is_some() {
            return;
        }
        out.fact("load", "iperf3", text(start, "version").trim_start_matches("iperf "));
        if !text(start, "test_start/protocol").is_empty() {
            out.fact("load", "iperf3 protocol", text(start, "test_start/protocol"));
        }
    }

    fn interval(&mut self, interval: &Object, generator: &'static str, out: &mut Out<'_>) {
        let reverse = interval.get("sum_bidir_reverse").and_then(Value::as_object);
        let mut gathered = Interval::default();
        for stream in objects(interval, "streams") {
            let sender = stream.get("sender").and_then(Value::as_bool).unwrap_or(true);
            let direction = match (reverse, sender != self.is_server) {
                (None, _) => "",
                (Some(_), true) => "forward",
                (Some(_), false) => "reverse",
            };
            let id = figure(stream, "socket").map_or("?".to_owned(), |n| n.to_string());
            gathered.add(Part { stream: Some(id), ..part(stream, direction) });
        }
        if let Some(sum) = interval.get("sum").and_then(Value::as_object) {
            gathered.add(part(sum, if reverse.is_some() { "forward" } else { "" }));
        }
        if let Some(sum) = reverse {
            gathered.add(part(sum, "reverse"));
        }
        let Some(end) = gathered.end() else { return };
        let omitted = if gathered.is_omitted() { 0.0 } else { self.omit_s };
        let t = match self.begin {
            Some(begin) => Micros(begin.0.saturating_add(((end + omitted) * 1e6).round() as i64)),
            None => self.relative.get_or_insert_with(|| Relative::elapsed(out)).after(end + omitted),
        };
        gathered.write(t, generator, out);
    }

    fn end(&mut self, end: &Object, generator: &'static str, out: &mut Out<'_>) {
        if generator != "iperf3" {
            return;
        }
        self.tests = self.tests.saturating_add(1);
        let mut results = Results::nth(self.tests);
        let bidir = end.contains_key("sum_sent_bidir_reverse");
        let mut summary = Summary::default();
        for (key, side, direction) in [
            ("sum_sent", "sender", "forward"),
            ("sum_received", "receiver", "forward"),
            ("sum_sent_bidir_reverse", "sender", "reverse"),
            ("sum_received_bidir_reverse", "receiver", "reverse"),
        ] {
            let Some(sum) = end.get(key).and_then(Value::as_object) else { continue };
            let part = part(sum, if bidir { direction } else { "" });
            // A server does not know what the other side counted, and writes 0.
            if !(self.is_server && part.bytes == Some(0.0)) {
                let udp = Part { datagrams: part.datagrams.or(self.udp.then_some(0.0)), ..part };
                summary.add(side, udp);
            }
        }
        let old = end.get("sum").and_then(Value::as_object).filter(|_| summary.is_empty());
        if let Some(sum) = old {
            // Before 3.7: bytes of the sender, losses of the receiver.
            let part = part(sum, "");
            results.of(out, names::TRANSFER_BYTES_PER_S, "sender", part.bytes_per_s);
            results.set(out, names::ELAPSED, part.end - part.begin);
            results.set(out, names::JITTER, part.jitter_ms);
            results.set(out, names::LOST_SHARE, figure(sum, "lost_percent"));
        }
        summary.write(&mut results, out);
        results.set(out, names::CPU_LOCAL, figure(end, "cpu_utilization_percent/host_total"));
        // A server does not know its client's.
        let remote = figure(end, "cpu_utilization_percent/remote_total").filter(|_| !self.is_server);
        results.set(out, names::CPU_REMOTE, remote);
    }
}

fn part(object: &Object, direction: &'static str) -> Part {
    let count = |key: &str| figure(object, key);
    let received = object.contains_key("jitter_ms");
    let omitted = object.get("omitted").and_then(Value::as_bool).unwrap_or(false);
    Part {
        direction,
        begin: count("start").unwrap_or(0.0),
        end: count("end").unwrap_or(0.0),
        bytes: count("bytes"),
        bytes_per_s: count("bits_per_second").map(|bits| bits / 8.0),
        retransmits: count("retransmits"),
        window: count("snd_cwnd"),
        rtt_ms: count("rtt").map(|us| us / 1e3),
        jitter_ms: count("jitter_ms"),
        lost: count("lost_packets").filter(|_| received),
        datagrams: count("packets"),
        omitted,
        stream: None,
    }
}
