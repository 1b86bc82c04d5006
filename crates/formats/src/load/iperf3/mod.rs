//! `iperf3`: what a client or a server prints, as text and as JSON (`-J`, `--json-stream`).
//!
//! With several streams each interval has a line per stream and one with their sum: only the sum is a row of `load`, the streams
//! are metrics. A sender counts what it gave to its socket, a receiver what arrived: the result without a name in brackets is the
//! receiver's, where it is known. Bits are counted in thousands, bytes in 1024s. `--bidir` has two directions, `forward` (client to
//! server) and `reverse`. Intervals that `-O` omits are metrics only.

mod json;
pub(super) mod report;
pub(super) mod text;

use fenxi_model::catalog::load;

use crate::{Family, Format, Head, Input, Out, Sure, stamp};

/// Importer for iperf3.
pub static FORMAT: Format = Format {
    name: "iperf3",
    summary: "iperf3: client and server, TCP, UDP and SCTP, --bidir, --timestamps, -J, --json-stream",
    family: Family::Load,
    tables: &[&load::TABLE],
    example: "\
Connecting to host 10.0.0.2, port 5201
[  5] local 10.0.0.1 port 52114 connected to 10.0.0.2 port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec   289 MBytes  2.42 Gbits/sec   13   1.87 MBytes
",
    sniff,
    read,
};

/// The text after the time stamp of `--timestamps` (or of `ts`), and the line itself without one.
fn unstamped(line: &str) -> &str {
    // A verbose report has its begin.
    if line.starts_with(['[', '-', ' ']) || line.starts_with("Time: ") {
        return line;
    }
    let Some(found) = stamp(line) else { return line };
    // Brackets and dashes are marks that may set a stamp off, too.
    let own = ["[ ", "[S", "- - - -"].iter().filter_map(|mark| line.find(mark)).min();
    own.and_then(|at| line.get(at..)).unwrap_or(found.rest)
}

fn sniff(head: &Head<'_>) -> Sure {
    let json = head.text.trim_start().starts_with('{')
        && head.text.contains("\"iperf 3")
        && (head.text.contains("\"connected\"") || head.text.contains("\"system_info\""));
    let begins = ["Connecting to host ", "Accepted connection from ", "Server listening on "];
    // Before 3.0 addresses are connected with each other, and a listener has a protocol.
    let older = head.any(|l| {
        l.contains(" connected with ") || l.contains("Server listening on TCP") || l.contains("Server listening on UDP")
    });
    let text = !older
        && head.any(|l| begins.iter().any(|begin| l.contains(begin)))
        && head.any(|l| text::is_header(unstamped(l)));
    // The end of a report, whose head is cut off: only iperf3 prints whose sum a line is.
    let ends = |l: &str| l.starts_with('[') && (l.ends_with(" sender") || l.ends_with(" receiver"));
    let tail = head.first().starts_with("[ ") && head.any(text::is_header) && head.any(ends);
    Sure::Certain.when(json || text || tail)
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    if input.head().trim_start().starts_with('{') {
        json::read(input, "iperf3", None, out);
    } else {
        text::read(input, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixtures::read,
        load::tests::{column, result},
    };

    #[test]
    fn stamps_are_taken_off_and_tell_the_time() {
        for (line, rest) in [
            ("Mon Nov 23 04:22:41 2026 [ ID] Interval", "[ ID] Interval"),
            ("Mon Nov 23 04:22:41 2026 [SUM]   0.00-1.00", "[SUM]   0.00-1.00"),
            ("04:22:53 - - - - -", "- - - - -"),
            ("04:22:53 iperf Done.", "iperf Done."),
            ("Time: Mon, 23 Nov 2026 04:22:50 GMT", "Time: Mon, 23 Nov 2026 04:22:50 GMT"),
            ("[  5]   0.00-1.00   sec", "[  5]   0.00-1.00   sec"),
        ] {
            assert_eq!(unstamped(line), rest, "{line}");
        }
    }

    #[test]
    fn of_several_streams_only_the_sum_is_a_row() {
        let text = "\
Connecting to host h, port 5201
[ ID] Interval           Transfer     Bandwidth       Retr  Cwnd
[  4]   0.00-1.00   sec   100 MBytes   800 Mbits/sec    1   1.00 MBytes
[  6]   0.00-1.00   sec   100 MBytes   800 Mbits/sec    2   1.00 MBytes
[SUM]   0.00-1.00   sec   200 MBytes  1.60 Gbits/sec    3
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bandwidth       Retr
[  4]   0.00-1.00   sec   100 MBytes   800 Mbits/sec    1             sender
[  4]   0.00-1.00   sec   100 MBytes   800 Mbits/sec                  receiver
[SUM]   0.00-1.00   sec   200 MBytes  1.60 Gbits/sec    3             sender
[SUM]   0.00-1.00   sec   198 MBytes  1.58 Gbits/sec                  receiver
";
        let read = read(&FORMAT, text.as_bytes());
        assert_eq!(column(&read.text, "load", "transfer_bytes_per_s"), [Some(2e8)], "{}", read.text);
        assert_eq!(result(&read.text, "transfer_bytes_per_s"), Some(1.975e8));
        assert_eq!(result(&read.text, "retransmits"), Some(3.0));
        assert_eq!(read.tally.notes, 0, "{}", read.text);
    }

    #[test]
    fn what_only_quotes_or_resembles_it_is_not_claimed() {
        // iperf 2 has the same header, and other figures under it.
        let client = "Client connecting to h, TCP port 5001\n[ ID] Interval       Transfer     Bandwidth\n[  3]  0.0-10.0 sec  1.10 GBytes   941 Mbits/sec\n";
        let server = "Server listening on TCP port 5001\n[ ID] Interval       Transfer     Bandwidth\n[  4]  0.0-10.0 sec  1.10 GBytes   941 Mbits/sec\n";
        for text in [client, server, "{\"start\": {}, \"end\": {}}", "Connecting to host db1, port 22\n"] {
            assert_eq!(sniff(&Head { text }), Sure::No, "{text}");
        }
    }
}
