-- title: A large process forks again and again
-- severity: warning
-- section: process
-- message: {comm} forked with {rss:B} of memory: copying its page tables took {share:%} of the CPU time that was used.
-- advice: A fork copies the page tables of the whole process, and afterwards each page at its first write. Start programs with posix_spawn or vfork, fork from a small process that was split off early, take snapshots less often, or use huge pages for the memory that is copied.
-- ask: top-stacks
-- explains: short-processes, many-forks, page-faults, sys-time-high, one-cpu-saturated, one-thread-saturated
-- impact: share of the CPU time that was used
-- yes: process pid=7 comm=cache cpu=90 rss_bytes=8e8 *10
-- yes: stack comm=cache stack="main;entry_SYSCALL_64_[k];do_syscall_64_[k];__do_sys_clone_[k];kernel_clone_[k];copy_page_range_[k]" samples=30 time_s=0.4 event=on-cpu *5
-- yes: stack comm=cache stack="main;work" samples=60 time_s=0.8 event=on-cpu *5
-- no: process pid=7 comm=cache cpu=90 rss_bytes=8e8 *10
-- no: stack comm=cache stack="main;entry_SYSCALL_64_[k];do_syscall_64_[k];__do_sys_clone_[k];kernel_clone_[k];copy_page_range_[k]" samples=3 time_s=0.1 event=on-cpu *5
-- no: stack comm=cache stack="main;work" samples=60 time_s=2 event=on-cpu *5
--
-- no: process pid=7 comm=shell cpu=90 rss_bytes=4e6 *10
-- no: stack comm=shell stack="main;entry_SYSCALL_64_[k];do_syscall_64_[k];__do_sys_clone_[k];kernel_clone_[k];copy_page_range_[k]" samples=30 time_s=0.4 event=on-cpu *5
-- no: stack comm=shell stack="main;work" samples=60 time_s=0.8 event=on-cpu *5
--
-- no: process pid=7 comm=server cpu=90 rss_bytes=8e8 *10
-- no: stack comm=server stack="main;entry_SYSCALL_64_[k];do_syscall_64_[k];__do_sys_clone_[k];kernel_clone_[k];alloc_thread_stack_node_[k]" samples=30 time_s=0.4 event=on-cpu *5
-- no: stack comm=server stack="main;work" samples=60 time_s=0.8 event=on-cpu *5
-- Twenty samples of copying and a tenth of all CPU time. A small process has few pages to copy, and a thread copies none.
WITH copies AS (
    SELECT run, host, comm, 100 * sum(share) AS share, sum(samples) AS samples
    FROM on_cpu
    WHERE entry IN ('clone', 'clone3', 'fork', 'vfork', 'fork/exec/exit') AND regexp_matches(leaf, '^(copy_(page|p4d|pud|pmd|pte|present|nonpresent|hugetlb)|__?pte_alloc|folio_(try_)?dup|page_(try_)?dup)')
    GROUP BY run, host, comm
), sizes AS (
    SELECT run, host, comm, max(rss_bytes) AS rss FROM process GROUP BY run, host, comm
)
SELECT c.run, c.host, c.comm, s.rss, c.share
FROM copies c JOIN sizes s ON s.run = c.run AND s.host = c.host AND s.comm = c.comm
WHERE c.samples >= 20 AND c.share >= 10 AND s.rss >= 67108864
ORDER BY c.share DESC, c.run, c.host, c.comm
