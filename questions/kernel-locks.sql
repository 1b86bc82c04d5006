-- title: Which locks of the kernel did threads wait for?
-- about: Contended locks of the kernel by type, function that wanted them, program and holder. Threads that share a process meet at its `mmap_lock`.
-- section: process
-- chart: table
-- order: 61
-- live: lock: total_s
-- param: n = 30, how many to show
SELECT run, l.host, comm, event, lock, caller, holder, sum(events) AS events, sum(total_s) AS total_s,
    1e6 * sum(total_s) / nullif(sum(events), 0) AS mean_us, max(max_us) AS max_us, sum(total_s) / nullif(max(duration_s), 0) AS threads_waiting
FROM lock l JOIN runs USING (run)
WHERE event LIKE 'kernel %'
GROUP BY run, l.host, comm, event, lock, caller, holder
ORDER BY run, total_s DESC NULLS LAST, events DESC, comm, event, lock, caller, holder
LIMIT $n
