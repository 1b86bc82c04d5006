-- title: Far more sessions are active than the CPUs can serve
-- severity: warning
-- section: database
-- message: {active} sessions of {server} were active on average, {most} at most, as the server counts them{of_cpus}.
-- advice: They wait for each other, for a CPU or for a disk: look at locks first, then at reads and at what changed in the load. A pool of a few connections for each CPU keeps such a queue outside of the server.
-- ask: db-connections
-- kind: symptom
-- names: session-wait, holder, statement
-- causes: db-lock-waits (locks), db-wait-dominates (waits for the disk), db-one-statement (one statement)
-- world: database
-- yes: db server=localhost active_sessions=60 *30
-- yes: sched cpus_online=4 *30
--
-- yes: db server=localhost active_sessions=90 sessions=100 *30
-- no: db server=localhost active_sessions=6 *30
-- no: sched cpus_online=4 *30
--
-- no: db server=localhost active_sessions=30 *30
--
-- no: db server=localhost active_sessions=60 samples=10 *30
-- no: sched cpus_online=4 *30
--
-- no: db server=localhost active_sessions=60 *2
-- no: db server=localhost active_sessions=2 *58 @2
-- no: sched cpus_online=4 *60
-- Four for each CPU and at least sixteen, or 64 where the CPUs are unknown: what is served at once by then only waits more. Where the sessions
-- were looked at, other rules know what they wait for.
WITH machine AS (
    SELECT run, host, max(cpus_online) AS cpus FROM sched GROUP BY run, host
), loads AS (
    SELECT run, host, server, wmean(active, dt) AS active, max(active) AS most, sum(dt) AS seen_s
    FROM db_load
    WHERE NOT is_sampled AND active IS NOT NULL
    GROUP BY run, host, server
)
SELECT l.run, l.host, coalesce(server, 'the server') AS server, active, CAST(round(most) AS BIGINT) AS most, CAST(m.cpus AS BIGINT) AS cpus,
    CASE WHEN m.cpus IS NULL THEN '' ELSE '; there are ' || CAST(CAST(m.cpus AS BIGINT) AS VARCHAR) || ' CPUs' END AS of_cpus
FROM loads l LEFT JOIN machine m ON m.run = l.run AND m.host = l.host
WHERE active >= CASE WHEN m.cpus IS NULL THEN 64 ELSE greatest(16, 4 * m.cpus) END AND seen_s >= 5
ORDER BY active DESC, l.run, l.host, server
