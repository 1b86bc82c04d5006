-- title: A database server needs more CPU than there is
-- severity: warning
-- section: database
-- message: For {full_s:s} of {seen_s:s} the processes of {server} used or waited for all {cpus} CPUs; on average {wanted:CPU}.
-- advice: See which statements take the CPU (fenxi ask db-statements) and what else runs; fewer sessions at once (a pool) shorten the queue without losing throughput. A load test that is meant to fill the machine is harmless.
-- ask: db-activity
-- part: on CPU; run queue
-- impact: full_s / seen_s of the time
-- names: statement
-- world: database
-- yes: sched cpus_online=2 *60
-- yes: db_wait server=localhost activity=cpu wait_event=cpu kind=client measured=os time=1.9 *60
-- yes: db_wait server=localhost activity="run queue" wait_event="run queue" kind=client measured=os time=2.5 *60
-- no: sched cpus_online=8 *60
-- no: db_wait server=localhost activity=cpu wait_event=cpu kind=client measured=os time=1.9 *60
-- no: db_wait server=localhost activity="run queue" wait_event="run queue" kind=client measured=os time=2.5 *60
--
-- no: sched cpus_online=2 *60
-- no: db_wait server=localhost activity=cpu kind=client measured=sampled time=6 *60
--
-- yes: sched cpus_online=2 *10
-- yes: db_wait server=localhost activity=cpu wait_event=cpu kind=client measured=os time=2.5 *10
-- no: sched cpus_online=2 *10
-- no: db_wait server=localhost activity=cpu wait_event=cpu kind=client measured=os time=2.5 *4
-- no: db_wait server=localhost activity=cpu wait_event=cpu kind=client measured=os time=1 *6 @4
--
-- no: sched cpus_online=2 *60
-- no: db_wait server=localhost activity=cpu wait_event=cpu kind=client measured=os time=2.2 *60
-- The line of CPUs in charts of active sessions (Oracle's), crossed by a quarter for a fifth of the time, and of short runs half: at three quarters of what it can do, a server has that many at moments. Samples are no measure of it: they call
-- active whatever waits for nothing else.
WITH moments AS (
    SELECT w.run, w.host, w.server, w.t, max(w.dt) AS dt, sum(w.time) AS wanted, max(s.cpus) AS cpus
    FROM db_best_wait w
    JOIN db_server s ON s.run = w.run AND s.host = w.host AND s.server IS NOT DISTINCT FROM w.server
    WHERE activity IN ('cpu', 'run queue') AND measured IN ('os', 'exact')
    GROUP BY w.run, w.host, w.server, w.t
    UNION ALL
    SELECT w.run, w.host, w.server, w.t, max(w.dt), sum(w.time), max(m.cpus_online)
    FROM db_best_wait w
    JOIN (SELECT run, host, max(cpus_online) AS cpus_online FROM sched GROUP BY run, host) m ON m.run = w.run AND m.host = w.host
    WHERE activity IN ('cpu', 'run queue') AND measured IN ('os', 'exact')
        AND NOT EXISTS (SELECT 1 FROM db_server s WHERE s.run = w.run AND s.host = w.host AND s.server IS NOT DISTINCT FROM w.server AND s.cpus IS NOT NULL)
    GROUP BY w.run, w.host, w.server, w.t
)
SELECT run, host, server, sum(dt) FILTER (wanted >= cpus) AS full_s, sum(dt) AS seen_s, CAST(max(cpus) AS BIGINT) AS cpus, steady(wmean(wanted, dt)) AS wanted
FROM moments
GROUP BY run, host, server
HAVING sum(dt) >= 5 AND sum(dt) FILTER (wanted >= 1.25 * cpus) >= CASE WHEN sum(dt) >= 30 THEN 0.2 ELSE 0.5 END * sum(dt)
ORDER BY wanted DESC, run, host, server
