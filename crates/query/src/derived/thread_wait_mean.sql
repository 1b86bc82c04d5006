-- What the threads of each process were at over the run: a row for each kind of wait. `threads` is the mean number over all the time
-- that was sampled, each by the progress that it makes where that is known, `there` the same without regard to progress, `at_work` that of all of the process's threads that were at
-- anything, `mutex` the share of those in a lock that surely waited for a mutex, `cpu` its CPU time in percent of one CPU.
-- `is_subject` leaves out bystanders: where the recorder started a command, or observed a database server, what others wait for is no
-- cause of anything.
WITH spans AS (
    SELECT run, host, sum(dt) AS seen_s FROM sched GROUP BY run, host
), used AS (
    SELECT run, host, pid, comm, sum(cpu * dt) AS cpu, max(threads) AS threads FROM process GROUP BY run, host, pid, comm
), waits AS (
    SELECT run, host, pid, comm, wait, any_value(role) AS role, sum(coalesce(w.progress, w.threads) * dt) AS thread_s, sum(w.threads * dt) AS there_s, sum(w.mutex * dt) / nullif(sum(w.threads * dt) FILTER (w.mutex IS NOT NULL), 0) AS mutex, arg_max(function, w.threads) AS function, count(DISTINCT t) AS looks
    FROM thread_wait w
    GROUP BY run, host, pid, comm, wait
), programs AS (
    SELECT DISTINCT run, host, comm FROM thread_wait WHERE role = 'command'
    UNION
    SELECT DISTINCT run, host, comm FROM thread_wait w WHERE comm IN ('postgres', 'mariadbd', 'mysqld') AND EXISTS (SELECT 1 FROM db WHERE db.run = w.run)
)
SELECT w.run, w.host, w.pid, w.comm, w.wait, w.role, w.function, w.looks, s.seen_s, thread_s / s.seen_s AS threads, there_s / s.seen_s AS there, mutex,
    sum(thread_s) OVER (PARTITION BY w.run, w.host, w.pid, w.comm) / s.seen_s AS at_work, u.cpu / s.seen_s AS cpu, u.threads AS of_threads,
    EXISTS (SELECT 1 FROM programs p WHERE p.run = w.run AND p.host = w.host AND p.comm = w.comm) OR NOT EXISTS (SELECT 1 FROM programs p WHERE p.run = w.run AND p.host = w.host) AS is_subject
FROM waits w
JOIN spans s ON s.run = w.run AND s.host = w.host
LEFT JOIN used u ON u.run = w.run AND u.host = w.host AND u.pid = w.pid AND u.comm = w.comm
