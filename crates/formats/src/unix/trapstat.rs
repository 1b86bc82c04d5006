//! `trapstat` of Solaris on SPARC: traps per second by CPU, and with `-t` and `-T` misses of the
//! translation buffers with the share of time they took.
//!
//! The totals below a table are left out, as they follow from it; the plain table is cut into several
//! ones side by side where there are many CPUs.

use fenxi_model::{Micros, catalog::metric};

use super::times::{Times, Tool};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "trapstat",
    summary: "trapstat of Solaris on SPARC: default, -t, -T",
    family: Family::Unix,
    tables: &[&metric::TABLE],
    example: "\
cpu m| itlb-miss %tim itsb-miss %tim | dtlb-miss %tim dtsb-miss %tim |%tim
-----+-------------------------------+-------------------------------+----
  0 u|         1  0.0         0  0.0 |   2171237 45.7         0  0.0 |45.7
  0 k|         2  0.0         0  0.0 |      3751  0.1         7  0.0 | 0.1
",
    sniff,
    read,
};

const TOOL: Tool =
    Tool { name: "trapstat", takes: "Cce", every: None, counters: false, default_s: 1.0, first_since_boot: false };

fn sniff(head: &Head<'_>) -> Sure {
    let misses = head.has_words("itlb-miss %tim itsb-miss %tim");
    Sure::Certain.when(misses || head.any(|line| line.starts_with("vct name") && line.contains('|')))
}

struct Reader {
    times: Times,
    block: Option<(Micros, Option<f64>)>,
    /// CPUs that head the columns of the plain table; none for misses.
    cpus: Vec<String>,
    /// Names of the columns of misses.
    columns: Vec<String>,
    /// What a block began with: the first CPU, or its first row.
    first: Option<String>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let times = Times::new(input, out, TOOL);
    let mut reader = Reader { times, block: None, cpus: Vec::new(), columns: Vec::new(), first: None };
    input.each_line(|number, line| reader.line(number, line, out));
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, out: &mut Out<'_>) {
        let line = self.times.strip(line, out).trim();
        let rule = line.bytes().all(|b| matches!(b, b'-' | b'=' | b'+' | b' '));
        if line.is_empty() || rule || line.starts_with("ttl") || line.contains("ttl |") || self.times.knows(line) {
            return;
        }
        let Some((left, right)) = line.split_once('|') else {
            out.unknown(number, line, "no table");
            return;
        };
        if left.starts_with("vct") {
            self.cpus = right.split_ascii_whitespace().map(|cpu| cpu.trim_start_matches("cpu").to_owned()).collect();
            self.begin(self.cpus.first().cloned());
        } else if left.starts_with("cpu") {
            self.cpus.clear();
            self.misses(right);
        } else if self.cpus.is_empty() {
            self.miss(number, left, right, out);
        } else {
            self.traps(number, left, right, out);
        }
    }

    /// A part of a table begins; a block does if it began in the same way.
    fn begin(&mut self, first: Option<String>) {
        if self.first.is_none() || self.first == first {
            self.block = None;
            self.first = first;
        }
    }

    /// The header of misses: each name is followed by its share of time.
    fn misses(&mut self, text: &str) {
        self.block = None;
        self.first = None;
        self.columns.clear();
        let mut name = String::new();
        for group in text.split('|') {
            for word in group.split_ascii_whitespace() {
                if word == "%tim" {
                    let of = if name.is_empty() { "time".to_owned() } else { format!("{name} time") };
                    self.columns.push(of);
                } else {
                    word.clone_into(&mut name);
                    self.columns.push(name.clone());
                }
            }
            name.clear();
        }
    }

    /// `  0 u   8k| 30 0.0 0 0.0 | ...`
    fn miss(&mut self, line: u64, left: &str, right: &str, out: &mut Out<'_>) {
        let mut words = left.split_ascii_whitespace();
        let (Some(cpu), mode, size) = (words.next(), words.next(), words.next()) else { return };
        if left.trim() == self.first.as_deref().unwrap_or("") {
            self.block = None;
        }
        self.first.get_or_insert_with(|| left.trim().to_owned());
        let mut labels = format!("cpu={cpu}");
        for (key, value) in [("mode", mode), ("size", size)] {
            if let Some(value) = value {
                labels.push_str(&format!(",{key}={value}"));
            }
        }
        let (t, dt) = *self.block.get_or_insert_with(|| self.times.begin(out));
        let values: Vec<&str> =
            right.split(|c: char| c == '|' || c.is_ascii_whitespace()).filter(|w| !w.is_empty()).collect();
        if values.len() != self.columns.len() {
            out.wrong_count(line, right, values.len(), self.columns.len());
            return;
        }
        for (name, cell) in self.columns.iter().zip(values) {
            match number(cell) {
                Some(value) => {
                    let unit = if name.ends_with("time") { "%" } else { "/s" };
                    out.metric(t, dt, &format!("trapstat.{name}"), &labels, value, unit);
                }
                None => out.unknown(line, cell, "no number"),
            }
        }
    }

    /// ` 24 cleanwin | 6446 4837`
    fn traps(&mut self, line: u64, left: &str, right: &str, out: &mut Out<'_>) {
        let name = left.trim().split_once(' ').map_or(left.trim(), |(_, name)| name.trim());
        let (t, dt) = *self.block.get_or_insert_with(|| self.times.begin(out));
        let values: Vec<&str> = right.split_ascii_whitespace().collect();
        if values.len() != self.cpus.len() {
            out.unknown(line, right, &format!("{} values for {} CPUs", values.len(), self.cpus.len()));
            return;
        }
        for (cpu, cell) in self.cpus.iter().zip(values) {
            match number(cell) {
                Some(value) => out.metric(t, dt, &format!("trapstat.{name}"), &format!("cpu={cpu}"), value, "/s"),
                None => out.unknown(line, cell, "no number"),
            }
        }
    }
}
