//! Memory: how much is used for what, and how hard paging works.

table! {
    /// Memory use of the host at the end of the interval.
    mem [] is (Memory, Series, Lasting) {
        /// Total memory managed by the kernel.
        total_bytes: gauge(Bytes, Neither),
        /// Free memory. Low free memory alone is harmless; see `available_bytes`.
        free_bytes: gauge(Bytes, Neither),
        /// Kernel's estimate of memory available to new programs without swapping.
        available_bytes: gauge(Bytes, Higher),
        /// Used memory: total minus available.
        used_bytes: gauge(Bytes, Lower),
        /// Block-device buffers.
        buffers_bytes: gauge(Bytes, Neither),
        /// Page cache, without swap cache.
        cached_bytes: gauge(Bytes, Neither),
        /// Pages in swap that are also in memory.
        swap_cached_bytes: gauge(Bytes, Neither),
        /// Active list: recently used, reclaimed last.
        active_bytes: gauge(Bytes, Neither),
        /// Inactive list: candidates for reclaim.
        inactive_bytes: gauge(Bytes, Neither),
        /// Recently used anonymous memory.
        active_anon_bytes: gauge(Bytes, Neither),
        /// Anonymous memory that may be swapped first.
        inactive_anon_bytes: gauge(Bytes, Neither),
        /// Recently used page cache.
        active_file_bytes: gauge(Bytes, Neither),
        /// Page cache that may be dropped first.
        inactive_file_bytes: gauge(Bytes, Neither),
        /// Anonymous memory of processes: heap, stack, private data.
        anon_bytes: gauge(Bytes, Neither),
        /// Files mapped into processes: executables, libraries, data files.
        mapped_bytes: gauge(Bytes, Neither),
        /// Shared memory and tmpfs.
        shmem_bytes: gauge(Bytes, Neither),
        /// Dirty page cache: waiting for writeback.
        dirty_bytes: gauge(Bytes, Lower),
        /// Page cache under writeback.
        writeback_bytes: gauge(Bytes, Lower),
        /// Kernel objects that can be reclaimed under pressure (dentries, inodes).
        slab_reclaimable_bytes: gauge(Bytes, Neither),
        /// Kernel objects that cannot be reclaimed.
        slab_unreclaimable_bytes: gauge(Bytes, Neither),
        /// Kernel stacks of all tasks.
        kernel_stack_bytes: gauge(Bytes, Neither),
        /// Page tables. If large with many processes, consider huge pages.
        page_tables_bytes: gauge(Bytes, Neither),
        /// Page tables of what is not a process: virtual machines, devices behind an IOMMU.
        secondary_page_tables_bytes: gauge(Bytes, Neither),
        /// Per-CPU data of the kernel.
        per_cpu_bytes: gauge(Bytes, Neither),
        /// vmalloc allocations of the kernel, including most kernel stacks.
        vmalloc_bytes: gauge(Bytes, Neither),
        /// Compressed pages held in front of swap (zswap), compressed size.
        zswap_bytes: gauge(Bytes, Neither),
        /// Committed memory: promised to processes, touched or not.
        committed_bytes: gauge(Bytes, Neither),
        /// Commit limit under strict overcommit.
        commit_limit_bytes: gauge(Bytes, Neither),
        /// Anonymous memory in transparent huge pages.
        anon_huge_bytes: gauge(Bytes, Neither),
        /// Reserved explicit huge pages.
        huge_total_bytes: gauge(Bytes, Neither),
        /// Reserved explicit huge pages that are unused: memory lost to everything else.
        huge_free_bytes: gauge(Bytes, Neither),
        /// Explicit huge pages of all sizes, used or not: unavailable to everything else.
        hugetlb_bytes: gauge(Bytes, Neither),
        /// Memory locked in RAM (mlock).
        mlocked_bytes: gauge(Bytes, Neither),
        /// Total swap space.
        swap_total_bytes: gauge(Bytes, Neither),
        /// Free swap space.
        swap_free_bytes: gauge(Bytes, Neither),
        /// Used swap space.
        swap_used_bytes: gauge(Bytes, Lower),
    }
}

table! {
    /// Virtual memory activity: page faults, paging, swapping, reclaim.
    vm [] is (Memory, Series, Lasting) {
        /// Page faults per second, minor and major.
        faults_per_s: rate(PerS, Neither),
        /// Major page faults per second: had to read from disk.
        major_faults_per_s: rate(PerS, Lower),
        /// Read from block devices into memory.
        page_in_bytes_per_s: rate(BytesPerS, Neither),
        /// Written from memory to block devices.
        page_out_bytes_per_s: rate(BytesPerS, Neither),
        /// Pages read from swap per second (swap-in). Sustained swap-in is a problem.
        swap_in_pages_per_s: rate(PerS, Lower),
        /// Pages written to swap per second (swap-out).
        swap_out_pages_per_s: rate(PerS, Lower),
        /// Read from swap.
        swap_in_bytes_per_s: rate(BytesPerS, Lower),
        /// Written to swap.
        swap_out_bytes_per_s: rate(BytesPerS, Lower),
        /// Pages put on the free lists per second.
        freed_pages_per_s: rate(PerS, Neither),
        /// Pages allocated per second.
        allocated_pages_per_s: rate(PerS, Neither),
        /// Background reclaim: pages scanned by kswapd per second.
        scan_kswapd_pages_per_s: rate(PerS, Lower),
        /// Direct reclaim: pages scanned per second by allocating tasks.
        scan_direct_pages_per_s: rate(PerS, Lower),
        /// Background reclaim: pages reclaimed by kswapd per second.
        steal_kswapd_pages_per_s: rate(PerS, Neither),
        /// Direct reclaim: pages reclaimed per second by allocating tasks, which wait for it.
        steal_direct_pages_per_s: rate(PerS, Lower),
        /// Allocation stalls per second: a task had to reclaim memory before it got any, which adds latency.
        direct_reclaims_per_s: rate(PerS, Lower),
        /// Compaction stalls per second: a task had to make a contiguous block of memory.
        compact_stalls_per_s: rate(PerS, Lower),
        /// Refaults: page-cache pages read again soon after eviction, per second: the cache is too small.
        refaults_file_per_s: rate(PerS, Lower),
        /// Refaults: anonymous pages read again soon after swap-out, per second.
        refaults_anon_per_s: rate(PerS, Lower),
        /// Page migrations for NUMA balancing per second.
        numa_migrated_pages_per_s: rate(PerS, Neither),
        /// NUMA hint faults per second.
        numa_hint_faults_per_s: rate(PerS, Neither),
        /// Transparent huge pages allocated at a fault, per second.
        thp_faults_per_s: rate(PerS, Neither),
        /// Transparent huge pages collapsed from small pages by khugepaged, per second.
        thp_collapses_per_s: rate(PerS, Neither),
        /// Transparent huge pages split, per second.
        thp_splits_per_s: rate(PerS, Lower),
        /// OOM kills in the interval.
        oom_kills: count(Lower),
    }
}

table! {
    /// Page cache of a group of files: all executables, or the files of one database server.
    page_cache [kind, place] is (Memory, Series, Passing) {
        /// What the files are: `executables` (mapped with the right to execute), `postgres` or `mariadb`.
        kind: label(),
        /// The server's data directory; NULL for groups that there is only once.
        place: label(),
        /// The server's process; NULL when it does not run.
        pid: id().of_one_run(),
        /// Files in the group, each inode once. Of a server: its data files, without logs.
        files: gauge(Count, Neither),
        /// Files whose residency could not be asked; they are in no sum of cached bytes.
        unread_files: gauge(Count, Lower),
        /// Processes that could not be looked into: what they map or hold open is not known.
        unread_processes: gauge(Count, Lower),
        /// Size of the files.
        size_bytes: gauge(Bytes, Neither),
        /// Memory in the page cache that holds them.
        cached_bytes: gauge(Bytes, Neither),
        /// Cached and not yet written out.
        dirty_bytes: gauge(Bytes, Lower),
        /// The server's own cache of its data files (shared buffers, InnoDB's buffer pool) as configured.
        pool_bytes: gauge(Bytes, Neither),
        /// The mapping of the server that holds this cache, which may hold more.
        pool_mapped_bytes: gauge(Bytes, Neither),
        /// Source of `pool_bytes`.
        pool_from: text(),
        /// Files that the server has open with O_DIRECT, bypassing the page cache.
        direct_files: gauge(Count, Neither),
        /// Files that the server has open through the page cache.
        buffered_files: gauge(Count, Neither),
        /// Setting that controls O_DIRECT, for servers without open files.
        open_setting: text(),
    }
}

table! {
    /// Residency of one file in the page cache at the end of the interval.
    file_cache [path] is (Memory, Series, Passing) {
        /// Path of the file.
        path: label(),
        /// Data directory of the database server that it belongs to.
        place: label(),
        /// Kind of a server's file: `data` (cached in its buffer pool too), `log` or `other`.
        class: label(),
        /// Size of the file.
        size_bytes: gauge(Bytes, Neither),
        /// Page cache residency, in whole pages.
        cached_bytes: gauge(Bytes, Neither),
        /// Dirty part of it; NULL on kernels before 6.5.
        dirty_bytes: gauge(Bytes, Lower),
        /// Part under writeback; NULL on kernels before 6.5.
        writeback_bytes: gauge(Bytes, Lower),
        /// Recently evicted part, which a slightly larger cache would hold; NULL on kernels before 6.5.
        recently_evicted_bytes: gauge(Bytes, Lower),
        /// File descriptors that have it open with O_DIRECT, bypassing the page cache.
        direct_opens: gauge(Count, Neither),
        /// File descriptors that have it open through the page cache.
        buffered_opens: gauge(Count, Neither),
        /// Processes that have it open, as `name[pid]` with `O_DIRECT` where it applies; the first few of many.
        opened_by: text(),
    }
}
