//! `mpstat` of Solaris and illumos: one row for each processor, or with `-a` for each processor set.
//!
//! The first block is since boot, and so is the block after the processors changed. The header comes
//! before every block, but with a single processor only every 20 lines. With `-a` rates are sums
//! over the set and shares means; a known script prints the same with `CPUs` in front and rates that
//! are means as well.

use fenxi_model::{
    Micros,
    catalog::{cpu, metric, sched},
};

use super::times::{Times, Tool};
use crate::{CpuMean, Family, Field, Fields, Format, Head, Input, Layout, Out, Splitter, Sure, col, number};

/// Importer for mpstat of Solaris and illumos.
pub static FORMAT: Format = Format {
    name: "solaris-mpstat",
    summary: "mpstat of Solaris and illumos: -a, -p, -P, -T, and with a date before every line",
    family: Family::Unix,
    tables: &[&cpu::TABLE, &sched::TABLE],
    example: "\
CPU minf mjf xcal  intr ithr  csw icsw migr smtx  srw syscl  usr sys  wt idl
  0   15   0   48   204    4   92    1    3    2    0   127    1   1   0  98
  1    9   0    0     2    0   83    0    4    1    0    85    0   8   0  92
",
    sniff,
    read,
};

const TOOL: Tool =
    Tool { name: "mpstat", takes: "PT", every: None, counters: false, default_s: 1.0, first_since_boot: true };

const COLUMNS: &[Field] = &[
    col("minf", &cpu::TABLE, cpu::minor_faults_per_s),
    col("mjf", &cpu::TABLE, cpu::major_faults_per_s),
    col("xcal", &cpu::TABLE, cpu::cross_calls_per_s),
    col("intr", &cpu::TABLE, cpu::intr_per_s),
    col("ithr", &cpu::TABLE, cpu::interrupt_threads_per_s),
    col("csw", &cpu::TABLE, cpu::context_switches_per_s),
    col("icsw", &cpu::TABLE, cpu::involuntary_switches_per_s),
    col("migr", &cpu::TABLE, cpu::migrations_per_s),
    col("smtx", &cpu::TABLE, cpu::mutex_spins_per_s),
    col("srw", &cpu::TABLE, cpu::rwlock_spins_per_s),
    col("syscl", &cpu::TABLE, cpu::syscalls_per_s),
    col("usr", &cpu::TABLE, cpu::usr),
    col("sys", &cpu::TABLE, cpu::sys),
    col("wt", &cpu::TABLE, cpu::iowait),
    col("st", &cpu::TABLE, cpu::steal),
    col("idl", &cpu::TABLE, cpu::idle),
];

/// Most sets that one block can have; more are no processor sets.
const MAX_SETS: usize = 1024;

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.has_words("minf mjf xcal intr ithr csw"))
}

/// Subject of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// One processor.
    Cpu,
    /// A processor set: rates are sums over its processors.
    Set,
    /// All processors, which the first column counts; rates are means over them.
    Mean,
}

struct Reader {
    times: Times,
    unit: Unit,
    /// Whether a row has the number of processors of its set.
    sized: bool,
    layout: Option<Layout>,
    /// The block being read: its time and length, and the first column of its first row.
    block: Option<(Micros, Option<f64>)>,
    first: Option<String>,
    mean: CpuMean,
    sets: Vec<Set>,
}

/// The row of one processor set.
struct Set {
    name: String,
    cpus: f64,
    values: Vec<(usize, f64)>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        times: Times::new(input, out, TOOL),
        unit: Unit::Cpu,
        sized: false,
        layout: None,
        block: None,
        first: None,
        mean: CpuMean::default(),
        sets: Vec::new(),
    };
    reader.mean.expect(cpus_shown(&input.head()));
    let mut splitter = Splitter::default();
    input.each_line(|number, line| reader.line(number, line, &mut splitter, out));
    reader.end(out);
    out.since_boot(false);
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        let line = self.times.strip(line, out).trim();
        if line.is_empty() {
            return;
        }
        let fields = splitter.blanks(line);
        if fields.get(1) == "minf" {
            self.end(out);
            self.header(&fields);
        } else if line.as_bytes()[0].is_ascii_digit() {
            self.values(number, &fields, out);
        } else if self.times.knows(line) {
            self.end(out);
            if line.ends_with(">>") {
                self.mean.forget();
            }
        } else {
            out.unknown(number, line, "neither header nor processor");
        }
    }

    fn header(&mut self, fields: &Fields<'_>) {
        self.unit = match fields.get(0) {
            "SET" => Unit::Set,
            "CPUs" => Unit::Mean,
            _ => Unit::Cpu,
        };
        self.sized = fields.get(fields.len().saturating_sub(1)) == "sze";
        self.layout = Some(Layout::new("solaris-mpstat", fields.from(1).iter(), COLUMNS));
    }

    fn values(&mut self, line: u64, fields: &Fields<'_>, out: &mut Out<'_>) {
        let name = fields.get(0);
        // A single processor has no header between its blocks.
        if self.first.as_deref() == Some(name) || self.unit == Unit::Mean {
            self.end(out);
        }
        let Some(layout) = &self.layout else {
            out.unknown(line, fields.rest(0), "values before any header");
            return;
        };
        let values = fields.from(1);
        if values.len() != layout.len() {
            out.wrong_count(line, fields.rest(0), values.len(), layout.len());
            return;
        }
        if self.first.is_none() {
            self.first = Some(name.to_owned());
        }
        let (t, dt) = *self.block.get_or_insert_with(|| self.times.begin(out));
        match self.unit {
            Unit::Cpu => {
                layout.write(
                    out,
                    line,
                    (t, dt),
                    &values,
                    |_, row| {
                        if let Some(mut row) = row.typed(&cpu::TABLE) {
                            row.str(cpu::cpu, name);
                        }
                    },
                    || format!("cpu={name}"),
                );
                self.mean.cpu(name);
                layout.each(&cpu::TABLE, &values, |place, value| self.mean.add_to(place, value));
            }
            Unit::Mean => {
                let cpus = number(name).unwrap_or(f64::NAN);
                out.row(&sched::TABLE, t, dt).f64(sched::cpus_online, Some(cpus).filter(|n| n.is_finite()));
                let mut row = out.row(&cpu::TABLE, t, dt).any();
                layout.each(&cpu::TABLE, &values, |place, value| {
                    row.f64(place, if is_rate(place) { value * cpus } else { value });
                });
            }
            Unit::Set => {
                if self.sets.len() >= MAX_SETS {
                    out.unknown(line, fields.rest(0), "too many processor sets");
                    return;
                }
                let mut all = Vec::with_capacity(COLUMNS.len());
                layout.each(&cpu::TABLE, &values, |place, value| all.push((place, value)));
                let cpus = number(fields.get(fields.len() - 1)).unwrap_or(1.0);
                self.sets.push(Set { name: name.to_owned(), cpus, values: all });
            }
        }
    }

    /// The block is complete.
    fn end(&mut self, out: &mut Out<'_>) {
        self.first = None;
        let Some((t, dt)) = self.block.take() else { return };
        if self.unit == Unit::Cpu {
            self.mean.write_whole(out, t, dt);
        }
        self.write_sets((t, dt), out);
    }

    /// Writes all sets together as all processors, and if there are several each as metrics.
    fn write_sets(&mut self, (t, dt): (Micros, Option<f64>), out: &mut Out<'_>) {
        let sets = std::mem::take(&mut self.sets);
        let cpus: f64 = sets.iter().map(|set| set.cpus).sum();
        if sets.is_empty() || cpus <= 0.0 {
            return;
        }
        if self.sized {
            out.row(&sched::TABLE, t, dt).f64(sched::cpus_online, cpus);
        }
        let places = COLUMNS.iter().filter_map(|column| column.place_in(&cpu::TABLE));
        let mut row = out.row(&cpu::TABLE, t, dt).any();
        for place in places {
            let of = |set: &Set| set.values.iter().find(|(p, _)| *p == place).map(|(_, value)| (*value, set.cpus));
            let Some(values) = sets.iter().map(of).collect::<Option<Vec<_>>>() else { continue };
            let sum: f64 = values.iter().map(|(v, n)| if is_rate(place) { *v } else { v * n / cpus }).sum();
            row.f64(place, sum);
        }
        if sets.len() < 2 {
            return;
        }
        for set in &sets {
            let labels = format!("set={}", set.name);
            for (place, value) in &set.values {
                let column = &cpu::TABLE.columns[*place];
                let mut row = out.row(&metric::TABLE, t, dt);
                row.str(metric::name, format!("solaris-mpstat.{}", column.name).as_str());
                row.str(metric::labels, labels.as_str()).f64(metric::value, *value);
            }
        }
    }
}

/// How many processors there are at least, by the numbers of those that the first blocks show: later ones may be left
/// out. Of a text whose command has a filter, it is unknown.
fn cpus_shown(head: &str) -> u32 {
    let filtered = |line: &str| line.contains("mpstat") && ["grep", "awk", "sed"].iter().any(|f| line.contains(f));
    if head.lines().any(filtered) {
        return u32::MAX;
    }
    // Those that were added or removed later are noted.
    let first = head.lines().take_while(|line| !line.trim_end().ends_with(">>"));
    let rows = first.filter(|line| line.split_ascii_whitespace().count() > 12);
    let numbers = rows.filter_map(|line| line.split_ascii_whitespace().next()?.parse::<u32>().ok());
    numbers.filter(|number| *number < 1 << 16).max().map_or(0, |highest| highest + 1)
}

fn is_rate(place: usize) -> bool {
    cpu::TABLE.columns.get(place).is_some_and(|column| column.kind == fenxi_model::Kind::Rate)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fixtures;

    const HEADER: &str = "CPU minf mjf xcal  intr ithr  csw icsw migr smtx  srw syscl  usr sys  wt idl";

    /// One block: for each CPU eleven rates and two shares.
    type Block = Vec<([u32; 11], u32, u32)>;

    fn block(cpus: usize) -> impl Strategy<Value = Block> {
        prop::collection::vec((prop::array::uniform11(0u32..2_000_000), 0u32..60, 0u32..40), cpus)
    }

    fn text(blocks: &[Block], stamps: bool) -> String {
        let mut text = String::new();
        for (n, block) in blocks.iter().enumerate() {
            if stamps {
                text += &format!("{}\n", 1_500_000_000 + n * 10);
            }
            text += &format!("{HEADER}\n");
            for (cpu, (r, usr, sys)) in block.iter().enumerate() {
                let [minf, mjf, xcal, intr, ithr, csw, icsw, migr, smtx, srw, syscl] = r;
                text += &format!("{cpu:3} {minf:4} {mjf:3} {xcal:4} {intr:5} {ithr:4} ");
                text += &format!("{csw:4} {icsw:4} {migr:4} {smtx:4} {srw:4} {syscl:5}  ");
                text += &format!("{usr:3} {sys:3} {:3} {:3}\n", 0, 100 - usr - sys);
            }
        }
        text
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn rows_are_those_that_were_printed(
            blocks in (1usize..5).prop_flat_map(|cpus| prop::collection::vec(block(cpus), 2..5)),
            stamps: bool,
        ) {
            let read = fixtures::read(&FORMAT, text(&blocks, stamps).as_bytes());
            prop_assert_eq!(read.tally.notes, 0);
            let cpus = blocks[0].len();
            prop_assert_eq!(read.tally.boot_rows, cpus as u64 + 1);
            let mut lines = read.text.lines().skip_while(|l| *l != "# cpu").skip(1);
            let header: Vec<_> = lines.next().unwrap_or_default().split('\t').collect();
            let cell = |row: &[&str], name: &str| -> f64 {
                header.iter().position(|h| *h == name).map_or(f64::NAN, |at| row[at].parse().unwrap())
            };
            for block in &blocks[1..] {
                let (mut usr, mut syscalls) = (0.0, 0.0);
                for (r, u, s) in block {
                    let row: Vec<_> = lines.next().unwrap().split('\t').collect();
                    prop_assert_eq!(cell(&row, "usr"), f64::from(*u));
                    prop_assert_eq!(cell(&row, "idle"), f64::from(100 - u - s));
                    prop_assert_eq!(cell(&row, "minor_faults_per_s"), f64::from(r[0]));
                    prop_assert_eq!(cell(&row, "intr_per_s"), f64::from(r[3]));
                    prop_assert_eq!(cell(&row, "syscalls_per_s"), f64::from(r[10]));
                    prop_assert_eq!(cell(&row, "dt"), if stamps { 10.0 } else { 1.0 });
                    usr += f64::from(*u);
                    syscalls += f64::from(r[10]);
                }
                let row: Vec<_> = lines.next().unwrap().split('\t').collect();
                prop_assert!((cell(&row, "usr") - usr / cpus as f64).abs() < 1e-6);
                prop_assert_eq!(cell(&row, "syscalls_per_s"), syscalls);
            }
        }
    }

    #[test]
    fn a_filter_of_idle_processors_leaves_no_row_of_all() {
        let row = |cpu: u32, idle: u32| {
            format!(
                "{cpu:3}    0   0    0     1    0    1    0    0    0   0     1  {:3}   0   0 {idle:3}\n",
                100 - idle
            )
        };
        let boot: String = (0..256).map(|cpu| row(cpu, 99)).collect();
        let busy = [row(0, 90), row(48, 0), row(200, 98)].concat();
        for text in
            [format!("{HEADER}\n{boot}{HEADER}\n{busy}{HEADER}\n{busy}"), format!("{HEADER}\n{busy}{HEADER}\n{busy}")]
        {
            let read = fixtures::read(&FORMAT, text.as_bytes());
            let rows =
                read.text.split("# cpu\n").nth(1).unwrap().lines().skip(1).take_while(|line| !line.starts_with('#'));
            let rows: Vec<&str> = rows.collect();
            assert!(rows.len().is_multiple_of(3) && rows.iter().all(|row| !row.contains("\t\t")), "{rows:?}");
            assert!(read.text.contains("no row of all CPUs"), "{}", read.text);
        }
        let whole = format!("{HEADER}\n{boot}{HEADER}\n{boot}");
        let read = fixtures::read(&FORMAT, whole.as_bytes());
        assert_eq!((read.tally.rows(), read.tally.boot_rows), (257, 257));
    }
}
