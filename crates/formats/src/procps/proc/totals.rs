//! Counters of which there is one reading only, and no start time: they become metrics.

use fenxi_model::Micros;

use super::saved::Saved;
use crate::{Out, number};

pub(in super::super) const DISK: &[&str] = &[
    "reads",
    "reads_merged",
    "read_sectors",
    "read_ms",
    "writes",
    "writes_merged",
    "write_sectors",
    "write_ms",
    "in_flight",
    "busy_ms",
    "weighted_ms",
    "discards",
    "discards_merged",
    "discard_sectors",
    "discard_ms",
    "flushes",
    "flush_ms",
];
pub(in super::super) const OLD_DISK: &[&str] = &["reads", "read_sectors", "writes", "write_sectors"];
const NET: &[&str] = &[
    "rx_bytes",
    "rx_packets",
    "rx_errors",
    "rx_drops",
    "rx_fifo",
    "rx_frame",
    "rx_compressed",
    "rx_multicast",
    "tx_bytes",
    "tx_packets",
    "tx_errors",
    "tx_drops",
    "tx_fifo",
    "tx_collisions",
    "tx_carrier",
    "tx_compressed",
];
const SCHED: &[&str] =
    &["yields", "legacy", "schedules", "idle_schedules", "wakeups", "local_wakeups", "run_ns", "wait_ns", "timeslices"];

const SOFTNET: &[(&str, usize)] = &[("packets", 0), ("drops", 1), ("squeezes", 2), ("rps", 9), ("flow_limits", 10)];

/// Writes the counters of `file`, under names that begin with its own.
pub fn write(file: Saved, content: &[u8], t: Micros, out: &mut Out<'_>) {
    let text = String::from_utf8_lossy(content);
    let mut totals = Totals { t, out };
    match file {
        Saved::Diskstats => text.lines().for_each(|l| totals.disk(l)),
        Saved::NetDev => text.lines().for_each(|l| totals.net(l)),
        Saved::Vmstat | Saved::Snmp6 => text.lines().for_each(|l| totals.named(file, l)),
        Saved::Snmp | Saved::Netstat => totals.pairs(file, &text),
        Saved::Interrupts | Saved::Softirqs => totals.grid(file, &text),
        Saved::Softnet => text.lines().enumerate().for_each(|(nth, l)| totals.softnet(nth, l)),
        Saved::Schedstat => text.lines().for_each(|l| totals.sched(l)),
        Saved::Pressure | Saved::PressureCpu | Saved::PressureIo | Saved::PressureMemory | Saved::PressureIrq => {
            text.lines().for_each(|l| totals.pressure(file, l))
        }
        // Gauges, or written since boot.
        Saved::Stat | Saved::Loadavg | Saved::Meminfo | Saved::Sockstat | Saved::Uptime | Saved::PidStat => {}
    }
}

struct Totals<'o, 'a> {
    t: Micros,
    out: &'o mut Out<'a>,
}

impl Totals<'_, '_> {
    fn add(&mut self, name: &str, labels: &str, value: Option<f64>) {
        if value.is_some() {
            self.out.metric(self.t, None, name, labels, value, "");
        }
    }

    fn all<'w>(&mut self, prefix: &str, names: &[&str], labels: &str, values: impl Iterator<Item = &'w str>) {
        for (name, value) in names.iter().zip(values) {
            self.add(&format!("{prefix}.{name}"), labels, number(value));
        }
    }

    fn disk(&mut self, line: &str) {
        let mut words = line.split_ascii_whitespace().skip(2);
        let Some(device) = words.next() else { return };
        let names = if words.clone().count() == OLD_DISK.len() { OLD_DISK } else { DISK };
        self.all("diskstats", names, &format!("device={device}"), words);
    }

    fn net(&mut self, line: &str) {
        let Some((interface, values)) = line.rsplit_once(':') else { return };
        let labels = format!("interface={}", interface.trim());
        self.all("net_dev", NET, &labels, values.split_ascii_whitespace());
    }

    fn sched(&mut self, line: &str) {
        let mut words = line.split_ascii_whitespace();
        let Some(cpu) = words.next().and_then(|w| w.strip_prefix("cpu")) else { return };
        self.all("schedstat", SCHED, &format!("cpu={cpu}"), words);
    }

    /// Hexadecimal numbers; which are used is known by their places.
    fn softnet(&mut self, nth: usize, line: &str) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let hex = |at: usize| words.get(at).and_then(|word| u32::from_str_radix(word, 16).ok());
        // Before 5.10 the kernel did not print the CPU.
        let cpu = hex(12).map_or(nth, |cpu| cpu as usize);
        for (name, at) in SOFTNET {
            self.add(&format!("softnet.{name}"), &format!("cpu={cpu}"), hex(*at).map(f64::from));
        }
    }

    fn named(&mut self, file: Saved, line: &str) {
        let mut words = line.split_ascii_whitespace();
        let (Some(name), Some(value)) = (words.next(), words.next()) else { return };
        let prefix = if file == Saved::Vmstat { "proc_vmstat" } else { "snmp6" };
        self.add(&format!("{prefix}.{name}"), "", number(value));
    }

    fn pairs(&mut self, file: Saved, text: &str) {
        let prefix = if file == Saved::Snmp { "snmp" } else { "netstat" };
        let mut lines = text.lines();
        while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
            let Some((section, names)) = names.split_once(':') else { continue };
            let values = values.split_ascii_whitespace().skip(1);
            for (name, value) in names.split_ascii_whitespace().zip(values) {
                self.add(&format!("{prefix}.{section}.{name}"), "", number(value));
            }
        }
    }

    /// Of the many pairs of an interrupt and a CPU those that ever counted.
    fn grid(&mut self, file: Saved, text: &str) {
        let mut lines = text.lines();
        let header = lines.next().unwrap_or("");
        let cpus: Vec<_> = header.split_ascii_whitespace().map(|w| w.trim_start_matches("CPU")).collect();
        let (name, label) = match file {
            Saved::Softirqs => ("softirqs.count", "softirq"),
            _ => ("interrupts.count", "irq"),
        };
        for line in lines {
            let Some((irq, rest)) = line.split_once(':') else { continue };
            let values: Vec<_> = rest.split_ascii_whitespace().take(cpus.len()).map_while(number).collect();
            let sum = values.len() == 1 && cpus.len() > 1;
            for (cpu, value) in cpus.iter().zip(values).filter(|(_, v)| *v > 0.0) {
                let irq = irq.trim();
                let labels = if sum { format!("{label}={irq}") } else { format!("{label}={irq},cpu={cpu}") };
                self.add(name, &labels, Some(value));
            }
        }
    }

    fn pressure(&mut self, file: Saved, line: &str) {
        let mut words = line.split_ascii_whitespace();
        let Some(kind) = words.next() else { return };
        let labels = match file.path().rsplit('/').next().filter(|r| !r.is_empty()) {
            Some(resource) => format!("resource={resource},kind={kind}"),
            None => format!("kind={kind}"),
        };
        for (name, value) in words.filter_map(|w| w.split_once('=')) {
            let (name, unit, factor) = match name {
                "total" => ("pressure.total", "s", 1e-6),
                "avg10" => ("pressure.avg10", "%", 1.0),
                "avg60" => ("pressure.avg60", "%", 1.0),
                "avg300" => ("pressure.avg300", "%", 1.0),
                _ => continue,
            };
            self.out.metric(self.t, None, name, &labels, number(value).map(|v| v * factor), unit);
        }
    }
}
