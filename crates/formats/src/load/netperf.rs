//! `netperf`: the classic tables of STREAM, RR and CRR tests, `-k` (keyword=value), omni tests, and `-D` interim results.
//!
//! Throughput is payload: of a STREAM test bytes per second (`-f` scales what is printed; its `K`, `M` and `G` with bytes are
//! powers of 1024, bits are thousands), of a request/response test transactions per second. Latencies of `-k` are microseconds.
//! In UDP_STREAM the sender's figure may be above what arrived: the receiver's is the result.

use fenxi_model::{Micros, catalog::load};

use super::{
    names::{self, Results},
    repeats::Repeats,
};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// Importer for netperf.
pub static FORMAT: Format = Format {
    name: "netperf",
    summary: "netperf: STREAM, MAERTS, RR, CRR, UDP_STREAM, omni, -k, -D",
    family: Family::Load,
    tables: &[&load::TABLE],
    example: "\
MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET : demo
Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    10^6bits/sec

131072  16384  16384    1.00     16117.56
",
    sniff,
    read,
};

/// `MIGRATED TCP STREAM TEST from … to 10.0.0.2 () port 0 AF_INET : demo`: the test and its peer.
fn banner(line: &str) -> Option<(&str, &str)> {
    let (test, rest) = line.split_once(" TEST from ")?;
    let (_, other) = rest.split_once(" to ")?;
    other.contains(" port ").then(|| (test.trim_start_matches("MIGRATED "), other.split(' ').next().unwrap_or("")))
}

fn sniff(head: &Head<'_>) -> Sure {
    let keys = ["THROUGHPUT=", "THROUGHPUT_UNITS="];
    let keyed = keys.iter().all(|key| head.any(|l| l.starts_with(key)));
    Sure::Certain.when(keyed || head.any(|l| banner(l).is_some()))
}

/// Headers have three or four lines.
const LONGEST: usize = 2048;

#[derive(Default)]
struct Reader {
    repeats: Repeats,
    results: Results,
    test: String,
    /// Lines of the table's header: the last has the units.
    units: String,
    header: String,
    /// A table's line of figures was read.
    rows: u32,
    /// Values of `-k`.
    throughput: Option<f64>,
    /// Names of columns of `-o`.
    csv: Vec<String>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader { results: Results::nth(1), ..Reader::default() };
    input.each_line(|number, text| {
        let line = text.trim();
        if !line.is_empty() && !reader.line(line, out) {
            out.unknown(number, line, "no line of netperf");
        }
    });
}

impl Reader {
    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if let Some((test, _)) = banner(line) {
            let results = self.repeats.next(test);
            *self = Reader {
                repeats: std::mem::take(&mut self.repeats),
                results,
                test: test.to_owned(),
                ..Reader::default()
            };
            return true;
        }
        if let Some((key, value)) = line.split_once('=').filter(|(key, _)| is_key(key)) {
            self.keyword(key, value, out);
            return true;
        }
        if let Some(rest) = line.strip_prefix("Interim result: ") {
            return self.interim(rest, out);
        }
        if line.contains("Throughput") && line.contains(',') {
            self.csv = line.split(',').map(str::to_owned).collect();
            return true;
        }
        if !self.csv.is_empty() {
            return self.values(line, out);
        }
        let figures: Vec<Option<f64>> = line.split_ascii_whitespace().map(number).collect();
        if figures.first().is_some_and(|f| f.is_none()) {
            if self.header.len() > LONGEST
                || line.contains("error")
                || line.starts_with("netperf")
                || line.starts_with("establish")
            {
                return false;
            }
            self.header.push_str(line);
            self.header.push('\n');
            line.clone_into(&mut self.units);
            return true;
        }
        self.rows += 1;
        let omni = self.header.contains("Throughput Throughput");
        if omni { self.omni(line, out) } else { self.table(&figures, out) }
    }

    /// A line of figures under a classic header.
    fn table(&mut self, figures: &[Option<f64>], out: &mut Out<'_>) -> bool {
        let test = self.test.clone();
        let request = self.header.contains("Trans.");
        let udp = self.header.contains("Okay Errors");
        // Second lines have what the other side's sockets are, or what it received.
        if self.rows == 2 && request && figures.len() == 2 {
            return true;
        }
        let figure = |i: usize| figures.get(i).copied().flatten();
        let (elapsed, rate, cpu) = match (request, udp, self.rows) {
            (true, _, 1) => (figure(4), figure(5), 6),
            (false, true, 1) => (figure(2), None, 6),
            (false, true, 2) => (figure(1), figure(3), 4),
            (false, false, 1) => (figure(3), figure(4), 5),
            _ => return false,
        };
        if rate.is_none() && !udp || elapsed.is_none() {
            return false;
        }
        let results = &mut self.results;
        if udp && self.rows == 1 {
            results.of(out, names::ELAPSED, &test, elapsed);
            results.of(out, names::TRANSACTIONS, &test, figure(3));
            results.of(out, names::ERRORS, &test, figure(4));
            let scale = scale(&self.units);
            let sent = figure(5).zip(scale).map(|(v, scale)| v * scale);
            results.of(out, names::TRANSFER_BYTES_PER_S, &format!("{test} sender"), sent);
            return sent.is_some();
        }
        if request {
            results.of(out, names::THROUGHPUT, &test, rate);
        } else {
            let Some(scale) = scale(&self.units) else { return false };
            results.of(out, names::TRANSFER_BYTES_PER_S, &test, rate.map(|v| v * scale));
        }
        if !udp {
            results.of(out, names::ELAPSED, &test, elapsed);
        }
        if self.header.contains("Utilization") || self.header.contains("S.dem") {
            // Of a test with -c alone the other one is -1.
            let known = |i: usize| figure(i).filter(|v| *v >= 0.0);
            results.of(out, names::CPU_LOCAL, &test, known(cpu));
            results.of(out, names::CPU_REMOTE, &test, known(cpu + 1));
            // Time of CPUs for each KB or transaction.
            for (side, at) in [("local", cpu + 2), ("remote", cpu + 3)] {
                let name = format!("netperf.service_demand_{side}");
                results.named(out, &name, &test, known(at), if request { "us" } else { "us/KB" }, "lower");
            }
        }
        true
    }

    /// A line of an omni test's table: the last two words are throughput and its unit.
    fn omni(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [.., elapsed, rate, unit] = words[..] else { return false };
        let test = self.test.clone();
        self.results.of(out, names::ELAPSED, &test, number(elapsed));
        self.write_rate(number(rate), unit, out)
    }

    fn write_rate(&mut self, rate: Option<f64>, unit: &str, out: &mut Out<'_>) -> bool {
        if unit == "Trans/s" {
            self.results.of(out, names::THROUGHPUT, &self.test, rate);
        } else {
            let Some(scale) = scale(unit) else { return false };
            self.results.of(out, names::TRANSFER_BYTES_PER_S, &self.test, rate.map(|v| v * scale));
        }
        rate.is_some()
    }

    /// `THROUGHPUT=63811.09`
    fn keyword(&mut self, key: &str, text: &str, out: &mut Out<'_>) {
        let value = number(text);
        let test = self.test.clone();
        let ms = value.map(|us| us / 1e3);
        // -1 is what was not measured.
        let known = value.filter(|v| *v >= 0.0);
        let results = &mut self.results;
        match key {
            "THROUGHPUT" => self.throughput = value,
            "THROUGHPUT_UNITS" => {
                let rate = self.throughput;
                if !self.write_rate(rate, text, out) {
                    out.note(None, &format!("throughput in an unknown unit: {text}"));
                }
            }
            "ELAPSED_TIME" => results.of(out, names::ELAPSED, &test, value),
            "MEAN_LATENCY" => results.of(out, names::LATENCY_MEAN, &test, ms),
            "STDDEV_LATENCY" => results.of(out, names::LATENCY_SD, &test, ms),
            "MIN_LATENCY" => results.of(out, names::LATENCY_MIN, &test, ms),
            "MAX_LATENCY" => results.of(out, names::LATENCY_MAX, &test, ms),
            "LOCAL_TRANSPORT_RETRANS" => results.of(out, names::RETRANSMITS, &test, known),
            "LOCAL_CPU_UTIL" => results.of(out, names::CPU_LOCAL, &test, known),
            "REMOTE_CPU_UTIL" => results.of(out, names::CPU_REMOTE, &test, known),
            _ => {
                let percent = key.strip_prefix('P').and_then(|k| number(k.strip_suffix("_LATENCY")?));
                match (percent, value) {
                    (Some(percent), _) => results.percentile(out, percent, &test, ms),
                    (None, Some(value)) => {
                        let labels =
                            if test.is_empty() { String::new() } else { format!("test={}", test.replace(',', "_")) };
                        out.metric(None, None, &format!("netperf.{key}"), &labels, value, "");
                    }
                    (None, None) if text.is_empty() || text == "Deprecated" || text.contains("nan") => {}
                    (None, None) => out.fact("load", &format!("netperf {key}"), text.trim_matches('"')),
                }
            }
        }
    }

    /// `13532.54 10^6bits/s over 0.385 seconds ending at 1795407983.205`
    fn interim(&mut self, rest: &str, out: &mut Out<'_>) -> bool {
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        let [rate, unit, "over", seconds, "seconds", "ending", "at", end] = words[..] else { return false };
        let (Some(rate), Some(seconds), Some(end)) = (number(rate), number(seconds), number(end)) else { return false };
        let t = Micros((end.clamp(0.0, 1e11) * 1e6).round() as i64);
        let mut row = out.row(&load::TABLE, t, seconds);
        row.str(load::generator, "netperf").str(load::operation, self.test.as_str());
        match (unit, scale(unit)) {
            ("Trans/s", _) => row.f64(load::transactions_per_s, rate),
            (_, Some(scale)) => row.f64(load::transfer_bytes_per_s, rate * scale),
            _ => return false,
        };
        true
    }

    /// A line under the names of `-o`.
    fn values(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let cells: Vec<&str> = line.split(',').collect();
        let names = std::mem::take(&mut self.csv);
        if cells.len() != names.len() {
            return false;
        }
        for (name, cell) in names.iter().zip(cells) {
            match name.as_str() {
                "Throughput" => self.keyword("THROUGHPUT", cell, out),
                "Throughput Units" => self.keyword("THROUGHPUT_UNITS", cell, out),
                "Elapsed Time (sec)" => self.keyword("ELAPSED_TIME", cell, out),
                _ => out.metric(None, None, &format!("netperf.{name}"), "", number(cell), ""),
            }
        }
        true
    }
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

/// Bytes per second of a unit that ends a header's last line: `10^6bits/sec`, `MBytes  /s`, `KBytes/s`.
fn scale(units: &str) -> Option<f64> {
    let bits = [("10^3bits", 125.0), ("10^6bits", 125e3), ("10^9bits", 125e6)];
    let bytes = [("KBytes", 1024.0), ("MBytes", 1024.0 * 1024.0), ("GBytes", 1024.0 * 1024.0 * 1024.0)];
    bits.iter().chain(&bytes).find(|(name, _)| units.contains(name)).map(|(_, scale)| *scale)
}
