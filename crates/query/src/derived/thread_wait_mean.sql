-- What the threads of each process were at over the run: a row for each kind of wait. `threads` is the mean number over all the time
-- that was sampled, `at_work` that of all of the process's threads that were at anything, `cpu` its CPU time in percent of one CPU.
WITH spans AS (
    SELECT run, host, sum(dt) AS seen_s FROM sched GROUP BY run, host
), used AS (
    SELECT run, host, pid, comm, sum(cpu * dt) AS cpu, max(threads) AS threads FROM process GROUP BY run, host, pid, comm
), waits AS (
    SELECT run, host, pid, comm, wait, any_value(role) AS role, sum(w.threads * dt) AS thread_s, arg_max(function, w.threads) AS function, count(DISTINCT t) AS looks
    FROM thread_wait w
    GROUP BY run, host, pid, comm, wait
)
SELECT w.run, w.host, w.pid, w.comm, w.wait, w.role, w.function, w.looks, s.seen_s, thread_s / s.seen_s AS threads,
    sum(thread_s) OVER (PARTITION BY w.run, w.host, w.pid, w.comm) / s.seen_s AS at_work, u.cpu / s.seen_s AS cpu, u.threads AS of_threads
FROM waits w
JOIN spans s ON s.run = w.run AND s.host = w.host
LEFT JOIN used u ON u.run = w.run AND u.host = w.host AND u.pid = w.pid AND u.comm = w.comm
