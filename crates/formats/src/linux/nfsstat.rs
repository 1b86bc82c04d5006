//! `nfsstat` of nfs-utils: calls of NFS and its RPC, as tables and as a list (`-l`), of server and client.
//!
//! Its counters are those since boot; outputs whose times are known give rates as well. With `-Z` it counts an interval
//! only, which is not in its text: outputs of which a counter is smaller than in the one before are taken for that.
//!
//! The fixtures are outputs of nfsstat 2.6.2 over counters that a script wrote in the kernel's place.

use fenxi_model::{Micros, catalog::metric};
use rustc_hash::FxHashMap;

use super::counters::Counters;
use crate::{
    Family, Format, Head, Input, Out, Sure,
    generic::labels::Labels,
    number,
    procps::moments::{Moments, is_prompt},
    stamp,
};

/// Importer for nfsstat of nfs-utils.
pub static FORMAT: Format = Format {
    name: "nfsstat",
    summary: "nfsstat of nfs-utils: tables and -l, server and client, -o all, -Z",
    family: Family::Linux,
    tables: &[&metric::TABLE],
    example: "\
Server rpc stats:
calls      badcalls   badfmt     badauth    badclnt
200000     2          1          1          0

Server nfs v3:
null             getattr          setattr          lookup           access
3         0%     3000      1%     40        0%     6000      2%     800       0%
",
    sniff,
    read,
};

/// Sections that are not of calls, and the unit of what they count.
const SECTIONS: &[(&str, &str, &str)] = &[
    ("packet stats:", "packets", ""),
    ("rpc stats:", "rpc", ""),
    ("reply cache:", "reply_cache", ""),
    ("io stats:", "io", "B"),
    ("read ahead cache:", "read_ahead", ""),
    ("file handle cache:", "file_handles", ""),
];

/// Counters under a title.
#[derive(Clone, Debug, PartialEq)]
struct Section {
    side: &'static str,
    /// The metric's name; the counters' names are labels of calls, and parts of the name of others.
    name: &'static str,
    version: String,
    unit: &'static str,
}

fn side(word: &str) -> Option<&'static str> {
    ["Server", "Client"].iter().zip(["server", "client"]).find(|(title, _)| **title == word).map(|(_, side)| side)
}

/// `Server nfs v4 operations:`, `Client rpc stats:`
fn section(line: &str) -> Option<Section> {
    let (first, rest) = line.split_once(' ')?;
    let side = side(first)?;
    if let Some((_, name, unit)) = SECTIONS.iter().find(|(title, ..)| *title == rest) {
        return Some(Section { side, name, version: String::new(), unit });
    }
    let rest = rest.strip_prefix("nfs v")?.strip_suffix(':')?;
    let (version, name) = match rest.split_once(' ') {
        None => (rest, "calls"),
        Some((version, "operations")) => (version, "operations"),
        Some((version, "callback operations")) => (version, "callbacks"),
        Some(_) => return None,
    };
    number(version)?;
    Some(Section { side, name, version: version.to_owned(), unit: "" })
}

/// `nfs v3 server      getattr:     3000`
fn listed(line: &str) -> Option<(Section, &str, f64)> {
    let mut words = line.strip_prefix("nfs v")?.split_ascii_whitespace();
    let (version, kind, name, value) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let (side, calls) = match kind {
        "server" => ("server", "calls"),
        "client" => ("client", "calls"),
        "servop" => ("server", "operations"),
        _ => return None,
    };
    number(version)?;
    let section = Section { side, name: calls, version: version.to_owned(), unit: "" };
    Some((section, name.strip_suffix(':')?, number(value)?)).filter(|_| words.next().is_none())
}

fn sniff(head: &Head<'_>) -> Sure {
    let mut last = None;
    let own = head.lines().take(60).any(|line| {
        let names = matches!(line.split_ascii_whitespace().next(), Some("calls" | "packets" | "hits" | "null"));
        let table = last.is_some() && names;
        last = section(line);
        table || listed(line).is_some_and(|(_, name, _)| name == "total")
    });
    Sure::Certain.when(own)
}

/// A counter of an output.
struct Counter {
    /// The metric and its labels.
    key: String,
    metric: String,
    labels: Labels,
    value: f64,
    unit: &'static str,
}

/// Counters that were printed at once.
struct Output {
    at: (Micros, Option<f64>),
    measured: bool,
    counters: Vec<Counter>,
}

/// Counters of one output; more are of a damaged one.
const MOST: usize = 4096;

struct Reader {
    moments: Moments,
    rates: Counters,
    section: Option<Section>,
    names: Vec<String>,
    now: Vec<Counter>,
    /// Outputs that are not written yet, as a later one may show that they do not count since boot.
    held: Vec<Output>,
    intervals: bool,
}

/// Outputs that are held; so many without a counter that got smaller count since boot.
const MOST_HELD: usize = 64;

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        moments: Moments::new(out),
        rates: Counters::default(),
        section: None,
        names: Vec::new(),
        now: Vec::new(),
        held: Vec::new(),
        intervals: false,
    };
    input.each_line(|number, line| {
        let line = line.trim();
        if !line.is_empty() && !reader.line(line, out) {
            out.unknown(number, line, "no line of nfsstat");
        }
    });
    reader.end(out);
    reader.write(out);
    out.since_boot(false);
}

impl Reader {
    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if let Some(section) = section(line) {
            (self.section, self.names) = (Some(section), Vec::new());
            return true;
        }
        if let Some((section, name, value)) = listed(line) {
            // A sum of what follows.
            if name != "total" {
                self.add(&section, name, value, out);
            }
            return true;
        }
        if line.bytes().all(|b| matches!(b, b'-' | b' ')) {
            return true;
        }
        if self.values(line, out) {
            return true;
        }
        if stamp(line).is_some_and(|stamp| stamp.rest.is_empty()) {
            self.end(out);
            self.moments.take(line, out);
            return true;
        }
        self.intervals |= line.contains("nfsstat") && line.contains(" -Z");
        is_prompt(line, "nfsstat") || line.starts_with("Collecting statistics") || line.starts_with("Signal received")
    }

    /// Names of counters, or their values in the same order, each of which may have its share behind it.
    fn values(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let Some(section) = self.section.clone() else { return false };
        if self.names.is_empty() {
            // The version 4 of a server begins with `op0-unused`.
            let name = |word: &str| word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_%".contains(&b));
            let names = line.split_ascii_whitespace().all(name) && stamp(line).is_none();
            if names && number(line.split_ascii_whitespace().next().unwrap_or("")).is_none() {
                self.names = line.split_ascii_whitespace().map(str::to_owned).collect();
            }
            return !self.names.is_empty();
        }
        let cells = line.split_ascii_whitespace().filter(|word| !word.ends_with('%'));
        let values: Option<Vec<f64>> = cells.map(number).collect();
        let Some(values) = values.filter(|values| values.len() == self.names.len()) else { return false };
        for (name, value) in std::mem::take(&mut self.names).iter().zip(values) {
            self.add(&section, name, value, out);
        }
        true
    }

    fn add(&mut self, section: &Section, name: &str, value: f64, out: &mut Out<'_>) {
        let mut labels = Labels::of("side", section.side);
        let metric = if section.version.is_empty() {
            format!("nfsstat.{}.{name}", section.name)
        } else {
            labels.push("version", &section.version);
            labels.push("op", name);
            format!("nfsstat.{}", section.name)
        };
        let key = format!("{metric} {}", labels.text());
        if self.now.first().is_some_and(|first| first.key == key) || self.now.len() >= MOST {
            self.end(out);
        }
        self.now.push(Counter { key, metric, labels, value, unit: section.unit });
    }

    /// An output is complete.
    fn end(&mut self, out: &mut Out<'_>) {
        let counters = std::mem::take(&mut self.now);
        if counters.is_empty() {
            return;
        }
        if let Some(before) = self.held.last().filter(|_| !self.intervals) {
            let was: FxHashMap<&str, f64> = before.counters.iter().map(|c| (&*c.key, c.value)).collect();
            if counters.iter().any(|c| was.get(&*c.key).is_some_and(|was| c.value < *was)) {
                out.assume("outputs of `nfsstat -Z`, which count an interval each, as counters get smaller");
                self.intervals = true;
            }
        }
        let at = self.moments.next(out);
        self.held.push(Output { at, measured: self.moments.is_measured(), counters });
        if self.intervals || self.held.len() >= MOST_HELD {
            // The last one is what the next is compared with.
            let last = self.held.pop();
            self.write(out);
            self.held.extend(last);
        }
    }

    /// Writes what is held.
    fn write(&mut self, out: &mut Out<'_>) {
        for output in std::mem::take(&mut self.held) {
            self.write_one(output, out);
        }
    }

    fn write_one(&mut self, Output { at: (t, dt), measured, counters }: Output, out: &mut Out<'_>) {
        for c in &counters {
            out.since_boot(!self.intervals);
            out.metric(t, dt.filter(|_| self.intervals), &c.metric, c.labels.text(), c.value, c.unit);
            out.since_boot(false);
            if let Some(rate) = self.rates.rate(&c.key, t, c.value).filter(|_| measured && !self.intervals) {
                let unit = if c.unit == "B" { "B/s" } else { "/s" };
                out.metric(t, dt, &format!("{}_per_s", c.metric), c.labels.text(), rate, unit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FORMAT;
    use crate::{Head, Sure, fixtures::read};

    fn fixture(name: &str) -> String {
        let path = format!("fixtures/nfsstat/{name}");
        let read = read(&FORMAT, &fs_err::read(path).unwrap());
        assert_eq!(read.tally.notes, 0, "{}", read.text);
        read.text
    }

    /// The kernel's counters behind the fixtures grew by 120 reads and 40 writes a second.
    #[test]
    fn outputs_at_known_times_give_rates_and_those_of_an_interval_none() {
        let text = fixture("loop-c.txt");
        assert!(text.contains("\tnfsstat.calls_per_s\tside=client,version=3,op=read\t120\t/s"), "{text}");
        let text = fixture("Z1-c.txt");
        assert!(!text.contains("since boot") && !text.contains("_per_s"), "{text}");
    }

    #[test]
    fn the_list_has_the_figures_of_the_tables() {
        let calls = |text: &str| {
            let own = |line: &&str| line.contains("nfsstat.calls\t") || line.contains("nfsstat.operations\t");
            let cut = |line: &str| line.split('\t').skip(1).map(str::to_owned).collect::<Vec<_>>();
            let lines: std::collections::BTreeSet<_> = text.lines().filter(own).map(cut).collect();
            lines
        };
        let (list, table) = (calls(&fixture("l.txt")), calls(&fixture("tables.txt")));
        assert!(!list.is_empty() && list.is_subset(&table), "{list:?}\n{table:?}");
    }

    #[test]
    fn others_are_nobodys() {
        for text in ["Server rpc stats:\nsomething\n", "nfs v3 is a protocol\n", "Server nfs v4:\n"] {
            assert_eq!((FORMAT.sniff)(&Head { text }), Sure::No, "{text}");
        }
    }
}
