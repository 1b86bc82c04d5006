//! `zpool iostat` of OpenZFS and Solaris: pools and, with `-v`, their devices; `-l` and `-q` too.
//!
//! A pool is a device called as itself, a part of it `pool/mirror-0/sda`: sum over pools only. The first report is since
//! the pool was imported, unless a command above it has `-y`. Letters are powers of 1024, also behind counts of
//! operations. `read_await_ms` and `write_await_ms` are ZFS's `total_wait`. Space and the other waits and queues are
//! metrics. What `-H` prints has no titles and is not recognised.

use fenxi_model::{
    Micros,
    catalog::{disk, metric},
};

use crate::{
    Family, Format, Head, Input, Out, Sure,
    generic::labels::Labels,
    number,
    procps::moments::{Moments, is_prompt},
    scaled, stamp,
};

/// Importer for zpool iostat.
pub static FORMAT: Format = Format {
    name: "zpool-iostat",
    summary: "zpool iostat: -v, -l, -q, -p, -y, -T",
    family: Family::Linux,
    tables: &[&disk::TABLE, &metric::TABLE],
    example: "\
              capacity     operations     bandwidth
pool        alloc   free   read  write   read  write
----------  -----  -----  -----  -----  -----  -----
tank        2.69G  1.81T      0     29    252  14.2M
",
    sniff,
    read,
};

/// Names of the columns of a group, below its title.
fn columns_of(group: &str) -> Option<&'static [&'static str]> {
    Some(match group {
        "capacity" => &["alloc", "free"],
        "operations" | "bandwidth" | "total_wait" | "disk_wait" | "syncq_wait" | "asyncq_wait" => &["read", "write"],
        "scrub" | "trim" | "rebuild" => &["wait"],
        "syncq_read" | "syncq_write" | "asyncq_read" | "asyncq_write" | "scrubq_read" | "trimq_write"
        | "rebuildq_write" => &["pend", "activ"],
        _ => return None,
    })
}

/// The groups of a line of titles.
fn groups(line: &str) -> Option<Vec<String>> {
    let groups: Vec<String> = line.split_ascii_whitespace().map(str::to_owned).collect();
    let begins = groups.first().is_some_and(|g| g == "capacity") && groups.get(1).is_some_and(|g| g == "operations");
    (begins && groups.iter().all(|group| columns_of(group).is_some())).then_some(groups)
}

/// The columns under `groups`, as `group.column`; None when the titles below are others.
fn columns(groups: &[String], line: &str) -> Option<Vec<String>> {
    let mut words = line.split_ascii_whitespace();
    if !matches!(words.next(), Some("pool" | "vdev")) {
        return None;
    }
    let mut columns = Vec::new();
    for group in groups {
        for name in columns_of(group)? {
            // Older versions called space `used` and `avail`.
            let word = words.next()?;
            let same = word == *name || matches!((word, *name), ("used", "alloc") | ("avail", "free"));
            columns.push(format!("{group}.{name}"));
            if !same {
                return None;
            }
        }
    }
    words.next().is_none().then_some(columns)
}

fn sniff(head: &Head<'_>) -> Sure {
    if !head.text.contains("operations") {
        return Sure::No;
    }
    let mut found: Option<Vec<String>> = None;
    for line in head.lines().take(60) {
        let line = stamp(line).map_or(line, |stamp| stamp.rest);
        if found.as_ref().is_some_and(|groups| columns(groups, line).is_some()) {
            return Sure::Certain;
        }
        found = groups(line);
    }
    Sure::No
}

/// Milliseconds: `5us`, `1ms`, `130ns`, `2s`; plain nanoseconds with `-p`.
fn milliseconds(cell: &str) -> Option<f64> {
    let units = [("ns", 1e-6), ("us", 1e-3), ("ms", 1.0), ("s", 1e3), ("", 1e-6)];
    let (end, factor) = units.into_iter().find(|(end, _)| cell.ends_with(end))?;
    Some(number(cell.strip_suffix(end)?)? * factor)
}

struct Reader {
    moments: Moments,
    groups: Vec<String>,
    columns: Vec<String>,
    now: Option<(Micros, Option<f64>)>,
    /// The first pool of this report: when it comes again, so does the report.
    first: Option<String>,
    reports: u64,
    /// Whether a command above has `-y`.
    without_first: bool,
    /// The pool of the last line that named one.
    pool: String,
    /// The pool and the parts of it above the next line, by their indentation.
    path: Vec<(usize, String)>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        moments: Moments::new(out),
        groups: Vec::new(),
        columns: Vec::new(),
        now: None,
        first: None,
        reports: 0,
        without_first: false,
        pool: String::new(),
        path: Vec::new(),
    };
    input.each_line(|number, line| {
        if line.trim().is_empty() || reader.line(number, line, out) {
            return;
        }
        match stamp(line).map(|stamp| stamp.rest.to_owned()) {
            Some(rest) => {
                if rest.trim().is_empty() {
                    (reader.now, reader.first) = (None, None);
                }
                reader.moments.take(line, out);
                if !rest.trim().is_empty() && !reader.line(number, &rest, out) {
                    out.unknown(number, line, "no line of zpool iostat");
                }
            }
            None if is_prompt(line.trim(), "zpool") => reader.command(line),
            None => out.unknown(number, line, "no line of zpool iostat"),
        }
    });
    out.since_boot(false);
}

impl Reader {
    /// The options of a command that is pasted above its output.
    fn command(&mut self, line: &str) {
        let Some((_, options)) = line.split_once("iostat") else { return };
        let mut words = options.split_ascii_whitespace();
        self.without_first |= words.clone().any(|w| w.starts_with('-') && !w.starts_with("--") && w.contains('y'));
        if let Some(seconds) = words.find_map(number) {
            self.moments.set_interval(seconds);
        }
        (self.now, self.first, self.reports) = (None, None, 0);
    }

    fn line(&mut self, number: u64, line: &str, out: &mut Out<'_>) -> bool {
        if let Some(groups) = groups(line) {
            self.groups = groups;
            return true;
        }
        if let Some(columns) = columns(&self.groups, line) {
            self.columns = columns;
            return true;
        }
        if self.columns.is_empty() {
            return false;
        }
        let mut words = line.split_ascii_whitespace();
        let Some(name) = words.next() else { return false };
        if name.bytes().all(|b| b == b'-') {
            return true;
        }
        let cells: Vec<&str> = words.collect();
        if cells.len() != self.columns.len() || !cells.iter().all(|cell| is_cell(cell)) {
            return false;
        }
        let indent = line.len() - line.trim_start().len();
        let all_missing = cells.iter().all(|cell| *cell == "-");
        self.path.retain(|(at, _)| *at < indent);
        if indent == 0 && all_missing {
            // `logs`, `cache`: a part of the pool above, which is not indented.
            self.path = vec![(0, format!("{}/{name}", self.pool))];
            return true;
        }
        if indent == 0 {
            self.path.clear();
        }
        self.path.push((indent, name.to_owned()));
        if !all_missing {
            self.values(number, indent == 0, &cells, out);
        }
        true
    }

    /// The figures of what the path names.
    fn values(&mut self, number: u64, is_pool: bool, cells: &[&str], out: &mut Out<'_>) {
        let device = self.path.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join("/");
        if is_pool {
            device.clone_into(&mut self.pool);
            if self.first.as_ref() == Some(&device) {
                (self.now, self.first) = (None, None);
            }
            self.first.get_or_insert_with(|| device.clone());
        }
        if self.now.is_none() {
            self.reports += 1;
            self.now = Some(self.moments.next(out));
        }
        let Some((t, dt)) = self.now else { return };
        let since_boot = self.reports == 1 && !self.without_first;
        if since_boot {
            out.assume("the first report is since the pool was imported (zpool iostat without -y)");
        }
        out.since_boot(since_boot);
        let dt = dt.filter(|_| !since_boot);
        let mut others = Vec::new();
        let mut bad = None;
        let mut row = out.row(&disk::TABLE, t, dt);
        row.str(disk::device, &*device);
        for (column, cell) in self.columns.iter().zip(cells).filter(|(_, cell)| **cell != "-") {
            let wait = column.ends_with("_wait.read") || column.ends_with("_wait.write") || column.ends_with(".wait");
            let value = if wait { milliseconds(cell) } else { scaled(cell, 1024.0) };
            bad = bad.or(value.is_none().then_some(*cell));
            match column.as_str() {
                "operations.read" => row.f64(disk::reads_per_s, value),
                "operations.write" => row.f64(disk::writes_per_s, value),
                "bandwidth.read" => row.f64(disk::read_bytes_per_s, value),
                "bandwidth.write" => row.f64(disk::write_bytes_per_s, value),
                "total_wait.read" => row.f64(disk::read_await_ms, value),
                "total_wait.write" => row.f64(disk::write_await_ms, value),
                name => {
                    let unit = if wait { "ms" } else { "" };
                    others.push((name, value, if name.starts_with("capacity.") { "B" } else { unit }));
                    continue;
                }
            };
        }
        let labels = Labels::of("device", &device);
        for (name, value, unit) in others.into_iter().filter(|(_, value, _)| value.is_some()) {
            let name = format!("zpool-iostat.{}", name.strip_prefix("capacity.").unwrap_or(name));
            out.metric(t, dt, &name, labels.text(), value, unit);
        }
        if let Some(cell) = bad {
            out.unknown(number, cell, "no figure of zpool iostat");
        }
        out.since_boot(false);
    }
}

/// Whether a word can be a figure.
fn is_cell(cell: &str) -> bool {
    cell == "-" || scaled(cell, 1024.0).is_some() || milliseconds(cell).is_some()
}

#[cfg(test)]
mod tests {
    use super::{FORMAT, columns, groups, milliseconds};
    use crate::{Head, Sure, fixtures::read};

    #[test]
    fn titles_of_all_options_are_read() {
        let title = "capacity     operations     bandwidth    total_wait     disk_wait    syncq_wait    asyncq_wait  scrub   trim";
        let groups = groups(title).unwrap();
        let below = "pool        alloc   free   read  write   read  write   read  write   read  write   read  write   read  write   wait   wait";
        assert_eq!(columns(&groups, below).map(|c| c.len()), Some(16));
        assert_eq!(columns(&groups, "pool alloc free"), None);
        let close = |cell, ms: f64| milliseconds(cell).is_some_and(|found| (found - ms).abs() < 1e-9);
        assert!(
            close("5us", 0.005)
                && close("2ms", 2.0)
                && close("130ns", 0.00013)
                && close("2s", 2000.0)
                && close("1000000", 1.0)
        );
        assert_eq!(milliseconds("x"), None);
    }

    #[test]
    fn reports_follow_each_other_and_the_first_is_since_boot() {
        let title = "              capacity     operations     bandwidth\npool        alloc   free   read  write   read  write\n----------  -----  -----  -----  -----  -----  -----\n";
        let line = "tank        2.69G  1.81T      0     29    252  14.2M\n";
        let text = |command: &str| read(&FORMAT, format!("{command}{title}{line}{line}").as_bytes()).text;
        assert_eq!(text("").matches("# disk since boot").count(), 1);
        assert_eq!(text("# zpool iostat -y tank 5\n").matches("# disk since boot").count(), 0);
        assert!(text("# zpool iostat -y tank 5\n").contains("\t5\tfixture\ttank\t0\t29\t252\t14889779.2\n"));
    }

    #[test]
    fn titles_alone_are_nobodys() {
        let text = "capacity operations bandwidth\n";
        assert_eq!((FORMAT.sniff)(&Head { text }), Sure::No);
    }
}
