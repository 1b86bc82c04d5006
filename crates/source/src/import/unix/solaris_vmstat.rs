//! `vmstat` of Solaris and illumos, also with `-p`, `-S` and `-T`.
//!
//! The first row is since boot, and so is the one after a change of the machine. The header comes
//! again every 19 rows, so a header after fewer rows means that the tool was begun anew. `sy` heads
//! two columns: system calls, then time in the kernel. A disk's name is cut to two letters (`s0` is
//! `sd0`), which can make two disks the same.

use fenxi_model::{
    Micros,
    catalog::{cpu, disk, mem, sched, vm},
};

use super::times::{Times, Tool};
use crate::import::{Family, Field, Fields, Format, Head, Input, Layout, Out, Splitter, Sure, col, number};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "solaris-vmstat",
    summary: "vmstat of Solaris and illumos: also -p, -S, -T",
    family: Family::Unix,
    tables: &[&cpu::TABLE, &sched::TABLE, &mem::TABLE, &vm::TABLE, &disk::TABLE],
    example: "\
 kthr      memory            page            disk          faults      cpu
 r b w   swap  free  re  mf pi po fr de sr s0 s1 -- --   in   sy   cs us sy id
 0 0 0 1131540 12203120 0  0  0  0  0  0  0  0  0  0  0 3366 1478  420  0  0 99
",
    sniff,
    read,
};

const TOOL: Tool = Tool { name: "vmstat", takes: "T", every: None, default_s: 1.0, first_since_boot: true };

const KIB: f64 = 1024.0;

const COLUMNS: &[Field] = &[
    col("r", &sched::TABLE, sched::runnable),
    col("b", &sched::TABLE, sched::blocked),
    col("w", &sched::TABLE, sched::swapped),
    col("swap", &mem::TABLE, mem::swap_free_bytes).times(KIB),
    col("free", &mem::TABLE, mem::free_bytes).times(KIB),
    col("mf", &cpu::TABLE, cpu::minor_faults_per_s),
    col("pi", &vm::TABLE, vm::page_in_bytes_per_s).times(KIB),
    col("po", &vm::TABLE, vm::page_out_bytes_per_s).times(KIB),
    col("sr", &vm::TABLE, vm::scan_kswapd_pages_per_s),
    col("api", &vm::TABLE, vm::swap_in_bytes_per_s).times(KIB),
    col("apo", &vm::TABLE, vm::swap_out_bytes_per_s).times(KIB),
    col("in", &sched::TABLE, sched::intr_per_s),
    col("sy", &sched::TABLE, sched::syscalls_per_s),
    col("cs", &sched::TABLE, sched::context_switches_per_s),
    col("us", &cpu::TABLE, cpu::usr),
    col("sy", &cpu::TABLE, cpu::sys),
    col("wt", &cpu::TABLE, cpu::iowait),
    col("st", &cpu::TABLE, cpu::steal),
    col("id", &cpu::TABLE, cpu::idle),
];

/// Fewer rows than this between two headers, and the tool was begun anew.
const HEADER_EVERY: u32 = 18;
/// Words of the line above the header.
const GROUPS: &[&str] =
    &["kthr", "procs", "memory", "page", "disk", "disks", "faults", "cpu", "executable", "anonymous", "filesystem"];

fn sniff(head: &Head<'_>) -> Sure {
    let own = ["swap free re mf pi po fr de sr", "swap free si so pi po fr de sr", "swap free re mf fr de sr epi"];
    Sure::Certain.when(own.iter().any(|words| head.has_words(words)))
}

struct Reader {
    times: Times,
    layout: Option<Layout>,
    /// Disks and their columns.
    disks: Vec<(usize, String)>,
    /// Rows since the last header.
    rows: u32,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let times = Times::new(input, out, TOOL);
    let mut reader = Reader { times, layout: None, disks: Vec::new(), rows: 0 };
    let mut splitter = Splitter::default();
    while input.line().is_some() {
        reader.line(input.number(), input.text(), &mut splitter, out);
    }
    out.since_boot(false);
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        let line = self.times.strip(line, out).trim();
        if line.is_empty() {
            return;
        }
        let fields = splitter.blanks(line);
        if fields.iter().any(|f| f == "free") && fields.iter().any(|f| f == "sr") {
            self.header(&fields);
        } else if line.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            self.row(number, &fields, out);
        } else if fields.iter().all(|f| GROUPS.contains(&f)) || self.times.knows(line) {
            // The line above the header, or a message.
        } else {
            out.unknown(number, line, "neither header nor values");
        }
    }

    fn header(&mut self, fields: &Fields<'_>) {
        if (1..HEADER_EVERY).contains(&self.rows) {
            self.times.restart();
        }
        self.rows = 0;
        self.disks.clear();
        let after_sr = fields.iter().position(|f| f == "sr").map_or(fields.len(), |at| at + 1);
        let to = fields.iter().position(|f| f == "in").unwrap_or(after_sr);
        for column in after_sr..to {
            let name = fields.get(column);
            if name == "--" {
                continue;
            }
            let twins = self.disks.iter().filter(|(_, n)| n.split('.').next() == Some(name)).count();
            let name = if twins == 0 { name.to_owned() } else { format!("{name}.{}", twins + 1) };
            self.disks.push((column, name));
        }
        let mut known = COLUMNS.to_vec();
        known.extend((after_sr..to).map(|_| Field::skip("--")));
        let is_disk = |column: usize| (after_sr..to).contains(&column);
        let names = fields.iter().enumerate().map(|(column, name)| if is_disk(column) { "--" } else { name });
        self.layout = Some(Layout::new("solaris-vmstat", names, &known));
    }

    fn row(&mut self, line: u64, fields: &Fields<'_>, out: &mut Out<'_>) {
        let Some(layout) = &self.layout else {
            out.unknown(line, fields.rest(0), "values before any header");
            return;
        };
        if fields.len() != layout.len() {
            let why = format!("{} values under {} columns", fields.len(), layout.len());
            out.unknown(line, fields.rest(0), &why);
            return;
        }
        self.rows = self.rows.saturating_add(1);
        let (t, dt): (Micros, Option<f64>) = self.times.begin(out);
        layout.write(out, line, (t, dt), fields, |_, _| {}, String::new);
        for (column, name) in &self.disks {
            let ops = number(fields.get(*column)).map(|ops| ops + 0.0);
            out.row(&disk::TABLE, t, dt).str(disk::device, name.as_str()).f64(disk::transfers_per_s, ops);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::import::fixtures;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn rows_are_those_that_were_printed(
            rows in prop::collection::vec((prop::array::uniform20(0u32..20_000_000), 0u32..60, 0u32..40), 2..45),
            stamps: bool,
        ) {
            let mut text = String::new();
            for (n, (v, us, sy)) in rows.iter().enumerate() {
                if n == 0 || n >= 18 && (n - 18) % 19 == 0 {
                    text += " kthr      memory            page            disk          faults      cpu\n";
                    text += " r b w   swap  free  re  mf pi po fr de sr s0 s1 -- --   in   sy   cs us sy id\n";
                }
                if stamps {
                    text += &format!("{}\n", 1_500_000_000 + n * 5);
                }
                text += &format!(" {} {} {} {:6} {:5} {:3} {:3}", v[0], v[1], v[2], v[3], v[4], v[5], v[6]);
                text += &format!(" {:2} {:2} {:2} {:2} {:2} {:2} {:2}  0  0", v[7], v[8], v[9], v[10], v[11], v[12], v[13]);
                text += &format!(" {:4} {:4} {:4} {us:2} {sy:2} {:2}\n", v[14], v[15], v[16], 100 - us - sy);
            }
            let read = fixtures::read(&FORMAT, text.as_bytes());
            prop_assert_eq!(read.tally.notes, 0, "{}", read.text);
            let table = |name: &str| {
                let mut lines = read.text.lines().skip_while(|l| *l != format!("# {name}")).skip(1);
                let header: Vec<_> = lines.next().unwrap_or_default().split('\t').map(str::to_owned).collect();
                let rows: Vec<Vec<_>> =
                    lines.take_while(|l| !l.starts_with('#')).map(|l| l.split('\t').map(str::to_owned).collect()).collect();
                (header, rows)
            };
            for (name, column, of) in [
                ("cpu", "sys", (|r| f64::from(r.2)) as fn(&([u32; 20], u32, u32)) -> f64),
                ("cpu", "idle", |r| f64::from(100 - r.1 - r.2)),
                ("sched", "syscalls_per_s", |r| f64::from(r.0[15])),
                ("mem", "free_bytes", |r| f64::from(r.0[4]) * 1024.0),
                ("vm", "page_out_bytes_per_s", |r| f64::from(r.0[8]) * 1024.0),
            ] {
                let (header, cells) = table(name);
                let at = header.iter().position(|h| h == column).unwrap();
                let found: Vec<f64> = cells.iter().map(|row| row[at].parse().unwrap()).collect();
                let want: Vec<f64> = rows[1..].iter().map(of).collect();
                prop_assert_eq!(found, want);
            }
            prop_assert_eq!(table("disk").1.len(), 2 * (rows.len() - 1));
        }
    }
}
