//! `zpool status` of ZFS: errors and state of each device of a pool, with `-s` slow I/Os, with `-v` and `-t` too.
//!
//! Errors are counted since the pool was imported or cleared. The pool's texts, and the state of
//! each device, are facts. The fixtures are written by hand.

use fenxi_model::{Micros, catalog::metric};
use rustc_hash::FxHashMap;

use crate::{
    Family, Format, Head, Input, Out, Sure,
    generic::labels::Labels,
    procps::moments::{Moments, is_prompt},
    scaled, stamp,
};

/// Importer for zpool status of ZFS.
pub static FORMAT: Format = Format {
    name: "zpool-status",
    summary: "zpool status of ZFS: -v, -s, -t, -p",
    family: Family::Linux,
    tables: &[&metric::TABLE],
    example: "  pool: tank
 state: ONLINE
config:

\tNAME        STATE     READ WRITE CKSUM
\ttank        ONLINE       0     0     0
\t  sda       ONLINE       0     0     3

errors: No known data errors
",
    sniff,
    read,
};

/// Titles of a pool's texts.
const TITLES: &[&str] =
    &["state", "status", "action", "see", "scan", "scrub", "remove", "checkpoint", "errors", "dedup", "comment"];
/// Kinds of devices that stand alone above them.
const CLASSES: &[&str] = &["logs", "cache", "spares", "special", "dedup", "replacing"];
/// The columns of errors, and the metric of each.
const COLUMNS: &[(&str, &str)] =
    &[("READ", "read_errors"), ("WRITE", "write_errors"), ("CKSUM", "checksum_errors"), ("SLOW", "slow_ios")];
/// Lines that a title may go on over.
const MOST_LINES: usize = 40;

fn is_header(line: &str) -> bool {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    words.starts_with(&["NAME", "STATE", "READ", "WRITE", "CKSUM"]) && words.len() <= 6
}

fn sniff(head: &Head<'_>) -> Sure {
    let pool = head.any(|line| line.strip_prefix("pool: ").is_some_and(|name| !name.contains(' ')));
    let state = head.any(|line| line.starts_with("state: "));
    // A part of it, from its titles on: the pool itself is first below them.
    let lines: Vec<&str> = head.lines().take(200).collect();
    let part = lines.windows(2).any(|pair| is_header(pair[0]) && is_pool(pair[1]));
    Sure::Certain.when(pool && state && head.any(is_header) || part)
}

/// `demo  ONLINE  0  0  0`
fn is_pool(line: &str) -> bool {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let states = ["ONLINE", "DEGRADED", "FAULTED", "OFFLINE", "UNAVAIL", "REMOVED", "SUSPENDED"];
    words.len() >= 5 && states.contains(&words[1]) && words[2..5].iter().all(|cell| count(cell).is_some())
}

struct Reader {
    moments: Moments,
    now: Option<(Micros, Option<f64>)>,
    pool: Option<String>,
    first: Option<String>,
    /// A pool's text at the moment: title and text.
    said: Option<(String, String, usize)>,
    columns: Option<Vec<String>>,
    class: String,
    /// The last text, by name: the same again is no new fact.
    facts: FxHashMap<String, String>,
}

/// Names of facts that are remembered.
const MOST_FACTS: usize = 1 << 14;

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        moments: Moments::new(out),
        now: None,
        pool: None,
        first: None,
        said: None,
        columns: None,
        class: String::new(),
        facts: FxHashMap::default(),
    };
    input.each_line(|number, line| {
        if !line.trim().is_empty() && !reader.line(line, out) {
            out.unknown(number, line, "no line of zpool status");
        }
    });
    reader.say(out);
}

impl Reader {
    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let text = line.trim();
        if let Some((title, value)) = text.split_once(':').filter(|(title, value)| {
            (TITLES.contains(title) || *title == "pool" || *title == "config")
                && (value.is_empty() || value.starts_with(' '))
        }) {
            self.say(out);
            self.columns = None;
            match title {
                "pool" => self.begin(value.trim()),
                "config" => {}
                _ if self.pool.is_none() => return false,
                _ => self.said = Some((title.to_owned(), value.trim().to_owned(), 1)),
            }
            return true;
        }
        if is_header(text) {
            self.say(out);
            self.columns = Some(text.split_ascii_whitespace().skip(2).map(str::to_owned).collect());
            self.class.clear();
            return true;
        }
        if self.columns.is_some() && self.device(text, out) {
            return true;
        }
        if stamp(text).is_some_and(|stamp| stamp.rest.is_empty()) {
            self.say(out);
            (self.now, self.first, self.pool, self.columns) = (None, None, None, None);
            self.moments.take(text, out);
            return true;
        }
        // Marks of lines that were left out of a quoted part.
        if text == "[...]" || text == "..." {
            return true;
        }
        if let Some((_, said, lines)) = &mut self.said {
            // Names of damaged files may be many.
            if *lines < MOST_LINES {
                said.push(' ');
                said.push_str(text);
            }
            *lines += 1;
            return true;
        }
        is_prompt(text, "zpool")
    }

    fn begin(&mut self, pool: &str) {
        if self.first.as_deref() == Some(pool) {
            (self.now, self.first) = (None, None);
        }
        self.first.get_or_insert_with(|| pool.to_owned());
        self.pool = Some(pool.to_owned());
        self.class.clear();
    }

    /// Writes the pool's texts.
    fn say(&mut self, out: &mut Out<'_>) {
        let (Some((title, text, _)), Some(pool)) = (self.said.take(), self.pool.as_deref()) else { return };
        let name = format!("{pool} {title}");
        self.fact(name, text, out);
    }

    fn fact(&mut self, name: String, text: String, out: &mut Out<'_>) {
        if self.facts.get(&name) == Some(&text) {
            return;
        }
        out.fact("zfs", &name, &text);
        if self.facts.len() < MOST_FACTS || self.facts.contains_key(&name) {
            self.facts.insert(name, text);
        }
    }

    /// `sdb       DEGRADED     0     0    12K  too many errors`
    fn device(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if self.columns.is_some() && self.pool.is_none() && is_pool(line) {
            self.begin(line.split_ascii_whitespace().next().unwrap_or(""));
        }
        let (Some(columns), Some(pool)) = (&self.columns, &self.pool) else { return false };
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if let [class] = words[..]
            && CLASSES.contains(&class)
        {
            class.clone_into(&mut self.class);
            return true;
        }
        let (Some(name), Some(state)) = (words.first(), words.get(1)) else { return false };
        if !state.bytes().all(|b| b.is_ascii_uppercase()) {
            return false;
        }
        let cells = words.get(2..2 + columns.len());
        let counts: Option<Vec<Option<f64>>> = cells.and_then(|cells| cells.iter().map(|cell| count(cell)).collect());
        // A spare has a state only.
        if counts.is_none() && (words.len() > 2 && self.class != "spares") {
            return false;
        }
        let mut labels = Labels::of("pool", pool);
        labels.push("device", name);
        labels.push("class", &self.class);
        let (t, dt) = *self.now.get_or_insert_with(|| self.moments.next(out));
        for (column, value) in columns.iter().zip(counts.iter().flatten()) {
            let known = COLUMNS.iter().find(|(title, _)| title == column);
            if let (Some((_, metric)), Some(value)) = (known, value) {
                out.metric(t, dt, &format!("zpool-status.{metric}"), labels.text(), *value, "");
            }
        }
        let told = counts.map_or(2, |_| 2 + columns.len());
        let words = std::iter::once(*state).chain(words.iter().skip(told).copied());
        let (name, text) = (format!("{pool} device {name}"), words.collect::<Vec<_>>().join(" "));
        self.fact(name, text, out);
        true
    }
}

/// `0`, `12K`, `1.5M`; `-` where nothing is counted. None for what is no count.
fn count(cell: &str) -> Option<Option<f64>> {
    if cell == "-" { Some(None) } else { scaled(cell, 1024.0).map(Some) }
}

#[cfg(test)]
mod tests {
    use super::FORMAT;
    use crate::{Head, Sure, fixtures::read};

    #[test]
    fn each_device_has_its_errors_and_its_state() {
        let path = "fixtures/zpool-status/degraded.txt";
        let read = read(&FORMAT, &fs_err::read(path).unwrap());
        assert_eq!(read.tally.notes, 0, "{}", read.text);
        for line in [
            "zpool-status.checksum_errors\tpool=tank,device=sdb\t12288",
            "zpool-status.read_errors\tpool=tank,device=nvme0n1,class=logs\t2",
            "zfs\ttank device sdb\tDEGRADED too many errors",
            "zfs\ttank device sdf\tAVAIL",
        ] {
            assert!(read.text.contains(line), "{line}\n{}", read.text);
        }
    }

    #[test]
    fn other_pools_are_nobodys() {
        for text in ["pool: a\nstate: b\n", "NAME STATE READ WRITE CKSUM\n", "pool: x\n NAME STATE READ WRITE CKSUM\n"]
        {
            assert_eq!((FORMAT.sniff)(&Head { text }), Sure::No, "{text}");
        }
    }
}
