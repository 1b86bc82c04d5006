//! `uperf`: the report, with `-a`, `-t`, `-f`, `-g`, `-T`, and the counts with times of `-R`.
//!
//! Data is in powers of 1024, throughput in bits and powers of 1000. While it runs, uperf writes each transaction's line again
//! and again; the last one counts. `-R` has counts and moments, which give a row for each interval. CPU times that it did
//! not collect are printed as zeros and left out.

use fenxi_model::{Micros, catalog::load};
use rustc_hash::FxHashMap;

use super::{
    names::{self, Results},
    units::milliseconds,
};
use crate::{Family, Format, Head, Input, Out, Sure, number, scaled};

/// Importer for uperf.
pub static FORMAT: Format = Format {
    name: "uperf",
    summary: "uperf: report with -a, -t, -f, -g, -T, and -R",
    family: Family::Load,
    tables: &[&load::TABLE],
    example: "\
Starting 2 threads running profile:reqresp ...   0.00 seconds
Total     27.48MB /   6.32(s) =    36.48Mb/s       50670op/s
",
    sniff,
    read,
};

/// `Starting 2 threads running profile:stream ...   0.00 seconds`
fn starting(line: &str) -> Option<(f64, &str)> {
    let (count, rest) = line.strip_prefix("Starting ")?.split_once(' ')?;
    let (_, rest) = rest.split_once(" running profile:")?;
    Some((number(count)?, rest.split_once(" ...")?.0))
}

/// `timestamp_ms:1795427185373.1284 name:Txn2 nr_bytes:1210318848 nr_ops:147744`
fn raw(line: &str) -> Option<(Micros, &str, f64, f64)> {
    let mut words = line.split_ascii_whitespace();
    let mut value = |key: &str| words.next()?.strip_prefix(key)?.strip_prefix(':');
    let (ms, name) = (number(value("timestamp_ms")?)?, value("name")?);
    let (bytes, operations) = (number(value("nr_bytes")?)?, number(value("nr_ops")?)?);
    Some((Micros((ms * 1e3).round() as i64), name, bytes, operations))
}

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.any(|line| starting(line).is_some() || raw(line).is_some()))
}

/// A line of `Total`, of a transaction, a group or a thread.
#[derive(Clone, Copy)]
struct Sum {
    bytes: Option<f64>,
    seconds: f64,
    bytes_per_s: Option<f64>,
    per_s: f64,
}

/// `Total     27.48MB /   6.32(s) =    36.48Mb/s       50670op/s`
fn sum(line: &str) -> Option<(&str, Sum)> {
    let (left, rest) = line.split_once('/')?;
    let (seconds, rest) = rest.split_once("(s)")?;
    let (name, bytes) = left.trim().split_once(' ')?;
    let mut words = rest.trim_start().strip_prefix('=')?.split_ascii_whitespace();
    let (bits, per_s) = (words.next()?, words.next()?);
    let sum = Sum {
        bytes: scaled(bytes.trim(), 1024.0),
        seconds: number(seconds.trim())?,
        bytes_per_s: scaled(bits.trim_end_matches("/s"), 1000.0).map(|bits| bits / 8.0),
        per_s: number(per_s.strip_suffix("op/s")?)?,
    };
    words.next().is_none().then_some((name, sum))
}

/// The lines under a title.
#[derive(Clone, Copy, PartialEq)]
enum Section {
    None,
    /// Latencies of transactions or flowops, and what counts them.
    Details,
    Netstat,
    Hosts,
}

struct Reader {
    section: Section,
    results: Results,
    /// The last line of each transaction.
    transactions: Vec<(String, Sum)>,
    /// Counts so far, of `-R`.
    before: FxHashMap<String, (Micros, f64, f64)>,
}

/// Transactions of a profile that are followed.
const MOST: usize = 256;

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        section: Section::None,
        results: Results::default(),
        transactions: Vec::new(),
        before: FxHashMap::default(),
    };
    input.each_line(|number, text| {
        // Lines are written over each other.
        for line in text.split('\r').map(str::trim).filter(|line| !line.is_empty()) {
            if !reader.line(line, out) {
                out.unknown(number, line, "no line of uperf");
            }
        }
    });
    reader.end(out);
}

impl Reader {
    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if line.bytes().all(|b| b == b'-') {
            return true;
        }
        if let Some((threads, profile)) = starting(line) {
            self.end(out);
            self.results.set(out, names::THREADS, threads);
            out.fact("load", "uperf profile", profile);
            return true;
        }
        if let Some(raw) = raw(line) {
            self.raw(raw, out);
            return true;
        }
        if let Some((name, sum)) = sum(line) {
            self.sum(name, sum, out);
            return true;
        }
        let warns = || line.split_once(" Warnings ").is_some_and(|(count, _)| number(count).is_some());
        if line.starts_with("** ") || warns() {
            out.fact("load", "uperf message", line.trim_start_matches(['*', ' ']));
            return true;
        }
        let mut words = line.split_ascii_whitespace();
        let section = match (words.next(), words.next()) {
            (Some("Txn" | "Flowop"), Some("Count")) => Some(Section::Details),
            (Some("Nic"), Some("opkts/s")) => Some(Section::Netstat),
            (Some("Hostname"), Some("Time")) => Some(Section::Hosts),
            (Some("Group" | "Strand"), Some("Details")) | (Some("Netstat"), Some("statistics")) => Some(Section::None),
            (Some("Run"), Some("Statistics")) => Some(Section::None),
            _ => None,
        };
        if let Some(section) = section {
            self.section = section;
            return true;
        }
        match self.section {
            Section::Details => self.details(line, out).is_some(),
            Section::Netstat => self.netstat(line, out).is_some(),
            // How far the figures of the hosts are apart.
            Section::Hosts => line.starts_with("Difference(%)") || self.host(line, out).is_some(),
            Section::None => line.starts_with("Waiting to exchange stats") || line.starts_with("Completed handshake"),
        }
    }

    fn raw(&mut self, (t, name, bytes, operations): (Micros, &str, f64, f64), out: &mut Out<'_>) {
        if name == "Total" {
            self.results.set(out, names::TRANSACTIONS, operations);
            self.results.set(out, names::TRANSFER_BYTES, bytes);
            return;
        }
        if self.before.len() >= MOST {
            self.before.clear();
        }
        let Some((last, was_bytes, was)) = self.before.insert(name.to_owned(), (t, bytes, operations)) else { return };
        let dt = t.seconds_since(last);
        // A transaction that comes again counts anew.
        if dt < 0.001 || operations < was || bytes < was_bytes {
            return;
        }
        let mut row = out.row(&load::TABLE, t, dt);
        row.str(load::generator, "uperf").str(load::operation, name);
        row.f64(load::transactions_per_s, (operations - was) / dt);
        row.f64(load::transfer_bytes_per_s, (bytes - was_bytes) / dt);
    }

    fn sum(&mut self, name: &str, sum: Sum, out: &mut Out<'_>) {
        if name.starts_with("Txn") {
            let most = self.transactions.len() >= MOST;
            match self.transactions.iter_mut().find(|(n, _)| n == name).map(|(_, last)| last) {
                Some(last) => *last = sum,
                None if most => out.note(None, "a transaction beyond those that are followed"),
                None => self.transactions.push((name.to_owned(), sum)),
            }
            return;
        }
        self.write(if name == "Total" { "" } else { name }, sum, out);
    }

    fn write(&mut self, name: &str, sum: Sum, out: &mut Out<'_>) {
        self.results.of(out, names::THROUGHPUT, name, sum.per_s);
        self.results.of(out, names::TRANSFER_BYTES_PER_S, name, sum.bytes_per_s);
        self.results.of(out, names::TRANSFER_BYTES, name, sum.bytes);
        self.results.of(out, names::ELAPSED, name, sum.seconds);
    }

    /// `write             141790     13.23us      0.00ns     10.47ms      4.49us`: mean, CPU, longest, shortest
    fn details(&mut self, line: &str, out: &mut Out<'_>) -> Option<()> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [name, count, mean, cpu, max, min] = words[..] else { return None };
        let count = number(count)?;
        let times = [mean, max, min].map(milliseconds);
        times.iter().all(Option::is_some).then_some(())?;
        let cpu = milliseconds(cpu)?;
        // Here uperf counts transactions from 0, otherwise from 1.
        let shifted = name.strip_prefix("Txn").and_then(|n| n.parse::<u32>().ok()).and_then(|n| n.checked_add(1));
        let shifted = shifted.map(|n| format!("Txn{n}"));
        let name = shifted.as_deref().unwrap_or(name);
        self.results.of(out, names::TRANSACTIONS, name, count);
        if count > 0.0 {
            for (what, ms) in [names::LATENCY_MEAN, names::LATENCY_MAX, names::LATENCY_MIN].into_iter().zip(times) {
                self.results.of(out, what, name, ms);
            }
            self.results.of(out, names::CPU_TIME_PER_OP, name, (cpu > 0.0).then_some(cpu / 1e3));
        }
        Some(())
    }

    /// `lo          50673       50673    57.56Mb/s    57.56Mb/s`: packets and bits, out and in
    fn netstat(&mut self, line: &str, out: &mut Out<'_>) -> Option<()> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [nic, sent, received, bits_sent, bits_received] = words[..] else { return None };
        let bytes = |text: &str| scaled(text.trim_end_matches("/s"), 1000.0).map(|bits| bits / 8.0);
        let figures = [
            ("tx_packets_per_s", number(sent)?, "/s"),
            ("rx_packets_per_s", number(received)?, "/s"),
            ("tx_bytes_per_s", bytes(bits_sent)?, "B/s"),
            ("rx_bytes_per_s", bytes(bits_received)?, "B/s"),
        ];
        for (name, value, unit) in figures {
            self.results.named(out, name, nic, Some(value), unit, "neither");
        }
        Some(())
    }

    /// `127.0.0.1          6.33s    24.34MB    32.27Mb/s       283583        0.00`: the last is a share of errors
    fn host(&mut self, line: &str, out: &mut Out<'_>) -> Option<()> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [host, seconds, bytes, bits, operations, errors] = words[..] else { return None };
        let (seconds, operations) = (number(seconds.strip_suffix('s')?)?, number(operations)?);
        let errors = number(errors)?;
        if host == "master" {
            // The rest is in the line of the total, except in what `-R` prints.
            self.results.set(out, names::ERROR_SHARE, errors);
            return Some(());
        }
        self.results.of(out, names::TRANSACTIONS, host, operations);
        self.results.of(out, names::TRANSFER_BYTES, host, scaled(bytes, 1024.0));
        self.results.of(
            out,
            names::TRANSFER_BYTES_PER_S,
            host,
            scaled(bits.trim_end_matches("/s"), 1000.0).map(|bits| bits / 8.0),
        );
        self.results.of(out, names::ELAPSED, host, seconds);
        self.results.of(out, names::ERROR_SHARE, host, errors);
        Some(())
    }

    /// The run is over.
    fn end(&mut self, out: &mut Out<'_>) {
        for (name, sum) in std::mem::take(&mut self.transactions) {
            self.write(&name, sum, out);
        }
        self.before.clear();
        self.section = Section::None;
    }
}

#[cfg(test)]
mod tests {
    use super::{FORMAT, sum};
    use crate::{
        fixtures::read,
        load::tests::{column, result},
    };

    fn fixture(name: &str) -> String {
        let path = format!("fixtures/uperf/{name}");
        let read = read(&FORMAT, &fs_err::read(path).unwrap());
        assert_eq!(read.tally.notes, 0, "{}", read.text);
        read.text
    }

    #[test]
    fn intervals_of_raw_counts_add_up_to_the_total() {
        let text = fixture("1.0.8-R.txt");
        let (rates, lengths) = (column(&text, "load", "transfer_bytes_per_s"), column(&text, "load", "dt"));
        let bytes: f64 = rates.iter().zip(&lengths).map(|(rate, dt)| rate.unwrap() * dt.unwrap()).sum();
        let total = result(&text, "transfer_bytes").unwrap();
        assert!((bytes - total).abs() < 1e-3 * total, "{bytes} {total}");
    }

    /// Operations over time, bits over time, and the two flowops of each transaction.
    #[test]
    fn figures_of_a_report_fit_each_other() {
        let text = fixture("1.0.8-a-e-p.txt");
        let get = |name: &str| result(&text, name).unwrap_or_else(|| panic!("{name}"));
        let near = |a: f64, b: f64, off: f64| assert!((a - b).abs() <= off * b, "{a} {b}");
        near(get("transfer_bytes") / get("elapsed"), get("transfer_bytes_per_s"), 0.003);
        let operations = ["connect", "write", "read", "disconnect"].map(|f| get(&format!("transactions[{f}]")));
        near(get("throughput") * get("elapsed"), operations.iter().sum(), 0.002);
        near(get("latency_mean[write]") + get("latency_mean[read]"), get("latency_mean[Txn2]"), 0.01);
    }

    #[test]
    fn a_line_of_sums_has_bytes_seconds_and_rates() {
        let (name, sum) = sum("Txn2       1.22GB /   1.00(s) =    10.43Gb/s      159094op/s").unwrap();
        assert_eq!((name, sum.seconds, sum.per_s), ("Txn2", 1.0, 159_094.0));
        assert_eq!(sum.bytes_per_s, Some(10.43e9 / 8.0));
        assert_eq!(sum.bytes, Some(1.22 * 1024.0 * 1024.0 * 1024.0));
    }
}
