//! `vmstat` of Solaris and illumos, also with `-p`, `-S` and `-T`.
//!
//! The first row is since boot, and so is the one after a change of the machine. The header comes
//! again every 19 rows, so a header after fewer rows means that the tool was begun anew. `sy` heads
//! two columns: system calls, then time in the kernel. A disk's name is cut to two letters (`s0` is
//! `sd0`), which can make two disks the same.

use fenxi_model::catalog::{cpu, disk, mem, sched, vm};

use super::{
    times::Tool,
    vmstat::{self, Dialect, To, column},
};
use crate::{Family, Format, Head, Input, Out, Sure};

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

const KIB: f64 = 1024.0;

static DIALECT: Dialect = Dialect {
    format: "solaris-vmstat",
    tool: Tool { name: "vmstat", takes: "T", every: None, counters: false, default_s: 1.0, first_since_boot: true },
    words: &[
        ("r", column(&sched::TABLE, sched::runnable, 1.0)),
        ("b", column(&sched::TABLE, sched::blocked, 1.0)),
        ("w", column(&sched::TABLE, sched::swapped, 1.0)),
        ("swap", column(&mem::TABLE, mem::swap_free_bytes, KIB)),
        ("free", column(&mem::TABLE, mem::free_bytes, KIB)),
        ("mf", column(&cpu::TABLE, cpu::minor_faults_per_s, 1.0)),
        ("pi", column(&vm::TABLE, vm::page_in_bytes_per_s, KIB)),
        ("po", column(&vm::TABLE, vm::page_out_bytes_per_s, KIB)),
        ("sr", column(&vm::TABLE, vm::scan_kswapd_pages_per_s, 1.0)),
        ("api", column(&vm::TABLE, vm::swap_in_bytes_per_s, KIB)),
        ("apo", column(&vm::TABLE, vm::swap_out_bytes_per_s, KIB)),
        ("in", column(&sched::TABLE, sched::intr_per_s, 1.0)),
        ("sy", column(&sched::TABLE, sched::syscalls_per_s, 1.0)),
        ("cs", column(&sched::TABLE, sched::context_switches_per_s, 1.0)),
        ("us", column(&cpu::TABLE, cpu::usr, 1.0)),
        ("sy", column(&cpu::TABLE, cpu::sys, 1.0)),
        ("wt", column(&cpu::TABLE, cpu::iowait, 1.0)),
        ("st", column(&cpu::TABLE, cpu::steal, 1.0)),
        ("id", column(&cpu::TABLE, cpu::idle, 1.0)),
        // Kilobytes freed, and expected to be missed, per second; pages by what they hold.
        ("fr", To::Other(KIB)),
        ("de", To::Other(KIB)),
        ("epi", To::Other(KIB)),
        ("epo", To::Other(KIB)),
        ("epf", To::Other(KIB)),
        ("apf", To::Other(KIB)),
        ("fpi", To::Other(KIB)),
        ("fpo", To::Other(KIB)),
        ("fpf", To::Other(KIB)),
    ],
    header: &["swap", "free", "sr"],
    groups: &[
        "kthr",
        "procs",
        "memory",
        "page",
        "disk",
        "disks",
        "faults",
        "cpu",
        "executable",
        "anonymous",
        "filesystem",
    ],
    disks: Some(("sr", "in")),
    header_every: 18,
};

fn sniff(head: &Head<'_>) -> Sure {
    let own = ["swap free re mf pi po fr de sr", "swap free si so pi po fr de sr", "swap free re mf fr de sr epi"];
    Sure::Certain.when(own.iter().any(|words| head.has_words(words)))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    vmstat::read(&DIALECT, true, input, out);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fixtures;

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
