//! Memory: how much is used for what, and how hard paging works.

table! {
    /// What the host's memory was used for at the end of the interval.
    mem [] {
        /// Memory the kernel manages.
        total_bytes: gauge(Bytes, Neither),
        /// Memory used for nothing at all. Low free memory alone is no trouble; look at `available_bytes`.
        free_bytes: gauge(Bytes, Neither),
        /// The kernel's estimate of memory that new programs can have without swapping.
        available_bytes: gauge(Bytes, Higher),
        /// Total less available: what is taken and cannot simply be given back.
        used_bytes: gauge(Bytes, Lower),
        /// Block-device buffers.
        buffers_bytes: gauge(Bytes, Neither),
        /// Page cache, without swap cache.
        cached_bytes: gauge(Bytes, Neither),
        /// Pages in swap that are also in memory.
        swap_cached_bytes: gauge(Bytes, Neither),
        /// Used recently, not reclaimed first.
        active_bytes: gauge(Bytes, Neither),
        /// Candidates for reclaim.
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
        /// Page cache waiting to be written out.
        dirty_bytes: gauge(Bytes, Lower),
        /// Page cache being written out now.
        writeback_bytes: gauge(Bytes, Lower),
        /// Kernel objects that can be reclaimed under pressure (dentries, inodes).
        slab_reclaimable_bytes: gauge(Bytes, Neither),
        /// Kernel objects that cannot be reclaimed.
        slab_unreclaimable_bytes: gauge(Bytes, Neither),
        /// Kernel stacks of all tasks.
        kernel_stack_bytes: gauge(Bytes, Neither),
        /// Page tables. Large ones with many processes ask for huge pages.
        page_tables_bytes: gauge(Bytes, Neither),
        /// Page tables of what is not a process: virtual machines, devices behind an IOMMU.
        secondary_page_tables_bytes: gauge(Bytes, Neither),
        /// What the kernel keeps once for every CPU.
        per_cpu_bytes: gauge(Bytes, Neither),
        /// Taken by the kernel's vmalloc; kernel stacks are mostly among it.
        vmalloc_bytes: gauge(Bytes, Neither),
        /// Compressed pages that wait before swap (zswap), at their compressed size.
        zswap_bytes: gauge(Bytes, Neither),
        /// Memory promised to processes, touched or not.
        committed_bytes: gauge(Bytes, Neither),
        /// How much may be promised under strict overcommit.
        commit_limit_bytes: gauge(Bytes, Neither),
        /// Anonymous memory in transparent huge pages.
        anon_huge_bytes: gauge(Bytes, Neither),
        /// Reserved explicit huge pages.
        huge_total_bytes: gauge(Bytes, Neither),
        /// Reserved explicit huge pages that nobody uses: memory lost to everything else.
        huge_free_bytes: gauge(Bytes, Neither),
        /// Explicit huge pages of all sizes, used or not: memory that nothing else can have.
        hugetlb_bytes: gauge(Bytes, Neither),
        /// Memory locked against swapping.
        mlocked_bytes: gauge(Bytes, Neither),
        /// Swap space, used or not.
        swap_total_bytes: gauge(Bytes, Neither),
        /// Swap space not used.
        swap_free_bytes: gauge(Bytes, Neither),
        /// Swap space used.
        swap_used_bytes: gauge(Bytes, Lower),
    }
}

table! {
    /// Virtual memory at work: faults, paging, swapping, reclaim.
    vm [] {
        /// Page faults per second, minor and major.
        faults_per_s: rate(PerS, Neither),
        /// Page faults per second that had to read from disk.
        major_faults_per_s: rate(PerS, Lower),
        /// Read from block devices into memory.
        page_in_bytes_per_s: rate(BytesPerS, Neither),
        /// Written from memory to block devices.
        page_out_bytes_per_s: rate(BytesPerS, Neither),
        /// Pages read from swap per second. Anything steady here is trouble.
        swap_in_pages_per_s: rate(PerS, Lower),
        /// Pages written to swap per second.
        swap_out_pages_per_s: rate(PerS, Lower),
        /// Read from swap.
        swap_in_bytes_per_s: rate(BytesPerS, Lower),
        /// Written to swap.
        swap_out_bytes_per_s: rate(BytesPerS, Lower),
        /// Pages put on the free lists per second.
        freed_pages_per_s: rate(PerS, Neither),
        /// Pages allocated per second.
        allocated_pages_per_s: rate(PerS, Neither),
        /// Pages scanned by the background reclaimer per second.
        scan_kswapd_pages_per_s: rate(PerS, Lower),
        /// Pages scanned per second by tasks that wanted memory and had to reclaim it themselves.
        scan_direct_pages_per_s: rate(PerS, Lower),
        /// Pages reclaimed by the background reclaimer per second.
        steal_kswapd_pages_per_s: rate(PerS, Neither),
        /// Pages reclaimed per second by tasks that had to wait for it.
        steal_direct_pages_per_s: rate(PerS, Lower),
        /// Times per second a task had to reclaim memory before it got any: latency for that task.
        direct_reclaims_per_s: rate(PerS, Lower),
        /// Times per second a task stalled to make a contiguous block of memory.
        compact_stalls_per_s: rate(PerS, Lower),
        /// Page-cache pages that came back soon after they were dropped, per second: the cache is too small.
        refaults_file_per_s: rate(PerS, Lower),
        /// Anonymous pages that came back soon after they were swapped out, per second.
        refaults_anon_per_s: rate(PerS, Lower),
        /// Page migrations for NUMA balancing per second.
        numa_migrated_pages_per_s: rate(PerS, Neither),
        /// NUMA hint faults per second.
        numa_hint_faults_per_s: rate(PerS, Neither),
        /// Transparent huge pages given at a fault, per second.
        thp_faults_per_s: rate(PerS, Neither),
        /// Huge pages made from small ones by khugepaged, per second.
        thp_collapses_per_s: rate(PerS, Neither),
        /// Huge pages split, per second.
        thp_splits_per_s: rate(PerS, Lower),
        /// Processes killed for want of memory in the interval.
        oom_kills: count(Lower),
    }
}

table! {
    /// Page cache of a group of files: all executables, or the files of one database server.
    page_cache [kind, place] {
        /// What the files are: `executables` (mapped with the right to execute), `postgres` or `mariadb`.
        kind: label(),
        /// The server's data directory; NULL for groups that there is only once.
        place: label(),
        /// The server's process; NULL when it does not run.
        pid: id(),
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
        /// Where `pool_bytes` is told.
        pool_from: text(),
        /// Files that the server has open with O_DIRECT, around the page cache.
        direct_files: gauge(Count, Neither),
        /// Files that the server has open through the page cache.
        buffered_files: gauge(Count, Neither),
        /// Setting that says whether files are opened with O_DIRECT, for servers that have none open.
        open_setting: text(),
    }
}

table! {
    /// Residency of one file in the page cache at the end of the interval.
    file_cache [path] {
        /// The file, by a path that leads to it.
        path: label(),
        /// Data directory of the database server that it belongs to.
        place: label(),
        /// Of a server's file: `data` (held in its buffer pool too), `log` or `other`.
        class: label(),
        /// Size of the file.
        size_bytes: gauge(Bytes, Neither),
        /// Memory in the page cache that holds it, in whole pages.
        cached_bytes: gauge(Bytes, Neither),
        /// Cached and not yet written out; NULL on kernels before 6.5.
        dirty_bytes: gauge(Bytes, Lower),
        /// Being written out now; NULL on kernels before 6.5.
        writeback_bytes: gauge(Bytes, Lower),
        /// Dropped from the cache so recently that it would still fit; NULL on kernels before 6.5.
        recently_evicted_bytes: gauge(Bytes, Lower),
        /// Descriptors that have it open with O_DIRECT, around the page cache.
        direct_opens: gauge(Count, Neither),
        /// Descriptors that have it open through the page cache.
        buffered_opens: gauge(Count, Neither),
        /// Processes that have it open, as `name[pid]` with `O_DIRECT` where it applies; the first few of many.
        opened_by: text(),
    }
}
