-- title: Who waited for a CPU, and how long?
-- about: Waits of runnable threads by program, with the mean number of threads that waited at any time. Long waits while other CPUs are idle point at bindings, quotas or the scheduler.
-- section: process
-- chart: table
-- order: 52
-- live: run_queue: waited_s
-- param: n = 30, how many programs to show
SELECT run, q.host, comm, sum(waits) AS waits, sum(waited_s) AS waited_s,
    1e6 * sum(waited_s) / nullif(sum(waits), 0) AS mean_us, sum(waited_s) / nullif(max(duration_s), 0) AS threads_waiting
FROM run_queue q JOIN runs USING (run)
GROUP BY run, q.host, comm
ORDER BY run, waited_s DESC NULLS LAST, waits DESC, comm
LIMIT $n
