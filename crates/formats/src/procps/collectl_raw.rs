//! `collectl -f`: its raw files, which keep lines of /proc as they were, with the moment above each turn.
//!
//! The recorder's own collectors read them, as they read saved files of /proc. What these do not read (slabs, file handles,
//! sockets of Lustre and InfiniBand, a process's status and I/O) is left out.

use fenxi_model::{
    Micros,
    catalog::{cpu, disk, irq, mem, net, process, sched, tcp, udp, vm},
};

use super::proc::{engine::Engine, processes::Processes, saved::Saved};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// Importer for raw files of collectl (-f, *.raw.gz).
pub static FORMAT: Format = Format {
    name: "collectl-raw",
    summary: "raw files of collectl (-f, *.raw.gz)",
    family: Family::Linux,
    tables: &[
        &cpu::TABLE,
        &sched::TABLE,
        &mem::TABLE,
        &vm::TABLE,
        &irq::TABLE,
        &tcp::TABLE,
        &udp::TABLE,
        &disk::TABLE,
        &net::TABLE,
        &process::TABLE,
    ],
    example: "\
# Host:       db1  DaemonOpts:
>>> 1795426717.001 <<<
cpu  933357 857522 208605 785689 5122 0 7512 47641 0 0
disk  254       0 vda 1999673 49844 99054066 3823440 602665 993139 252083016 2083376 0 354416 6036396
load 16.67 14.89 12.74 19/241 29964
",
    sniff,
    read,
};

/// File of lines that begin with one of these words; a word that ends in a blank or a dash is no part of the file.
const PREFIXES: &[(&str, Saved)] = &[
    ("cpu", Saved::Stat),
    ("intr", Saved::Stat),
    ("ctxt", Saved::Stat),
    ("btime", Saved::Stat),
    ("processes", Saved::Stat),
    ("procs_", Saved::Stat),
    ("softirq", Saved::Stat),
    ("disk ", Saved::Diskstats),
    ("load ", Saved::Loadavg),
    ("Net ", Saved::NetDev),
    ("int ", Saved::Interrupts),
    ("tcp-TcpExt", Saved::Netstat),
    ("tcp-IpExt", Saved::Netstat),
    ("tcp-", Saved::Snmp),
    ("sock ", Saved::Sockstat),
];
/// Lines that are known and not read.
const LEFT_OUT: &[&str] = &[
    "#", "Slab", "slabinfo", "fs-", "buddy", "numa", "Node", "nfs", "proc:", "ib", "OFED", "lus", "OST", "MDS", "ost",
    "mds", "llite", "env", "ipmi", "elan", "procs ",
];
/// The longest content of one file at one moment.
const MAX_FILE: usize = 16 << 20;

/// `>>> 1795426717.001 <<<`
fn moment(line: &str) -> Option<Micros> {
    let text = line.strip_prefix(">>> ")?.strip_suffix(" <<<")?;
    let (seconds, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = seconds.len() >= 9 && [seconds, part].iter().all(|t| t.bytes().all(|b| b.is_ascii_digit()));
    let t = number(text).filter(|_| digits && seconds.len() <= 11)?;
    Some(Micros((t * 1e6).round() as i64))
}

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.any(|line| moment(line).is_some()))
}

#[derive(Default)]
struct Reader {
    now: Option<Micros>,
    booted: Option<f64>,
    cpus: usize,
    files: Vec<(Saved, Vec<u8>)>,
    processes: Processes,
    began: bool,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let (mut reader, mut engine) = (Reader::default(), Engine::new());
    input.each_line(|number, line| {
        if let Some(t) = moment(line.trim()) {
            reader.end(&mut engine, out);
            reader.now = Some(t);
        } else if line.starts_with('#') {
            reader.header(line, out);
        } else if !line.trim().is_empty() && !reader.line(line, out) {
            out.unknown(number, line, "no line of a raw file of collectl");
        }
    });
    reader.end(&mut engine, out);
}

impl Reader {
    /// `# Host:       vm  DaemonOpts:`
    fn header(&mut self, line: &str, out: &mut Out<'_>) {
        let mut words = line.split_ascii_whitespace().skip(1);
        match (words.next(), words.next()) {
            (Some("Host:"), Some(host)) => out.set_host(host),
            (Some("Booted:"), Some(t)) => self.booted = number(t),
            (Some("Kernel:"), Some(kernel)) => out.fact("host", "kernel", kernel),
            (Some("Collectl:"), Some(version)) => out.fact("tool", "collectl", version.trim_start_matches('V')),
            _ => {}
        }
        if let Some((_, rest)) = line.split_once("NumCPUs:") {
            self.cpus = rest.split_ascii_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0);
        }
    }

    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let Some(t) = self.now else { return false };
        if let Some((_, stat)) = line.strip_prefix("proc:").and_then(|rest| rest.split_once(" stat ")) {
            return self.processes.take(stat, t, out);
        }
        if let Some((prefix, file)) = PREFIXES.iter().find(|(prefix, _)| line.starts_with(prefix)) {
            let own = prefix.ends_with(' ') || line.starts_with("tcp-");
            let begin = if line.starts_with("tcp-") { "tcp-".len() } else { prefix.len() };
            self.add(*file, if own { &line[begin..] } else { line });
            return true;
        }
        if LEFT_OUT.iter().any(|prefix| line.starts_with(prefix)) {
            return true;
        }
        let mut words = line.split_ascii_whitespace();
        let (name, value, unit) = (words.next().unwrap_or(""), words.next().and_then(number), words.next());
        let file = match (name.ends_with(':'), unit) {
            (true, Some("kB") | None) => Saved::Meminfo,
            (false, None) => Saved::Vmstat,
            _ => return false,
        };
        if value.is_some() {
            self.add(file, line);
        }
        value.is_some()
    }

    fn add(&mut self, file: Saved, line: &str) {
        if !self.files.iter().any(|(f, _)| *f == file) {
            self.files.push((file, Vec::new()));
            if file == Saved::Interrupts {
                // Collectl leaves the header out.
                let counters = line.split_ascii_whitespace().skip(1).take_while(|word| number(word).is_some()).count();
                let cpus = if self.cpus > 0 { counters.min(self.cpus) } else { counters };
                let header: String = (0..cpus).map(|cpu| format!(" CPU{cpu}")).collect();
                self.add(file, &header);
            }
        }
        let Some((_, content)) = self.files.iter_mut().find(|(f, _)| *f == file) else { return };
        if content.len() + line.len() <= MAX_FILE {
            content.extend(line.as_bytes());
            content.push(b'\n');
        }
    }

    /// A turn is complete.
    fn end(&mut self, engine: &mut Engine, out: &mut Out<'_>) {
        let (Some(t), files) = (self.now.take(), std::mem::take(&mut self.files)) else { return };
        let files: Vec<_> = files.iter().map(|(file, content)| (*file, &content[..])).collect();
        if files.is_empty() {
            return;
        }
        engine.sample(&files, t, &[], out);
        let uptime = self.booted.map(|booted| t.0 as f64 / 1e6 - booted).filter(|uptime| *uptime > 0.0);
        if let Some(uptime_s) = uptime.filter(|_| !self.began) {
            Engine::since_boot(&files, t, uptime_s, &[], out);
        }
        self.began = true;
    }
}

#[cfg(test)]
mod tests {
    use super::{FORMAT, moment};
    use crate::{Format, fixtures::read, format};

    fn rows(format: &'static Format, name: &str, table: &str) -> Vec<Vec<(String, String)>> {
        let path = format!("fixtures/{}/{name}", format.name);
        let text = read(format, &fs_err::read(path).unwrap()).text;
        let section = text.split(&format!("# {table}\n")).nth(1).unwrap_or_else(|| panic!("{table} of {name}"));
        let mut lines = section.lines().take_while(|line| !line.starts_with('#'));
        let names: Vec<_> = lines.next().unwrap().split('\t').map(str::to_owned).collect();
        lines.map(|line| names.iter().cloned().zip(line.split('\t').map(str::to_owned)).collect()).collect()
    }

    fn cell(row: &[(String, String)], name: &str) -> Option<f64> {
        row.iter().find(|(n, _)| n == name)?.1.parse().ok()
    }

    /// `collectl -p` plays the same file back; it cuts shares off and rounds rates, of bytes in KiB.
    #[test]
    fn figures_are_those_that_collectl_plays_back() {
        let played = format("collectl").unwrap();
        let mut compared = 0;
        for (table, key, columns, off) in [
            ("cpu", "cpu", &["usr", "sys", "idle"][..], 1.0),
            ("sched", "host", &["context_switches_per_s", "forks_per_s"], 1.0),
            ("disk", "device", &["reads_per_s", "writes_per_s", "write_bytes_per_s"], 600.0),
            ("net", "interface", &["rx_bytes_per_s", "tx_bytes_per_s", "rx_packets_per_s"], 600.0),
        ] {
            let (raw, text) = (rows(&FORMAT, "4.3.raw", table), rows(played, "playback.tab", table));
            for row in &text {
                let get =
                    |row: &[(String, String)], name: &str| row.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
                // Played back without parts of seconds.
                let second = |row: &[(String, String)]| get(row, "t").unwrap()[..19].to_owned();
                let same = raw.iter().find(|r| second(r) == second(row) && get(r, key) == get(row, key));
                let Some(same) = same else { continue };
                for column in columns {
                    let (Some(a), Some(b)) = (cell(same, column), cell(row, column)) else { continue };
                    compared += 1;
                    let near = if off > 1.0 && !column.contains("bytes") { 1.0 } else { off };
                    assert!((a - b).abs() <= near, "{table} {column}: {a} {b}");
                }
            }
        }
        assert!(compared > 30, "{compared}");
    }

    #[test]
    fn moments_have_arrows_around_them() {
        assert_eq!(moment(">>> 1795426717.001 <<<").map(|t| t.0), Some(1_795_426_717_001_000));
        assert_eq!((moment(">>> vm <<<"), moment("### RECORD 1 >>> vm <<< (1795426717.001)")), (None, None));
    }
}
