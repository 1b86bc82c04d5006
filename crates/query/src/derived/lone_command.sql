-- The recorded command where it is one process of one thread that computes all the time: `used` is what it had of one CPU, percent. It fills a
-- CPU as designed: only the one who started it waits for it. A disturbance shows in the time that it waited for a CPU, which is small here.
WITH commands AS (
    SELECT DISTINCT run, host, pid FROM thread_wait WHERE role = 'command'
), spans AS (
    SELECT run, host, sum(dt) AS seen_s FROM sched GROUP BY run, host
), used AS (
    SELECT p.run, p.host, p.pid, any_value(p.comm) AS comm, sum(p.cpu * p.dt) AS ran, sum(coalesce(p.run_queue_wait, 0) * p.dt) AS queued, max(p.threads) AS threads
    FROM process p JOIN commands c ON c.run = p.run AND c.host = p.host AND c.pid = p.pid
    GROUP BY p.run, p.host, p.pid
), counted AS (
    SELECT u.*, ran / nullif(seen_s, 0) AS used, sum(CASE WHEN ran >= seen_s THEN 1 ELSE 0 END) OVER (PARTITION BY u.run, u.host) AS working
    FROM used u JOIN spans s ON s.run = u.run AND s.host = u.host
)
SELECT run, host, pid, comm, least(100.0, used) AS used
FROM counted
WHERE working = 1 AND threads = 1 AND used >= 90 AND queued <= 0.1 * ran
