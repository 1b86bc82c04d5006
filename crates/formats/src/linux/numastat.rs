//! `numastat`: hits and misses of memory's nodes (plain and `-n`), memory by node (`-m`), memory of processes by node
//! (`-p`).
//!
//! Hits and misses count pages since boot (`-n` prints megabytes of them); rates follow where the time between two
//! outputs is known. Everything is a metric of a node; what has no node is the sum over all. That sum need not be the
//! host's memory: memory that was added to a running virtual machine may belong to no node. Megabytes are of 1,048,576
//! bytes, with two decimals.

use fenxi_model::{Micros, catalog::metric};

use super::counters::Counters;
use crate::{
    Family, Format, Head, Input, Out, Sure,
    generic::labels::Labels,
    number,
    procps::moments::{Moments, is_prompt},
    stamp,
};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "numastat",
    summary: "numastat: plain, -n, -m, -p",
    family: Family::Linux,
    tables: &[&metric::TABLE],
    example: "\
                           node0           node1
numa_hit                29281860        12345678
numa_miss                      0               0
numa_foreign                   0               0
",
    sniff,
    read,
};

const MIB: f64 = 1_048_576.0;

/// What the lines are about.
#[derive(Clone, Debug, PartialEq)]
enum Section {
    /// Pages since boot.
    Counts,
    /// Megabytes of pages since boot.
    CountsMib,
    Memory,
    /// Memory of one process, or of several with a line each.
    Process(Option<(String, String)>),
}

/// The title of a section.
fn section(line: &str) -> Option<Section> {
    let rest = line.trim().strip_prefix("Per-node ")?;
    if rest.starts_with("system memory usage (in MBs)") {
        return Some(Section::Memory);
    }
    if rest.starts_with("numastat info (in MBs)") {
        return Some(Section::CountsMib);
    }
    let rest = rest.strip_prefix("process memory usage (in MBs)")?;
    Some(Section::Process(rest.trim().strip_prefix("for PID ").and_then(process)))
}

/// `1234 (mysqld)`
fn process(text: &str) -> Option<(String, String)> {
    let (pid, name) = text.split_once(' ')?;
    let name = name.trim().strip_prefix('(')?.strip_suffix(')')?;
    pid.bytes().all(|b| b.is_ascii_digit()).then(|| (pid.to_owned(), name.to_owned()))
}

/// The nodes of a line of titles: `node0 node1`, `PID Node 0 Node 1 Total`.
fn nodes(line: &str) -> Option<Vec<String>> {
    let mut words = line.split_ascii_whitespace().peekable();
    words.next_if_eq(&"PID");
    let mut nodes = Vec::new();
    while let Some(word) = words.next() {
        let number = match word {
            "Total" if !nodes.is_empty() && words.peek().is_none() => "",
            "Node" => words.next()?,
            word => word.strip_prefix("node")?,
        };
        if word != "Total" && (number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit())) {
            return None;
        }
        nodes.push(number.to_owned());
    }
    Some(nodes).filter(|nodes| !nodes.is_empty())
}

fn sniff(head: &Head<'_>) -> Sure {
    if !["Per-node ", "numa_hit "].iter().any(|own| head.text.contains(own)) {
        return Sure::No;
    }
    let mut nodes_before = false;
    for line in head.lines().take(80) {
        let line = stamp(line).map_or(line, |stamp| stamp.rest);
        if section(line).is_some() || nodes_before && line.starts_with("numa_hit ") {
            return Sure::Certain;
        }
        nodes_before = nodes(line).is_some();
    }
    Sure::No
}

struct Reader {
    moments: Moments,
    counters: Counters,
    section: Section,
    nodes: Vec<String>,
    now: Option<(Micros, Option<f64>)>,
    /// Lines of this output: when the first comes again, so does the output.
    first: Option<String>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        moments: Moments::new(out),
        counters: Counters::default(),
        section: Section::Counts,
        nodes: Vec::new(),
        now: None,
        first: None,
    };
    input.each_line(|number, line| {
        let line = line.trim();
        if line.is_empty() || reader.line(line, out) {
            return;
        }
        match stamp(line).map(|stamp| stamp.rest.trim().to_owned()) {
            Some(rest) => {
                if rest.is_empty() {
                    reader.end();
                }
                reader.moments.take(line, out);
                if !rest.is_empty() && !reader.line(&rest, out) {
                    out.unknown(number, line, "no line of numastat");
                }
            }
            // It complains about what it does not know of a newer kernel, and may be asked for processes it must not see.
            None if is_prompt(line, "numastat") => {}
            None if line.starts_with("Token ") && line.ends_with(" not in hash table.") => {}
            None => out.unknown(number, line, "no line of numastat"),
        }
    });
}

impl Reader {
    fn end(&mut self) {
        (self.now, self.first) = (None, None);
    }

    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if let Some(found) = section(line) {
            if self.first.as_deref() == Some(line) {
                self.end();
            }
            self.first.get_or_insert_with(|| line.to_owned());
            self.section = found;
            self.nodes.clear();
            return true;
        }
        if let Some(found) = nodes(line) {
            self.nodes = found;
            return true;
        }
        if line.split_ascii_whitespace().all(|word| word.bytes().all(|b| b == b'-')) {
            return true;
        }
        if self.nodes.is_empty() {
            return false;
        }
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let Some(at) = words.len().checked_sub(self.nodes.len()).filter(|at| *at >= 1) else { return false };
        let Some(values) = words.iter().skip(at).map(|word| number(word)).collect::<Option<Vec<f64>>>() else {
            return false;
        };
        let name = words.iter().take(at).copied().collect::<Vec<_>>().join(" ");
        self.values(&name, &values, out);
        true
    }

    fn values(&mut self, name: &str, values: &[f64], out: &mut Out<'_>) {
        if self.section == Section::Counts && self.first.as_deref() == Some(name) {
            self.end();
        }
        if self.section == Section::Counts {
            self.first.get_or_insert_with(|| name.to_owned());
        }
        let (t, dt) = *self.now.get_or_insert_with(|| self.moments.next(out));
        let (scale, unit) = if self.section == Section::Counts { (1.0, "") } else { (MIB, "B") };
        let (mut title, mut labels) = (name.to_owned(), Labels::default());
        if let Section::Process(owner) = &self.section {
            // Of several processes each has a line with its sums.
            let of_line = if owner.is_none() { process(name) } else { None };
            if of_line.is_some() {
                title = "Total".to_owned();
            }
            if let Some((pid, comm)) = owner.as_ref().or(of_line.as_ref()) {
                labels.push("pid", pid);
                labels.push("comm", comm);
            }
        }
        let metric = match self.section {
            Section::Process(_) => format!("numastat.process_{title}"),
            Section::CountsMib => format!("numastat.{}_bytes", title.to_lowercase()),
            _ => format!("numastat.{title}"),
        };
        let base = labels.len();
        for (node, value) in self.nodes.iter().zip(values) {
            labels.cut(base);
            labels.push("node", node);
            let value = value * scale;
            out.metric(t, dt, &metric, labels.text(), value, unit);
            if matches!(self.section, Section::Counts | Section::CountsMib) {
                let rate = self.counters.rate(&format!("{metric} {node}"), t, value);
                if let Some(rate) = rate.filter(|_| self.moments.is_measured()) {
                    out.metric(
                        t,
                        dt,
                        &format!("{metric}_per_s"),
                        labels.text(),
                        rate,
                        if unit == "B" { "B/s" } else { "/s" },
                    );
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FORMAT, Section, nodes, section};
    use crate::fixtures::read;

    #[test]
    fn titles_are_read() {
        let names = |line| nodes(line).map(|n| n.join(" "));
        assert_eq!(names("  node0   node1"), Some("0 1".to_owned()));
        assert_eq!(names("PID   Node 0  Node 1   Total"), Some("0 1 ".to_owned()));
        for other in ["", "node", "nodes 2", "Total", "Node x", "node0 up"] {
            assert_eq!(names(other), None, "{other}");
        }
        let owner = Some(("1".to_owned(), "init".to_owned()));
        assert_eq!(section("Per-node process memory usage (in MBs) for PID 1 (init)"), Some(Section::Process(owner)));
        assert_eq!(section("Per-node process memory usage (in MBs)"), Some(Section::Process(None)));
    }

    #[test]
    fn processes_of_several_nodes_keep_their_names() {
        let text = "\nPer-node process memory usage (in MBs)\nPID              Node 0 Node 1 Total\n---------------  ----- ----- -----\n12 (my db)     1.00 2.00 3.00\n13 (x)     0.50 0.00 0.50\n---------------  ----- ----- -----\nTotal     1.50 2.00 3.50\n";
        let read = read(&FORMAT, text.as_bytes());
        assert_eq!(read.tally.notes, 0, "{}", read.text);
        assert!(read.text.contains("numastat.process_Total\tpid=12,comm=my db,node=1\t2097152\tB"), "{}", read.text);
        assert!(read.text.contains("numastat.process_Total\tnode=0\t1572864\tB"), "{}", read.text);
    }
}
