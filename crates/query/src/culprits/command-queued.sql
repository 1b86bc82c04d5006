-- title: The command waits for a CPU
-- severity: info
-- section: process
-- message: {comm} waited for a CPU for {share:%} of the time that it wanted one
-- yes: process pid=7 comm=app cpu=50 run_queue_wait=50 *9
-- yes: thread_wait pid=7 comm=app wait=run threads=1 role=command *9
-- no: process pid=7 comm=app cpu=50 run_queue_wait=50 *9
--
-- no: process pid=7 comm=app cpu=90 run_queue_wait=10 *9
-- no: thread_wait pid=7 comm=app wait=run threads=1 role=command *9
-- A quarter of what it wanted, and a tenth of the time at least.
WITH spans AS (
    SELECT run, host, sum(dt) AS seen_s FROM (SELECT DISTINCT run, host, t, dt FROM process) GROUP BY run, host
), commands AS (
    SELECT DISTINCT run, host, pid FROM thread_wait WHERE role = 'command'
), wanted AS (
    SELECT p.run, p.host, p.comm, sum(cpu * dt) / 100 AS ran_s, sum(run_queue_wait * dt) / 100 AS queued_s
    FROM process p JOIN commands c ON c.run = p.run AND c.host = p.host AND c.pid = p.pid
    GROUP BY p.run, p.host, p.comm
)
SELECT w.run, w.host, coalesce(comm, 'the command') AS comm, 100 * queued_s / (ran_s + queued_s) AS share, queued_s
FROM wanted w JOIN spans s ON s.run = w.run AND s.host = w.host
WHERE queued_s >= 0.1 * seen_s AND queued_s >= 0.25 * (ran_s + queued_s)
ORDER BY queued_s DESC, w.run, w.host, comm
