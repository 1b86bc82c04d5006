//! `nuttcp`: throughput of TCP and UDP between two hosts, by interval (`-i`) and in the end, also `-fparse` and `-v`.

use super::names::{self, Results};
use crate::{Family, Format, Head, Input, Out, Relative, Sure, number, procps::moments::is_prompt};

/// Importer for nuttcp of TCP and UDP, also -i, -v and -fparse.
pub static FORMAT: Format = Format {
    name: "nuttcp",
    summary: "nuttcp of TCP and UDP, also -i, -v and -fparse",
    family: Family::Load,
    tables: &[],
    example: "\
 3451.5000 MB /   1.00 sec = 28947.1148 Mbps     0 retrans
 3814.0625 MB /   1.00 sec = 32001.3315 Mbps     0 retrans

 7265.5625 MB /   2.00 sec = 30474.2231 Mbps 60 %TX 44 %RX 0 retrans 0.08 msRTT
",
    sniff,
    read,
};

/// Bytes of `MB`.
const MB: f64 = 1024.0 * 1024.0;

/// One line of figures.
#[derive(Default)]
struct Figures {
    bytes: Option<f64>,
    seconds: Option<f64>,
    bits_per_s: Option<f64>,
    tx_cpu: Option<f64>,
    rx_cpu: Option<f64>,
    retransmits: Option<f64>,
    lost: Option<f64>,
    rtt_ms: Option<f64>,
    is_interval: bool,
}

fn sniff(head: &Head<'_>) -> Sure {
    let verbose = |line: &str| line.starts_with("nuttcp-t: v") || line.starts_with("nuttcp-r: v");
    let plain =
        |line: &str| plain(line).is_some_and(|f| f.retransmits.is_some() || f.lost.is_some() || f.tx_cpu.is_some());
    Sure::Certain.when(head.any(|line| plain(line) || parse(line).is_some() || verbose(line)))
}

/// ` 3451.5000 MB /   1.00 sec = 28947.1148 Mbps     0 retrans`
fn plain(line: &str) -> Option<Figures> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [bytes, "MB", "/", seconds, "sec", "=", rate, "Mbps", rest @ ..] = &words[..] else { return None };
    let mut figures = Figures {
        bytes: Some(number(bytes)? * MB),
        seconds: Some(number(seconds)?),
        bits_per_s: Some(number(rate)? * 1e6),
        is_interval: true,
        ..Figures::default()
    };
    for pair in rest.windows(2) {
        let value = number(pair[0].trim_start_matches('~'));
        match pair[1] {
            "%TX" => (figures.tx_cpu, figures.is_interval) = (value, false),
            "%RX" => (figures.rx_cpu, figures.is_interval) = (value, false),
            "retrans" => figures.retransmits = value,
            "%loss" | "~%loss" => figures.lost = value,
            "msRTT" => figures.rtt_ms = value,
            _ => {}
        }
    }
    Some(figures)
}

/// `megabytes=3557.1218 real_seconds=1.00 rate_Mbps=29847.0305 tx_cpu=31 rx_cpu=61 retrans=0 rtt_ms=0.09`
fn parse(line: &str) -> Option<Figures> {
    let mut figures = Figures::default();
    for (name, value) in line.split_ascii_whitespace().filter_map(|word| word.split_once('=')) {
        let value = number(value);
        match name {
            "megabytes" => figures.bytes = value.map(|v| v * MB),
            "real_seconds" => figures.seconds = value,
            "rate_Mbps" => figures.bits_per_s = value.map(|v| v * 1e6),
            "tx_cpu" => figures.tx_cpu = value,
            "rx_cpu" => figures.rx_cpu = value,
            "retrans" => figures.retransmits = value,
            "data_loss" => figures.lost = value,
            "rtt_ms" => figures.rtt_ms = value,
            _ => {}
        }
    }
    (line.starts_with("megabytes=") && figures.bits_per_s.is_some()).then_some(figures)
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reports = 0u32;
    // Counted to the last interval's end, which is when the output ended.
    let (mut clock, mut elapsed) = (None, 0.0);
    input.each_line(|at, line| {
        let line = line.trim();
        match plain(line).or_else(|| parse(line)) {
            Some(figures) if figures.is_interval => {
                elapsed += figures.seconds.unwrap_or(0.0);
                let t = clock.get_or_insert_with(|| Relative::elapsed(out)).after(elapsed);
                interval(&figures, t, out);
            }
            Some(figures) => {
                reports = reports.saturating_add(1);
                end(&figures, Results::nth(reports), out);
            }
            None if line.starts_with("nuttcp-") => {
                if verbose(line, &mut reports, out) {
                    return;
                }
                out.unknown(at, line, "no line of nuttcp");
            }
            None if line.is_empty() || is_prompt(line, "nuttcp") => {}
            None => out.unknown(at, line, "no line of nuttcp"),
        }
    });
}

fn interval(figures: &Figures, t: fenxi_model::Micros, out: &mut Out<'_>) {
    out.metric(t, figures.seconds, "nuttcp.bytes_per_s", "", figures.bits_per_s.map(|bits| bits / 8.0), "B/s");
    let per_s = |value: Option<f64>| value.zip(figures.seconds).map(|(value, seconds)| value / seconds);
    if figures.retransmits.is_some() {
        out.metric(t, figures.seconds, "nuttcp.retransmits_per_s", "", per_s(figures.retransmits), "/s");
    }
    if figures.lost.is_some() {
        out.metric(t, figures.seconds, "nuttcp.lost_share", "", figures.lost, "%");
    }
}

fn end(figures: &Figures, mut results: Results, out: &mut Out<'_>) {
    results.set(out, names::TRANSFER_BYTES_PER_S, figures.bits_per_s.map(|bits| bits / 8.0));
    results.set(out, names::TRANSFER_BYTES, figures.bytes);
    results.set(out, names::ELAPSED, figures.seconds);
    results.set(out, names::lower("sender_cpu", "%"), figures.tx_cpu);
    results.set(out, names::lower("receiver_cpu", "%"), figures.rx_cpu);
    results.set(out, names::RETRANSMITS, figures.retransmits);
    results.set(out, names::LOST_SHARE, figures.lost);
    results.set(out, names::LATENCY_MEAN, figures.rtt_ms);
}

/// A line of `-v`: what was set is a fact, what the receiver measured is the result.
fn verbose(line: &str, reports: &mut u32, out: &mut Out<'_>) -> bool {
    let Some((side, rest)) = line.split_once(": ") else { return false };
    let of = |value: &str| value.split_ascii_whitespace().next().and_then(number);
    if let Some((bytes, after)) = rest.split_once(" MB in ") {
        if side == "nuttcp-r" {
            *reports = reports.saturating_add(1);
            let mut results = Results::nth(*reports);
            let bits = after.rsplit_once("= ").and_then(|(_, rate)| of(rate)).map(|m| m * 1e6);
            results.set(out, names::TRANSFER_BYTES_PER_S, bits.map(|bits| bits / 8.0));
            results.set(out, names::TRANSFER_BYTES, number(bytes).map(|mb| mb * MB));
            results.set(out, names::ELAPSED, of(after));
        }
    } else if let Some(count) = rest.strip_prefix("retrans = ") {
        Results::nth(reports.saturating_add(1)).set(out, names::RETRANSMITS, of(count));
    } else if let Some((cpu, _)) = rest.split_once("% ").filter(|(cpu, _)| cpu.contains("real ")) {
        let name = if side == "nuttcp-r" { "receiver_cpu" } else { "sender_cpu" };
        let number_of = if side == "nuttcp-r" { *reports } else { reports.saturating_add(1) };
        Results::nth(number_of).set(out, names::lower(name, "%"), cpu.rsplit(' ').next().and_then(number));
    } else {
        out.fact("nuttcp", side, rest);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{detect, fixtures::read, load::tests::result};

    #[test]
    fn every_form_has_the_same_results() {
        let plain = "11396.1250 MB /   3.00 sec = 31860.1934 Mbps 60 %TX 44 %RX 7 retrans 0.08 msRTT\n";
        let parse =
            "megabytes=11396.1250 real_seconds=3.00 rate_Mbps=31860.1934 tx_cpu=60 rx_cpu=44 retrans=7 rtt_ms=0.08\n";
        for text in [plain, parse] {
            assert_eq!(detect(&Head { text }).unwrap().name, "nuttcp");
            let read = read(&FORMAT, text.as_bytes());
            for (name, value) in [
                ("transfer_bytes_per_s", 3_982_524_175.0),
                ("transfer_bytes", 11396.125 * MB),
                ("sender_cpu", 60.0),
                ("retransmits", 7.0),
            ] {
                assert_eq!(result(&read.text, name), Some(value), "{name}\n{}", read.text);
            }
        }
    }

    #[test]
    fn copies_of_other_tools_are_nobodys() {
        for text in
            ["a 3 MB / 1 sec = 3 Mbps\n", "104857600 bytes in 1.0 sec = 838 Mbps\n", "3.5 MB / 1.0 sec = 29.4 Mbps\n"]
        {
            assert!(detect(&Head { text }).is_none(), "{text}");
        }
    }
}
