-- title: Waited for a CPU
-- severity: info
-- section: process
-- message: {comm} {share:%} of the time that it wanted one
-- yes: process pid=7 comm=app cpu=50 run_queue_wait=50 *9
-- no: process pid=7 comm=app cpu=90 run_queue_wait=2 *9
--
-- no: process pid=7 comm=app cpu=0.2 run_queue_wait=0.2 *9
WITH spans AS (
    SELECT run, host, sum(dt) AS seen_s FROM (SELECT DISTINCT run, host, t, dt FROM process) GROUP BY run, host
), wanted AS (
    SELECT run, host, comm, sum(cpu * dt) / 100 AS ran_s, sum(run_queue_wait * dt) / 100 AS queued_s FROM process GROUP BY run, host, comm
)
SELECT w.run, w.host, coalesce(comm, '(unnamed)') AS comm, 100 * queued_s / (ran_s + queued_s) AS share, queued_s
FROM wanted w JOIN spans s ON s.run = w.run AND s.host = w.host
WHERE queued_s >= 0.1 * seen_s AND queued_s >= 0.1 * (ran_s + queued_s)
ORDER BY queued_s DESC, w.run, w.host, comm
