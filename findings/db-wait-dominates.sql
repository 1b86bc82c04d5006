-- title: One class of waits dominates DB time
-- severity: warning
-- section: database
-- message: {activity} is {share:%} of the DB time of {server}: {waiting} sessions on average, mostly {event}.
-- advice: Continue with what causes it: for user io the tables, indexes and statements that read (fenxi ask db-hot-objects), the disks, and the size of the cache; for ipc parallel plans. Locks, commits and contention have separate findings.
-- ask: db-waits
-- kind: symptom
-- impact: share of the DB time
-- names: statement, file
-- causes: db-reads-slow (slow reads), disk-saturated (a disk that is full), db-cache-hit-low (a small cache), db-one-statement (one statement)
-- world: database
-- yes: db server=localhost samples=10 *60
-- yes: db_wait server=localhost activity="user io" wait_class=IO wait_event=DataFileRead kind=client measured=sampled time=3 *60
-- yes: db_wait server=localhost activity=cpu kind=client measured=sampled time=1 *60
-- no: db server=localhost samples=10 *60
-- no: db_wait server=localhost activity="user io" wait_class=IO wait_event=DataFileRead kind=client measured=sampled time=3 *6
-- no: db_wait server=localhost activity=cpu kind=client measured=sampled time=1 *60
--
-- no: db server=localhost samples=10 *60
-- no: db_wait server=localhost activity="user io" wait_class=IO wait_event=DataFileRead kind=background measured=sampled time=3 *60
--
-- no: db server=localhost samples=10 *60
-- no: db_wait server=localhost activity=client wait_class=Client wait_event=ClientWrite kind=client measured=sampled time=9 *60
--
-- yes: db server=localhost active_sessions=6 block_read_time=4 *30
-- no: db server=localhost active_sessions=6 block_read_time=0.5 *30
-- Three tenths of DB time and two sessions: pg_wait_tracer warns of locks at the same.
-- Without samples of sessions, the server's own time in reads and writes of blocks is compared with its active sessions.
WITH classes AS (
    SELECT run, host, server, activity, arg_max(coalesce(wait_event, activity), w.time) AS event, sum(sessions) AS waiting, max(seen_s) AS seen_s
    FROM db_best_wait w
    WHERE in_db_time
    GROUP BY run, host, server, activity
), shares AS (
    SELECT *, 100 * waiting / sum(waiting) OVER (PARTITION BY run, host, server) AS share FROM classes
    UNION ALL
    SELECT run, host, coalesce(server, 'the server') AS server, 'user io' AS activity, 'time in block reads and writes, as the server counts it' AS event, wmean(io_time, dt) AS waiting, sum(dt) AS seen_s,
        least(100.0, 100 * wmean(io_time, dt) / nullif(wmean(active, dt), 0)) AS share
    FROM db_load
    WHERE NOT is_sampled
    GROUP BY run, host, server
)
SELECT run, host, server, activity, event, waiting, share
FROM shares
WHERE activity IN ('user io', 'system io', 'ipc', 'extension', 'replication') AND share >= 30 AND waiting >= 2 AND seen_s >= 5
ORDER BY waiting DESC, run, host, server
