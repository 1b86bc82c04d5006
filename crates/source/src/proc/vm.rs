//! `vm`: faults, paging, swapping and reclaim, from /proc/vmstat.
//!
//! Kernels name and split these counters differently: reclaim was counted per zone until 4.8
//! (`pgscan_kswapd_normal`) and still is for allocation (`pgalloc_normal`), refaults are split into
//! `_anon` and `_file` since 5.9. All names of one thing are added up; a thing that has no name on
//! this kernel is NULL.

use fenxi_model::{Rows, catalog::vm};

use super::keyed::{
    As::{Count, Rate},
    Lines, Meters, Wanted, wanted,
};
use crate::{Collector, ProcFile, Root, Source, SourceError, Spec, Take, Tick};

/// The `vm` source.
pub static SOURCE: Vm = Vm;

static SPEC: Spec = Spec {
    name: "vm",
    summary: "page faults, paging, swapping, reclaim, huge pages, out-of-memory kills",
    tables: &[&vm::TABLE],
    take: Take::EveryTick,
    default: true,
    live: true,
};

/// Declares the names of a counter that some kernels keep per zone.
macro_rules! zones {
    ($name:literal) => {
        &[
            $name,
            concat!($name, "_dma"),
            concat!($name, "_dma32"),
            concat!($name, "_normal"),
            concat!($name, "_high"),
            concat!($name, "_movable"),
            concat!($name, "_device"),
        ]
    };
}

/// `pgpgin` and `pgpgout` count KiB, whatever their names say.
const KIB: f64 = 1024.0;

static WANTED: &[Wanted<vm::Schema>] = &[
    wanted(vm::faults_per_s, Rate, 1.0, &["pgfault"]),
    wanted(vm::major_faults_per_s, Rate, 1.0, &["pgmajfault"]),
    wanted(vm::page_in_bytes_per_s, Rate, KIB, &["pgpgin"]),
    wanted(vm::page_out_bytes_per_s, Rate, KIB, &["pgpgout"]),
    wanted(vm::swap_in_pages_per_s, Rate, 1.0, &["pswpin"]),
    wanted(vm::swap_out_pages_per_s, Rate, 1.0, &["pswpout"]),
    wanted(vm::freed_pages_per_s, Rate, 1.0, &["pgfree"]),
    wanted(vm::allocated_pages_per_s, Rate, 1.0, zones!("pgalloc")),
    wanted(vm::scan_kswapd_pages_per_s, Rate, 1.0, zones!("pgscan_kswapd")),
    wanted(vm::scan_direct_pages_per_s, Rate, 1.0, zones!("pgscan_direct")),
    wanted(vm::steal_kswapd_pages_per_s, Rate, 1.0, zones!("pgsteal_kswapd")),
    wanted(vm::steal_direct_pages_per_s, Rate, 1.0, zones!("pgsteal_direct")),
    wanted(vm::direct_reclaims_per_s, Rate, 1.0, zones!("allocstall")),
    wanted(vm::compact_stalls_per_s, Rate, 1.0, &["compact_stall"]),
    wanted(vm::refaults_file_per_s, Rate, 1.0, &["workingset_refault_file", "workingset_refault"]),
    wanted(vm::refaults_anon_per_s, Rate, 1.0, &["workingset_refault_anon"]),
    wanted(vm::numa_migrated_pages_per_s, Rate, 1.0, &["numa_pages_migrated"]),
    wanted(vm::numa_hint_faults_per_s, Rate, 1.0, &["numa_hint_faults"]),
    wanted(vm::thp_faults_per_s, Rate, 1.0, &["thp_fault_alloc"]),
    wanted(vm::thp_collapses_per_s, Rate, 1.0, &["thp_collapse_alloc"]),
    wanted(vm::thp_splits_per_s, Rate, 1.0, &["thp_split_page", "thp_split"]),
    wanted(vm::oom_kills, Count, 1.0, &["oom_kill"]),
];

/// Collects the `vm` table.
pub struct Vm;

impl Source for Vm {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        Ok(Box::new(Paging {
            vmstat: root.open("/proc/vmstat")?,
            layout: Lines::default(),
            meters: Meters::new(WANTED),
            page_bytes: rustix::param::page_size() as f64,
        }))
    }
}

struct Paging {
    vmstat: ProcFile,
    layout: Lines,
    meters: Meters<vm::Schema>,
    page_bytes: f64,
}

impl Collector for Paging {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        let Paging { vmstat, layout, meters, page_bytes } = self;
        meters.begin();
        layout.take(vmstat.read()?, meters);
        if let Some(line) = layout.unread() {
            rows.note("/proc/vmstat", line, "there is no number after the name");
        }
        meters.advance("vm", tick, rows);
        let Some(dt) = tick.dt.filter(|dt| *dt > 0.0) else { return Ok(()) };
        let swapped = |key| meters.grown(key).map(|n| n as f64 * *page_bytes / dt);
        let mut row = rows.row(&vm::TABLE, tick.t, dt);
        meters.fill(&mut row, dt);
        row.f64(vm::swap_in_bytes_per_s, swapped("pswpin")).f64(vm::swap_out_bytes_per_s, swapped("pswpout"));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::SOURCE;
    use crate::testing::{Machine, Observed, near, observe};

    /// Rows of a collector between two contents of /proc/vmstat, 2 seconds apart.
    fn between(before: &str, after: &str) -> Observed {
        let machine = Machine::new();
        machine.put("/proc/vmstat", before);
        let mut session = machine.start(&SOURCE);
        session.tick(None);
        session.machine.put("/proc/vmstat", after);
        session.tick(2.0)
    }

    #[test]
    fn two_captured_moments_give_rates() {
        let seen = observe(&SOURCE, "vm", 2.0);
        let value = |column| seen.value("vm", column, &[]);
        near(value("faults_per_s"), (21_494_162 - 21_463_473) as f64 / 2.0);
        near(value("major_faults_per_s"), (3383 - 3372) as f64 / 2.0);
        near(value("page_in_bytes_per_s"), (5_078_945 - 5_075_949) as f64 * 1024.0 / 2.0);
        near(value("page_out_bytes_per_s"), (4_414_684 - 4_405_952) as f64 * 1024.0 / 2.0);
        near(value("allocated_pages_per_s"), (20_952_802 - 20_923_165) as f64 / 2.0);
        near(value("freed_pages_per_s"), (22_062_415 - 22_035_503) as f64 / 2.0);
        near(value("refaults_file_per_s"), (926_386 - 925_602) as f64 / 2.0);
        near(value("scan_direct_pages_per_s"), 0.0);
        near(value("oom_kills"), 0.0);
        assert!(seen.notes().is_empty() && seen.events().is_empty());
    }

    #[test]
    fn zones_of_older_kernels_are_added_up_and_throttling_is_no_scanning() {
        let seen = between(
            "pgscan_direct_dma 1\npgscan_direct_normal 10\npgscan_direct_throttle 5\nallocstall 4\nworkingset_refault 1\n",
            "pgscan_direct_dma 2\npgscan_direct_normal 15\npgscan_direct_throttle 99\nallocstall 8\nworkingset_refault 7\n",
        );
        near(seen.value("vm", "scan_direct_pages_per_s", &[]), 3.0);
        near(seen.value("vm", "direct_reclaims_per_s", &[]), 2.0);
        near(seen.value("vm", "refaults_file_per_s", &[]), 3.0);
        assert_eq!(seen.value("vm", "refaults_anon_per_s", &[]), None);
        assert_eq!(seen.value("vm", "faults_per_s", &[]), None);
    }

    #[test]
    fn swapping_is_told_in_pages_and_bytes_and_kills_are_counted() {
        let page = rustix::param::page_size() as f64;
        let seen = between("pswpin 10\npswpout 0\noom_kill 1\n", "pswpin 14\npswpout 2\noom_kill 3\n");
        near(seen.value("vm", "swap_in_pages_per_s", &[]), 2.0);
        near(seen.value("vm", "swap_in_bytes_per_s", &[]), 2.0 * page);
        near(seen.value("vm", "swap_out_bytes_per_s", &[]), page);
        near(seen.value("vm", "oom_kills", &[]), 2.0);
    }

    #[test]
    fn a_32_bit_counter_wraps_and_a_reset_is_null_with_an_event() {
        let seen = between("pgfault 4294967290\npgfree 500\n", "pgfault 4\npgfree 20\n");
        near(seen.value("vm", "faults_per_s", &[]), 5.0);
        assert_eq!(seen.value("vm", "freed_pages_per_s", &[]), None);
        assert_eq!(seen.events(), ["counter reset vm: counter went back: pgfree"]);
    }

    #[test]
    fn a_counter_that_was_away_does_not_count_the_time_between() {
        let machine = Machine::new();
        machine.put("/proc/vmstat", "pgfault 10\n");
        let mut session = machine.start(&SOURCE);
        session.tick(None);
        session.machine.put("/proc/vmstat", "pgfree 1\n");
        session.tick(1.0);
        session.machine.put("/proc/vmstat", "pgfault 1000\n");
        assert_eq!(session.tick(1.0).value("vm", "faults_per_s", &[]), None);
    }
}
