//! Figures that `ss -i` and `ss -m` print about one connection: `rtt:0.12/0.074 cwnd:13 send 28398933333bps`.
//!
//! The kernel's own names are kept. Rates are bytes per second, whatever prefix the bits were printed with.

use crate::number;

/// A figure of a connection.
#[derive(Debug, PartialEq)]
pub(super) struct Figure {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) unit: &'static str,
    /// Whether it counts from the begin of the connection.
    pub(super) counts: bool,
}

/// Names whose figures are milliseconds, bytes, and counters.
const MS: &[&str] = &[
    "rto",
    "rtt",
    "rttvar",
    "ato",
    "lastsnd",
    "lastrcv",
    "lastack",
    "rcv_rtt",
    "minrtt",
    "mrtt",
    "busy",
    "rwnd_limited",
    "sndbuf_limited",
];
const BYTES: &[&str] = &[
    "mss",
    "pmtu",
    "rcvmss",
    "advmss",
    "bytes_sent",
    "bytes_retrans",
    "bytes_acked",
    "bytes_received",
    "rcv_space",
    "rcv_ssthresh",
    "notsent",
    "snd_wnd",
    "rcv_wnd",
];
const COUNTERS: &[&str] = &[
    "bytes_sent",
    "bytes_retrans",
    "bytes_acked",
    "bytes_received",
    "segs_out",
    "segs_in",
    "data_segs_out",
    "data_segs_in",
    "delivered",
    "delivered_ce",
    "retrans_total",
    "dsack_dups",
    "reord_seen",
    "rcv_ooopack",
    "busy",
    "rwnd_limited",
    "sndbuf_limited",
];
/// Words that say which options are in use.
const FLAGS: &[&str] =
    &["ts", "sack", "ecn", "ecnseen", "fastopen", "app_limited", "bidir", "qack", "ip_bind_address_no_port"];
/// Keys that name a socket, its owner or its timer, and are no figures of the connection.
const NAMES: &[&str] =
    &["uid", "ino", "sk", "cgroup", "v6only", "fwmark", "timer", "users", "class_id", "tcp-ulp-tls", "tos", "tclass"];
/// Parts of `skmem:(r0,rb131072,...)`, the longer ones first.
const MEMORY: &[(&str, &str)] = &[
    ("rb", "receive_buffer"),
    ("tb", "send_buffer"),
    ("bl", "backlog"),
    ("r", "receive_queue"),
    ("t", "send_queue"),
    ("f", "forward_alloc"),
    ("w", "write_queue"),
    ("o", "option_memory"),
    ("d", "drops"),
];

/// Figures of a connection, and its congestion control.
#[derive(Debug, Default)]
pub(super) struct Info {
    pub(super) figures: Vec<Figure>,
    pub(super) congestion: Option<String>,
    /// Words that say nothing known.
    pub(super) unknown: Vec<String>,
}

impl Info {
    /// Reads the details below, or behind, a connection's line.
    pub(super) fn read(&mut self, text: &str) {
        let mut words = text.split_ascii_whitespace();
        while let Some(word) = words.next() {
            match word {
                "send" | "pacing_rate" | "delivery_rate" => {
                    let rate = words.next().map_or("", |rate| rate.split('/').next().unwrap_or(""));
                    let name = if word == "send" { "send_rate" } else { word };
                    match bytes_per_s(rate) {
                        Some(value) => self.put(name, value, "B/s"),
                        None => self.unknown.push(format!("{word} {rate}")),
                    }
                }
                "<->" | "-->" | "<--" | "---" => {}
                _ if FLAGS.contains(&word) => {}
                _ => match word.split_once(':') {
                    Some((name, _)) if NAMES.contains(&name) || name.is_empty() => {}
                    Some((name, value)) => self.pair(name, value),
                    None if word
                        .bytes()
                        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-') =>
                    {
                        self.congestion.get_or_insert_with(|| word.to_owned());
                    }
                    None => self.unknown.push(word.to_owned()),
                },
            }
        }
    }

    /// Whether the text has what only `ss -i` prints.
    pub(super) fn is_own(text: &str) -> bool {
        let has = |name: &str| text.split_ascii_whitespace().any(|word| word.starts_with(name));
        has("cwnd:") && (has("rto:") || has("mss:") || has("wscale:"))
    }

    fn put(&mut self, name: &str, value: f64, unit: &'static str) {
        let counts = COUNTERS.contains(&name);
        self.figures.push(Figure { name: name.to_owned(), value, unit, counts });
    }

    /// `name:value`, `rtt:mean/deviation`, `busy:8ms`, `bbr:(bw:12bps,mrtt:0.01)`.
    fn pair(&mut self, name: &str, value: &str) {
        if let Some(parts) = value.strip_prefix('(') {
            for part in parts.trim_end_matches(')').split(',') {
                self.part(name, part);
            }
            return;
        }
        if let Some((first, second)) = value.split_once(['/', ',']) {
            let names = match name {
                "rtt" => ["rtt", "rttvar"],
                "retrans" => ["retrans", "retrans_total"],
                "wscale" => ["send_wscale", "receive_wscale"],
                _ => return self.unknown.push(format!("{name}:{value}")),
            };
            self.plain(names[0], first);
            self.plain(names[1], second);
            return;
        }
        self.plain(name, value);
    }

    /// A part of a group in brackets.
    fn part(&mut self, group: &str, part: &str) {
        if group == "skmem" {
            let found = MEMORY.iter().find_map(|(letters, name)| Some((*name, number(part.strip_prefix(letters)?)?)));
            match found {
                Some((name, value)) => {
                    self.put(&format!("skmem.{name}"), value, if name == "drops" { "" } else { "B" })
                }
                None => self.unknown.push(format!("skmem {part}")),
            }
            return;
        }
        let Some((name, value)) = part.split_once(':') else {
            return self.unknown.push(format!("{group} {part}"));
        };
        let read = bytes_per_s(value).map(|v| (v, "B/s")).or_else(|| number(value).map(|v| (v, unit(name))));
        match read {
            Some((value, unit)) => self.put(&format!("{group}.{name}"), value, unit),
            None => self.unknown.push(format!("{group} {part}")),
        }
    }

    fn plain(&mut self, name: &str, value: &str) {
        // `rwnd_limited:12ms(3.1%)`
        let bare = value.split('(').next().unwrap_or("");
        match number(bare.strip_suffix("ms").unwrap_or(bare)) {
            Some(value) => self.put(name, value, unit(name)),
            None => self.unknown.push(format!("{name}:{value}")),
        }
    }
}

fn unit(name: &str) -> &'static str {
    match name {
        _ if MS.contains(&name) => "ms",
        _ if BYTES.contains(&name) => "B",
        _ => "",
    }
}

/// `28398933333bps`, `28.4Gbps`: bits per second with decimal prefixes.
fn bytes_per_s(text: &str) -> Option<f64> {
    let bits = text.strip_suffix("bps")?;
    let (digits, factor) = match bits.as_bytes().last()? {
        b'K' | b'k' => (&bits[..bits.len() - 1], 1e3),
        b'M' => (&bits[..bits.len() - 1], 1e6),
        b'G' => (&bits[..bits.len() - 1], 1e9),
        b'T' => (&bits[..bits.len() - 1], 1e12),
        _ => (bits, 1.0),
    };
    Some(number(digits)? * factor / 8.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_figure_is_read() {
        let mut info = Info::default();
        info.read("skmem:(r0,rb131072,d3) ts sack cubic wscale:7,8 rtt:0.5/0.25 retrans:1/12 bbr:(bw:16bps,mrtt:0.01) send 28.4Gbps pacing_rate 8Kbps/16Kbps busy:8ms rwnd_limited:3ms(37.5%) new:5 odd:x");
        let figure = |name: &str| info.figures.iter().find(|f| f.name == name).map(|f| (f.value, f.unit, f.counts));
        assert_eq!(figure("skmem.receive_buffer"), Some((131072.0, "B", false)));
        assert_eq!(figure("skmem.drops"), Some((3.0, "", false)));
        assert_eq!(figure("rtt"), Some((0.5, "ms", false)));
        assert_eq!(figure("rttvar"), Some((0.25, "ms", false)));
        assert_eq!(figure("retrans_total"), Some((12.0, "", true)));
        assert_eq!(figure("send_rate"), Some((3.55e9, "B/s", false)));
        assert_eq!(figure("pacing_rate"), Some((1000.0, "B/s", false)));
        assert_eq!(figure("bbr.bw"), Some((2.0, "B/s", false)));
        assert_eq!(figure("rwnd_limited"), Some((3.0, "ms", true)));
        assert_eq!(figure("new"), Some((5.0, "", false)));
        assert_eq!((info.congestion.as_deref(), &info.unknown[..]), (Some("cubic"), &["odd:x".to_owned()][..]));
    }
}
