//! `mem`: what memory is used for, from /proc/meminfo.
//!
//! `used_bytes` is total less available (not less free): what is taken and cannot simply be given
//! back. Kernels before 3.14 do not estimate what is available, and `used_bytes` is NULL there.

use fenxi_model::{Rows, catalog::mem};

use super::keyed::{
    As::{Aside, Gauge},
    Lines, Meters, Wanted, wanted,
};
use crate::{Collector, ProcFile, Root, Source, SourceError, Spec, Take, Tick};

/// The `mem` source.
pub static SOURCE: Mem = Mem;

static SPEC: Spec = Spec {
    name: "mem",
    summary: "what memory is used for: programs, cache, slab, huge pages, swap",
    tables: &[&mem::TABLE],
    take: Take::EveryTick,
    default: true,
    live: true,
};

/// kB in the file means 1024 bytes.
const KB: f64 = 1024.0;

static WANTED: &[Wanted<mem::Schema>] = &[
    wanted(mem::total_bytes, Gauge, KB, &["MemTotal"]),
    wanted(mem::free_bytes, Gauge, KB, &["MemFree"]),
    wanted(mem::available_bytes, Gauge, KB, &["MemAvailable"]),
    wanted(mem::buffers_bytes, Gauge, KB, &["Buffers"]),
    wanted(mem::cached_bytes, Gauge, KB, &["Cached"]),
    wanted(mem::swap_cached_bytes, Gauge, KB, &["SwapCached"]),
    wanted(mem::active_bytes, Gauge, KB, &["Active"]),
    wanted(mem::inactive_bytes, Gauge, KB, &["Inactive"]),
    wanted(mem::active_anon_bytes, Gauge, KB, &["Active(anon)"]),
    wanted(mem::inactive_anon_bytes, Gauge, KB, &["Inactive(anon)"]),
    wanted(mem::active_file_bytes, Gauge, KB, &["Active(file)"]),
    wanted(mem::inactive_file_bytes, Gauge, KB, &["Inactive(file)"]),
    wanted(mem::anon_bytes, Gauge, KB, &["AnonPages"]),
    wanted(mem::mapped_bytes, Gauge, KB, &["Mapped"]),
    wanted(mem::shmem_bytes, Gauge, KB, &["Shmem"]),
    wanted(mem::dirty_bytes, Gauge, KB, &["Dirty"]),
    wanted(mem::writeback_bytes, Gauge, KB, &["Writeback"]),
    wanted(mem::slab_reclaimable_bytes, Gauge, KB, &["SReclaimable"]),
    wanted(mem::slab_unreclaimable_bytes, Gauge, KB, &["SUnreclaim"]),
    wanted(mem::kernel_stack_bytes, Gauge, KB, &["KernelStack"]),
    wanted(mem::page_tables_bytes, Gauge, KB, &["PageTables"]),
    wanted(mem::secondary_page_tables_bytes, Gauge, KB, &["SecPageTables"]),
    wanted(mem::per_cpu_bytes, Gauge, KB, &["Percpu"]),
    wanted(mem::vmalloc_bytes, Gauge, KB, &["VmallocUsed"]),
    wanted(mem::zswap_bytes, Gauge, KB, &["Zswap"]),
    wanted(mem::committed_bytes, Gauge, KB, &["Committed_AS"]),
    wanted(mem::commit_limit_bytes, Gauge, KB, &["CommitLimit"]),
    wanted(mem::anon_huge_bytes, Gauge, KB, &["AnonHugePages"]),
    wanted(mem::hugetlb_bytes, Gauge, KB, &["Hugetlb"]),
    wanted(mem::mlocked_bytes, Gauge, KB, &["Mlocked"]),
    wanted(mem::swap_total_bytes, Gauge, KB, &["SwapTotal"]),
    wanted(mem::swap_free_bytes, Gauge, KB, &["SwapFree"]),
    // Numbers of pages of the default huge size.
    wanted(mem::huge_total_bytes, Aside, KB, &["HugePages_Total"]),
    wanted(mem::huge_free_bytes, Aside, KB, &["HugePages_Free"]),
    wanted(mem::huge_total_bytes, Aside, KB, &["Hugepagesize"]),
];

/// Collects the `mem` table.
pub struct Mem;

impl Source for Mem {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let meminfo = root.open("/proc/meminfo")?;
        Ok(Box::new(Memory { meminfo, layout: Lines::default(), meters: Meters::new(WANTED) }))
    }
}

struct Memory {
    meminfo: ProcFile,
    layout: Lines,
    meters: Meters<mem::Schema>,
}

impl Collector for Memory {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        // A gauge: the first sample would only be thrown away.
        let Some(dt) = tick.dt.filter(|dt| *dt > 0.0) else { return Ok(()) };
        let Memory { meminfo, layout, meters } = self;
        meters.begin();
        layout.take(meminfo.read()?, meters);
        if let Some(line) = layout.unread() {
            rows.note("/proc/meminfo", line, "there is no number after the name");
        }
        let bytes = |key| meters.value(key).map(|v| v as f64 * KB);
        let less = |all, part| Some((bytes(all)? - bytes(part)?).max(0.0));
        let huge = |key| Some(meters.value(key)? as f64 * bytes("Hugepagesize")?);
        let mut row = rows.row(&mem::TABLE, tick.t, dt);
        meters.fill(&mut row, dt);
        row.f64(mem::used_bytes, less("MemTotal", "MemAvailable"))
            .f64(mem::swap_used_bytes, less("SwapTotal", "SwapFree"))
            .f64(mem::huge_total_bytes, huge("HugePages_Total"))
            .f64(mem::huge_free_bytes, huge("HugePages_Free"));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::SOURCE;
    use crate::testing::{Machine, observe};

    #[test]
    fn a_captured_moment_gives_bytes() {
        let seen = observe(&SOURCE, "mem", 1.0);
        let kib = |column| seen.value("mem", column, &[]).map(|v| v / 1024.0);
        assert_eq!(kib("total_bytes"), Some(24_684_100.0));
        assert_eq!(kib("free_bytes"), Some(22_111_364.0));
        assert_eq!(kib("available_bytes"), Some(24_192_596.0));
        assert_eq!(kib("used_bytes"), Some(24_684_100.0 - 24_192_596.0));
        assert_eq!(kib("active_file_bytes"), Some(722_296.0));
        assert_eq!(kib("inactive_anon_bytes"), Some(9340.0));
        assert_eq!(kib("active_bytes"), Some(723_852.0));
        assert_eq!(kib("dirty_bytes"), Some(148.0));
        assert_eq!(kib("mlocked_bytes"), Some(16_712.0));
        assert_eq!((kib("swap_total_bytes"), kib("swap_used_bytes")), (Some(0.0), Some(0.0)));
        assert_eq!((kib("huge_total_bytes"), kib("huge_free_bytes")), (Some(0.0), Some(0.0)));
        assert!(seen.notes().is_empty() && seen.events().is_empty());
    }

    #[test]
    fn huge_pages_are_counted_in_their_own_size_and_swap_by_difference() {
        let machine = Machine::new();
        let text = "MemTotal: 100 kB\nSwapTotal: 50 kB\nSwapFree: 20 kB\nHugePages_Total: 3\nHugePages_Free: 1\nHugepagesize: 2048 kB\n";
        machine.put("/proc/meminfo", text);
        let mut session = machine.start(&SOURCE);
        assert_eq!(session.tick(None).count("mem"), 0);
        let seen = session.tick(1.0);
        let value = |column| seen.value("mem", column, &[]);
        assert_eq!(value("huge_total_bytes"), Some(3.0 * 2_097_152.0));
        assert_eq!(value("huge_free_bytes"), Some(2_097_152.0));
        assert_eq!(value("swap_used_bytes"), Some(30.0 * 1024.0));
        assert_eq!(value("used_bytes"), None, "an old kernel does not estimate what is available");
        assert_eq!(value("available_bytes"), None);
    }

    #[test]
    fn a_name_without_a_number_is_noted_once_and_null() {
        let machine = Machine::new();
        machine.put("/proc/meminfo", "MemTotal: 100 kB\nMemFree: lots\n");
        let mut session = machine.start(&SOURCE);
        session.tick(None);
        let seen = session.tick(1.0);
        assert_eq!(seen.value("mem", "free_bytes", &[]), None);
        assert_eq!(seen.notes(), ["/proc/meminfo: there is no number after the name"]);
        assert!(session.tick(1.0).notes().is_empty());
    }

    #[test]
    fn lines_that_come_or_go_are_found_again() {
        let machine = Machine::new();
        machine.put("/proc/meminfo", "MemTotal: 100 kB\nMemFree: 9 kB\nCached: 5 kB\n");
        let mut session = machine.start(&SOURCE);
        session.tick(None);
        session.tick(1.0);
        session.machine.put("/proc/meminfo", "MemTotal: 100 kB\nZswap: 7 kB\nCached: 6 kB\nMemFree: 8 kB\n");
        let seen = session.tick(1.0);
        assert_eq!(seen.value("mem", "cached_bytes", &[]), Some(6.0 * 1024.0));
        assert_eq!(seen.value("mem", "free_bytes", &[]), Some(8.0 * 1024.0));
    }
}
