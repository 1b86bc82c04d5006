//! `nfsiostat` of nfs-utils: reads and writes of NFS mounts.
//!
//! A mount is a device of `disk`, called as what is mounted. Its first report is since the file system was mounted. Bytes
//! are those of the RPC requests and replies, headers included. Latency is the whole time of a request (`avg exe`); the
//! parts of it, retransmissions and errors are metrics.

use fenxi_model::{
    Micros,
    catalog::{disk, metric},
};

use crate::{
    Family, Format, Head, Input, Out, Sure,
    generic::labels::Labels,
    number,
    procps::moments::{Moments, is_prompt},
    stamp,
};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "nfsiostat",
    summary: "nfsiostat of nfs-utils",
    family: Family::Linux,
    tables: &[&disk::TABLE, &metric::TABLE],
    example: "\
nas1:/export/data mounted on /mnt/data:

           ops/s       rpc bklog
         350.000           0.000

read:              ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms)
                 250.000       32080.078         128.320        1 (0.2%)           2.000           3.020
",
    sniff,
    read,
};

const KIB: f64 = 1024.0;

/// `nas1:/export mounted on /mnt:`
fn mount(line: &str) -> Option<(&str, &str)> {
    let (device, mount) = line.strip_suffix(':')?.split_once(" mounted on ")?;
    (device.contains(':') && mount.starts_with('/')).then_some((device, mount))
}

/// Cells between runs of two blanks or more.
fn cells(line: &str) -> Vec<String> {
    line.replace('\t', "  ").split("  ").map(str::trim).filter(|c| !c.is_empty()).map(str::to_owned).collect()
}

fn is_titles(line: &str) -> bool {
    line.contains("rpc bklog") || line.contains("kB/op") && line.contains("avg RTT (ms)")
}

fn sniff(head: &Head<'_>) -> Sure {
    let mounted = head.lines().take(60).any(|line| mount(line).is_some());
    Sure::Certain.when(mounted && head.lines().take(60).any(is_titles))
}

struct Reader {
    moments: Moments,
    now: Option<(Micros, Option<f64>)>,
    reports: u64,
    /// What is mounted, and where.
    device: Option<(String, String)>,
    /// The first mount of a report: when it comes again, so does the report.
    first: Option<String>,
    /// `read`, `write`, or nothing, with the titles of the values that follow.
    titles: Option<(String, Vec<String>)>,
    /// Figures of the mount at hand, by direction and title.
    figures: Vec<(String, String, f64)>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        moments: Moments::new(out),
        now: None,
        reports: 0,
        device: None,
        first: None,
        titles: None,
        figures: Vec::new(),
    };
    input.each_line(|number, line| {
        let line = line.trim();
        if line.is_empty() || reader.line(line, out) {
            return;
        }
        if stamp(line).is_some_and(|stamp| stamp.rest.is_empty()) {
            reader.end(out);
            (reader.now, reader.first) = (None, None);
            reader.moments.take(line, out);
        } else if is_prompt(line, "nfsiostat") {
            let interval = line
                .split_once("nfsiostat")
                .and_then(|(_, rest)| rest.split_ascii_whitespace().find_map(crate::number));
            interval.into_iter().for_each(|seconds| reader.moments.set_interval(seconds));
        } else {
            out.unknown(number, line, "no line of nfsiostat");
        }
    });
    reader.end(out);
    out.since_boot(false);
}

impl Reader {
    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if let Some((device, mount)) = mount(line) {
            self.end(out);
            if self.first.as_deref() == Some(mount) {
                (self.now, self.first) = (None, None);
            }
            self.first.get_or_insert_with(|| mount.to_owned());
            self.device = Some((device.to_owned(), mount.to_owned()));
            return true;
        }
        if self.device.is_none() {
            return false;
        }
        if is_titles(line) {
            let (direction, titles) = match line.split_once(':') {
                Some((direction @ ("read" | "write"), titles)) => (direction, titles),
                _ => ("", line),
            };
            self.titles = Some((direction.to_owned(), cells(titles)));
            return true;
        }
        let Some((direction, titles)) = self.titles.take() else { return false };
        let values: Option<Vec<f64>> =
            cells(line).iter().map(|cell| number(cell.split(' ').next().unwrap_or(""))).collect();
        let Some(values) = values.filter(|values| values.len() == titles.len()) else { return false };
        self.figures.extend(titles.into_iter().zip(values).map(|(title, value)| (direction.clone(), title, value)));
        true
    }

    /// A mount is complete.
    fn end(&mut self, out: &mut Out<'_>) {
        let Some((device, mount)) = self.device.take() else { return };
        let figures = std::mem::take(&mut self.figures);
        self.titles = None;
        if figures.is_empty() {
            return;
        }
        if self.now.is_none() {
            self.reports += 1;
            self.now = Some(self.moments.next(out));
        }
        let Some((t, dt)) = self.now else { return };
        let since_mount = self.reports == 1;
        out.since_boot(since_mount);
        let dt = dt.filter(|_| !since_mount);
        let of = |direction: &str, title: &str| {
            figures.iter().find(|(d, t, _)| d == direction && t == title).map(|(_, _, value)| *value)
        };
        // A mean of nothing is none.
        let mean = |direction: &str, title: &str| of(direction, title).filter(|_| of(direction, "ops/s") != Some(0.0));
        let mut row = out.row(&disk::TABLE, t, dt);
        row.str(disk::device, &*device);
        row.f64(disk::reads_per_s, of("read", "ops/s")).f64(disk::writes_per_s, of("write", "ops/s"));
        row.f64(disk::read_bytes_per_s, of("read", "kB/s").map(|kib| kib * KIB));
        row.f64(disk::write_bytes_per_s, of("write", "kB/s").map(|kib| kib * KIB));
        row.f64(disk::read_size_bytes, mean("read", "kB/op").map(|kib| kib * KIB));
        row.f64(disk::write_size_bytes, mean("write", "kB/op").map(|kib| kib * KIB));
        row.f64(disk::read_await_ms, mean("read", "avg exe (ms)"));
        row.f64(disk::write_await_ms, mean("write", "avg exe (ms)"));
        let mut labels = Labels::of("device", &device);
        labels.push("mount", &mount);
        for (direction, title, value) in &figures {
            let (name, unit) = match title.as_str() {
                "ops/s" | "op/s" if direction.is_empty() => ("ops_per_s", "/s"),
                "rpc bklog" => ("rpc_backlog", ""),
                "retrans" => ("retrans", ""),
                "errors" => ("errors", ""),
                "avg RTT (ms)" => ("rtt", "ms"),
                "avg queue (ms)" => ("queue", "ms"),
                _ => continue,
            };
            if unit == "ms" && mean(direction, title).is_none() {
                continue;
            }
            let dot = if direction.is_empty() { "" } else { "." };
            out.metric(t, dt, &format!("nfsiostat.{direction}{dot}{name}"), labels.text(), *value, unit);
        }
        out.since_boot(false);
    }
}

#[cfg(test)]
mod tests {
    use super::{FORMAT, cells, mount};
    use crate::{Head, Sure, fixtures::read};

    #[test]
    fn titles_with_tabs_of_older_versions_are_read() {
        let text = "nas1:/e mounted on /mnt:\n\n   op/s\t\trpc bklog\n   2.00 \t   0.00\nread:             ops/s\t\t   kB/s\t\t  kB/op\t\tretrans\t\tavg RTT (ms)\tavg exe (ms)\n\t\t  1.000 \t 64.000 \t 64.000\t       0 (0.0%) \t  2.000 \t  3.000\n";
        let read = read(&FORMAT, text.as_bytes());
        assert_eq!(read.tally.notes, 0, "{}", read.text);
        assert!(read.text.contains("\tnas1:/e\t1\t65536\t3\t65536\n"), "{}", read.text);
    }

    #[test]
    fn mounts_and_cells_are_cut() {
        assert_eq!(mount("nas1:/a mounted on /b:"), Some(("nas1:/a", "/b")));
        assert_eq!(mount("x mounted on /b:"), None);
        assert_eq!(cells(" 1 (0.2%)   2.0\t3"), ["1 (0.2%)", "2.0", "3"]);
        let text = "nas1:/a mounted on /b:\nnothing else\n";
        assert_eq!((FORMAT.sniff)(&Head { text }), Sure::No);
    }
}
