//! Reads and writes of each file system by how they follow each other: a DTrace script for Solaris.
//!
//! A block for each file system has a line for sequential, random and page operations (of mapped files) and a total, which
//! follows from them. Right of them are other operations, of the file system as a whole.

use fenxi_model::{
    Micros,
    catalog::io_pattern::{self, TABLE},
};

use crate::{Clock, Family, Format, Head, Input, Out, Sure, ctime, number};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "solaris-iopattern",
    summary: "sequential and random I/O of file systems, by a DTrace script of Solaris",
    family: Family::Unix,
    tables: &[&TABLE],
    example: "\
Sample interval: 120 seconds
End time: 2011 Mar 23 10:42:20

/u                         rd/s    wr/s   rdKB/s   wrKB/s   acc/look:       0
             sequential 2616.20 0.62501  2676408 0.718235    readdir:       0
                 random 2.65836 0.20834 2713.623 0.641998  geta/seta:       0
",
    sniff,
    read,
};

/// Operations that are neither reads nor writes, by what the script calls them.
const OTHERS: [(&str, Option<&str>); 5] = [
    ("acc/look:", Some("lookup")),
    ("readdir:", Some("readdir")),
    ("geta/seta:", Some("attr")),
    // Creations and removals together.
    ("cr/rm:", None),
    ("other:", None),
];

fn is_header(line: &str) -> bool {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    words.windows(4).any(|four| four == ["rd/s", "wr/s", "rdKB/s", "wrKB/s"])
}

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.any(is_header) && head.any(|line| line.starts_with("sequential ")))
}

/// The interval and the file system that lines are about.
struct Block {
    clock: Clock,
    t: Option<Micros>,
    dt: Option<f64>,
    mount: String,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut block = Block { clock: Clock::new(out.hints()), t: out.modified(), dt: None, mount: String::new() };
    input.each_line(|at, line| {
        let line = line.trim();
        if !line.is_empty() && !block.line(line, out) {
            out.unknown(at, line, "no line of a file system");
        }
    });
}

impl Block {
    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if let Some(seconds) = line.strip_prefix("Sample interval: ") {
            self.dt = seconds.split_ascii_whitespace().next().and_then(number);
            return self.dt.is_some();
        }
        if let Some(end) = line.strip_prefix("End time: ") {
            let Some(end) = ctime(end) else { return false };
            self.clock.set_date(end.when.date());
            self.t = Some(self.clock.moment(end.when));
            return true;
        }
        if is_header(line) {
            let Some((mount, rest)) = line.split_once(" rd/s").or_else(|| line.split_once("\trd/s")) else {
                return false;
            };
            self.mount = mount.trim().to_owned();
            return self.other(rest, out);
        }
        if self.mount.is_empty() {
            // The origin of page operations is before the tables.
            return line.starts_with("FYI: ") || line.starts_with("fop_");
        }
        let mut words = line.split_ascii_whitespace();
        let Some(pattern) = words.next().filter(|word| ["sequential", "random", "page", "TOTAL"].contains(word)) else {
            return line.starts_with("FYI: ") || line.starts_with("fop_");
        };
        let mut next = || words.next().and_then(number);
        let (Some(reads), Some(writes), Some(read_kib), Some(written_kib)) = (next(), next(), next(), next()) else {
            return false;
        };
        if pattern != "TOTAL" {
            for (op, ops, kib) in [("read", reads, read_kib), ("write", writes, written_kib)] {
                let mut row = out.row(&TABLE, self.t, self.dt);
                row.str(io_pattern::mount, self.mount.as_str())
                    .str(io_pattern::op, op)
                    .str(io_pattern::pattern, pattern);
                row.f64(io_pattern::ops_per_s, ops).f64(io_pattern::transfer_bytes_per_s, kib * 1024.0);
            }
        }
        self.other(line, out)
    }

    /// The other operations at the end of a line.
    fn other(&self, line: &str, out: &mut Out<'_>) -> bool {
        let mut words = line.split_ascii_whitespace().rev();
        let (Some(value), Some(name)) = (words.next().and_then(number), words.next()) else { return false };
        match OTHERS.iter().find(|(known, _)| *known == name) {
            Some((_, Some(op))) => {
                let mut row = out.row(&TABLE, self.t, self.dt);
                row.str(io_pattern::mount, self.mount.as_str())
                    .str(io_pattern::op, *op)
                    .f64(io_pattern::ops_per_s, value);
            }
            Some((known, None)) => {
                let labels = format!("mount={},op={}", self.mount, known.trim_end_matches(':'));
                out.metric(self.t, self.dt, "solaris-iopattern.ops", &labels, value, "/s");
            }
            None => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::read;

    #[test]
    fn kilobytes_are_bytes_and_totals_are_left_out() {
        let text = "Sample interval: 60 seconds\nEnd time: 2011 Mar 22 12:09:28\n\
            /u  rd/s wr/s rdKB/s wrKB/s acc/look: 2.5\n sequential 157.5 0 1000 0 readdir: 0\n TOTAL 157.5 0 1000 0 other: 5.25\nhello\n";
        let read = read(&FORMAT, text.as_bytes());
        assert!(
            read.text.contains("2011-03-22T12:09:28.000000Z\t60\tfixture\t/u\tread\tsequential\t157.5\t1024000"),
            "{}",
            read.text
        );
        assert!(read.text.contains("/u\tlookup\t\t2.5"), "{}", read.text);
        assert!(!read.text.contains("TOTAL") && read.text.contains("op=other\t5.25"), "{}", read.text);
        assert_eq!(read.tally.notes, 1);
    }
}
