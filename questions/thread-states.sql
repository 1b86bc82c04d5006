-- title: How did threads spend their time?
-- about: Microstates of threads in percent of the run: user code, system calls, page faults, locks, sleep, waiting for a CPU. Threads that did nothing are left out.
-- section: process
-- chart: table
-- order: 37
-- param: n = 30, how many threads to show
SELECT run, t.host, pid, tid, comm, sum(t.usr * dt) / max(duration_s) AS usr, sum(t.sys * dt) / max(duration_s) AS sys,
    sum(data_fault * dt) / max(duration_s) AS data_fault, sum(lock_wait * dt) / max(duration_s) AS lock_wait,
    sum(sleep * dt) / max(duration_s) AS sleep, sum(run_queue_wait * dt) / max(duration_s) AS run_queue_wait
FROM thread t JOIN runs USING (run)
WHERE t.lock_wait IS NOT NULL
GROUP BY run, t.host, pid, tid, comm
ORDER BY run, sum((t.usr + t.sys) * dt) DESC NULLS LAST, sum(t.lock_wait * dt) DESC NULLS LAST, pid, tid
LIMIT $n
