//! Breakdown of a machine's memory into parts that add up to all of it.
//!
//! Each page is in one part. What the kernel counts twice is taken out: executables and dirty pages are
//! page cache too, shared memory is `Cached` too. What it does not count (drivers' buffers, network
//! buffers, what vmalloc took) is what is left of the total: `other`.

use fenxi_model::{
    Place, RowsOf,
    catalog::{
        mem,
        page_cache::{self, cached_bytes, unread_files, unread_processes},
    },
    place::F64,
};

/// Bytes of each part; None where this kernel, or this user, cannot know.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    pub total: Option<f64>,
    pub slab_fixed: Option<f64>,
    pub slab_reclaimable: Option<f64>,
    pub stacks: Option<f64>,
    pub page_tables: Option<f64>,
    pub per_cpu: Option<f64>,
    pub zswap: Option<f64>,
    /// Rest of the total that no counter has.
    pub other: Option<f64>,
    pub anon: Option<f64>,
    pub shared: Option<f64>,
    /// Page cache of executables and libraries; in `clean` where it is not known.
    pub exec: Option<f64>,
    /// Page cache to be written out, or being written out.
    pub dirty: Option<f64>,
    pub clean: Option<f64>,
    pub huge_used: Option<f64>,
    pub huge_free: Option<f64>,
    pub free: Option<f64>,
    /// By how much the parts that are counted exceed the total: counters are read one after the other.
    pub twice: Option<f64>,
    /// Files and processes that could not be looked into for `exec`.
    pub unseen: (f64, f64),
}

/// The sum of what is known; None when nothing is.
pub fn sum(values: &[Option<f64>]) -> Option<f64> {
    values.iter().copied().flatten().reduce(|a, b| a + b)
}

impl Parts {
    /// The parts by a row of `mem` and, if there are any, rows of `page_cache`.
    pub fn of(mem: RowsOf<'_, mem::Schema>, row: usize, cache: Option<RowsOf<'_, page_cache::Schema>>) -> Parts {
        let get = |place| mem.f64(row, place);
        let mut parts = Parts {
            total: get(mem::total_bytes),
            slab_fixed: get(mem::slab_unreclaimable_bytes),
            slab_reclaimable: get(mem::slab_reclaimable_bytes),
            stacks: get(mem::kernel_stack_bytes),
            page_tables: sum(&[get(mem::page_tables_bytes), get(mem::secondary_page_tables_bytes)]),
            per_cpu: get(mem::per_cpu_bytes),
            zswap: get(mem::zswap_bytes),
            anon: get(mem::anon_bytes),
            shared: get(mem::shmem_bytes),
            free: get(mem::free_bytes),
            ..Parts::default()
        };
        // Before 4.20 only the pages of the default size are reported.
        let huge = get(mem::hugetlb_bytes).or(get(mem::huge_total_bytes));
        parts.huge_free = get(mem::huge_free_bytes).map(|free| free.min(huge.unwrap_or(free)));
        parts.huge_used = huge.map(|huge| huge - parts.huge_free.unwrap_or(0.0));
        parts.cache(get, cache);
        parts.rest();
        parts
    }

    /// Divides the page cache: its parts are cut so that they never exceed it.
    fn cache(
        &mut self,
        get: impl Fn(Place<mem::Schema, F64>) -> Option<f64>,
        cache: Option<RowsOf<'_, page_cache::Schema>>,
    ) {
        let Some(all) = sum(&[get(mem::cached_bytes), get(mem::buffers_bytes)]) else { return };
        let mut left = (all - self.shared.unwrap_or(0.0)).max(0.0);
        let mut take = |wanted: Option<f64>| {
            let taken = wanted.map(|wanted| wanted.min(left));
            left -= taken.unwrap_or(0.0);
            taken
        };
        self.dirty = take(sum(&[get(mem::dirty_bytes), get(mem::writeback_bytes)]));
        if let Some(cache) = cache {
            let is_exec = |row: &usize| cache.str(*row, page_cache::kind) == Some("executables");
            if let Some(row) = (0..cache.n_rows()).find(is_exec) {
                self.exec = take(cache.f64(row, cached_bytes));
                let n = |place| cache.f64(row, place).unwrap_or(0.0);
                self.unseen = (n(unread_files), n(unread_processes));
            }
        }
        self.clean = Some(left);
    }

    fn rest(&mut self) {
        let (Some(total), Some(known)) = (self.total, sum(&self.counted())) else { return };
        self.other = Some((total - known).max(0.0));
        self.twice = Some(known - total).filter(|twice| *twice > 0.0);
    }

    /// Everything but what is left over.
    fn counted(&self) -> [Option<f64>; 14] {
        [
            self.slab_fixed,
            self.slab_reclaimable,
            self.stacks,
            self.page_tables,
            self.per_cpu,
            self.zswap,
            self.anon,
            self.shared,
            self.exec,
            self.dirty,
            self.clean,
            self.huge_used,
            self.huge_free,
            self.free,
        ]
    }

    /// All that is the kernel's own.
    pub fn kernel(&self) -> Option<f64> {
        let counted = [
            self.slab_fixed,
            self.slab_reclaimable,
            self.stacks,
            self.page_tables,
            self.per_cpu,
            self.zswap,
            self.other,
        ];
        sum(&counted).map(|kernel| kernel - self.twice.unwrap_or(0.0))
    }
}
