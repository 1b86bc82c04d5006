-- title: What did threads wait for?
-- about: The mean number of threads of each program that worked (`run`: on a CPU or in its queue) or waited, by the function of the kernel in which they did. A free lock is not waited for: many threads in `lock` beside one that runs take turns.
-- section: process
-- chart: table
-- order: 36
-- param: n = 25, how many rows
WITH spans AS (
    SELECT run, host, sum(dt) AS seen_s FROM sched GROUP BY run, host
)
SELECT w.run, w.host, any_value(w.role) AS role, w.comm, w.wait, w.function, steady(sum(w.threads * w.dt) / any_value(s.seen_s)) AS threads, count(DISTINCT w.pid) AS processes
FROM thread_wait w JOIN spans s ON s.run = w.run AND s.host = w.host
GROUP BY w.run, w.host, w.comm, w.wait, w.function
ORDER BY w.run, w.host, threads DESC, w.comm, w.wait, w.function
LIMIT $n
