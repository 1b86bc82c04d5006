//! `netstat -i` of the BSDs, macOS, Solaris, AIX and HP-UX, once or several times: counters of each
//! interface since boot.
//!
//! An interface has a line for each of its addresses, which repeat its counters (or some of them); the
//! first one counts. Columns are found from the right, as the address may be missing.

use fenxi_model::{
    Micros, Place,
    catalog::{metric, net},
    place::F64,
};
use rustc_hash::FxHashMap;

use super::{
    netstat_interval::class,
    times::{Times, Tool},
};
use crate::{Family, Fields, Format, Head, Input, Out, Splitter, Sure, number};

/// Importer for netstat -i (also -ib, -in) of FreeBSD, macOS, OpenBSD, Solaris, AIX, HP-UX, repeatedly.
pub static FORMAT: Format = Format {
    name: "netstat-i",
    summary: "netstat -i (also -ib, -in) of FreeBSD, macOS, OpenBSD, Solaris, AIX, HP-UX, repeatedly",
    family: Family::Unix,
    tables: &[&net::TABLE],
    example: "\
Name  Mtu   Network       Address            Ipkts Ierrs     Ibytes    Opkts Oerrs     Obytes  Coll
lo0   16384 <Link#1>                        318258     0  428252203   318258     0  428252203     0
en0   1500  <Link#5>    00:00:5e:00:53:01  1000000     0 5000000000   900000     0  400000000     0
",
    sniff,
    read,
};

const TOOL: Tool =
    Tool { name: "netstat", takes: "IfMNp", every: None, counters: false, default_s: 1.0, first_since_boot: true };

/// Most interfaces that a report can have.
const MAX_INTERFACES: usize = 1 << 16;

/// Columns of counters, by their heads.
const COUNTERS: &[(&str, Place<net::Schema, F64>)] = &[
    ("Ipkts", net::rx_packets_per_s),
    ("Ierrs", net::rx_errors_per_s),
    ("Idrop", net::rx_drops_per_s),
    ("Ibytes", net::rx_bytes_per_s),
    ("Opkts", net::tx_packets_per_s),
    ("Oerrs", net::tx_errors_per_s),
    ("Odrop", net::tx_drops_per_s),
    ("Obytes", net::tx_bytes_per_s),
    ("Coll", net::collisions_per_s),
    ("Colls", net::collisions_per_s),
    ("Collis", net::collisions_per_s),
    ("Drop", net::tx_drops_per_s),
];

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.any(|line| is_header(&line.split_ascii_whitespace().collect::<Vec<_>>())))
}

fn is_header(words: &[&str]) -> bool {
    words.first() == Some(&"Name") && words.contains(&"Ipkts") && words.contains(&"Opkts")
}

/// Counters of one interface, in the order of [`COUNTERS`]; NaN where there is none.
type Counts = [f64; COUNTERS.len()];

struct Reader {
    times: Times,
    /// The counters of the header, from the right.
    columns: Vec<Option<usize>>,
    queue: bool,
    block: Option<(Micros, Option<f64>)>,
    now: FxHashMap<String, Counts>,
    before: FxHashMap<String, Counts>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        times: Times::new(input, out, TOOL),
        columns: Vec::new(),
        queue: false,
        block: None,
        now: FxHashMap::default(),
        before: FxHashMap::default(),
    };
    let mut splitter = Splitter::default();
    input.each_line(|number, line| reader.line(number, line, &mut splitter, out));
    out.since_boot(false);
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        let line = self.times.strip(line, out).trim();
        if line.is_empty() || self.times.knows(line) {
            return;
        }
        let fields = splitter.blanks(line);
        let words: Vec<&str> = fields.iter().take(32).collect();
        if is_header(&words) {
            self.header(&words);
        } else if fields.len() == 1 || self.columns.is_empty() {
            // A long address has a separate line below (`ff01::1%lo0`).
            if self.columns.is_empty() {
                out.unknown(number, line, "values before any header");
            }
        } else {
            self.interface(number, &fields, out);
        }
    }

    fn header(&mut self, words: &[&str]) {
        // Solaris prints IPv6 in a second table, without the queue.
        let queue = words.contains(&"Queue");
        let second = self.queue && !queue;
        self.queue = queue;
        if !second && self.block.take().is_some() {
            std::mem::swap(&mut self.now, &mut self.before);
            self.now.clear();
        }
        let known = |word: &&str| COUNTERS.iter().position(|(name, _)| name == word);
        let counters = words.iter().rev().take_while(|w| known(w).is_some() || matches!(**w, "Queue" | "Time"));
        self.columns = counters.map(known).collect();
    }

    fn interface(&mut self, line: u64, fields: &Fields<'_>, out: &mut Out<'_>) {
        // An asterisk marks an interface that is down.
        let name = fields.get(0).trim_end_matches('*');
        if self.now.contains_key(name) || self.now.len() >= MAX_INTERFACES {
            return;
        }
        if fields.len() < self.columns.len() + 2 {
            out.unknown(line, fields.rest(0), &format!("{} columns", fields.len()));
            return;
        }
        let (t, dt) = *self.block.get_or_insert_with(|| {
            let (t, dt) = self.times.begin(out);
            let told = self.times.are_told() || out.hints().interval_s.is_some();
            (t, dt.filter(|_| told))
        });
        let mut counts: Counts = [f64::NAN; COUNTERS.len()];
        for (from_right, column) in self.columns.iter().enumerate() {
            let cell = fields.get(fields.len() - 1 - from_right);
            match (column, number(cell)) {
                (Some(column), Some(count)) => counts[*column] = count,
                (Some(_), None) if cell != "-" => out.unknown(line, cell, "no counter"),
                _ => {}
            }
        }
        match self.before.get(name) {
            None => totals(name, &counts, t, out),
            Some(before) => {
                let mut row = out.row(&net::TABLE, t, dt);
                row.str(net::interface, name).str(net::class, class(name));
                for ((_, place), (now, before)) in COUNTERS.iter().zip(counts.iter().zip(before)) {
                    if let Some(dt) = dt.filter(|dt| *dt > 0.0 && now >= before) {
                        row.f64(*place, (now - before) / dt);
                    }
                }
            }
        }
        self.now.insert(name.to_owned(), counts);
    }
}

/// Writes the counts of an interface since boot, by one report.
fn totals(name: &str, counts: &Counts, t: Micros, out: &mut Out<'_>) {
    out.since_boot(true);
    let labels = format!("interface={name}");
    for ((word, _), count) in COUNTERS.iter().zip(counts).filter(|(_, count)| !count.is_nan()) {
        let mut row = out.row(&metric::TABLE, t, None);
        row.str(metric::name, format!("netstat-i.{word}").as_str());
        row.str(metric::labels, labels.as_str()).f64(metric::value, *count);
    }
    out.since_boot(false);
}
