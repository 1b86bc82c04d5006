-- title: Database sessions wait for locks
-- severity: warning
-- section: database
-- message: On average {waiting} sessions of {server} waited for {event}.
-- advice: Find the blocking session and what it does; shorter transactions, or later locking, reduce the wait.
-- ask: db-blocking
-- explains: threads-take-turns, waits-for-peer
-- part: lock
-- world: database
-- yes: db_wait server=localhost wait_class=Lock wait_event=transactionid time=3.5 *30
--
-- yes: db_session server=localhost session=7 state=active blocked_by=3 *30
-- yes: db_session server=localhost session=8 state=active blocked_by=3 *30
--
-- yes: db server=localhost samples=10 *60
-- yes: db_wait server=localhost activity=lock wait_class=Lock wait_event=tuple kind=client measured=sampled time=3.5 *20
-- no: db_wait server=localhost wait_class=Lock wait_event=transactionid time=0.01 *30
--
-- no: db_wait server=localhost wait_class=IO wait_event=DataFileRead time=3.5 *30
--
-- no: db_session server=localhost session=7 state=active *30
--
-- yes: db server=localhost active_sessions=59 waiting_sessions=57 *30
-- no: db server=localhost active_sessions=59 waiting_sessions=0.2 *30
--
-- yes: db server=localhost row_lock_time=2.5 row_lock_waits_per_s=10 *30
-- no: db server=localhost row_lock_time=0.1 row_lock_waits_per_s=10 *30
--
-- no: db server=localhost samples=10 waiting_sessions=4 row_lock_time=4 *30
--
-- no: db server=localhost samples=10 *60
-- no: db_wait server=localhost activity=lock wait_class=Lock wait_event=tuple kind=client measured=sampled time=3.5 *2
-- no: db_session server=localhost session=7 state=active activity=lock blocked_by=3 dt=0.1 *20
-- Half a session all the time is a request that never runs half of the time. Locks of the server's own (LWLock, latches) are not
-- meant. Samplers give rows only for those who wait: their time is divided by all the time that was sampled.
-- Without samples of sessions, the server's own counters are used: sessions that wait, or the time in row locks, which is counted when a wait ends.
WITH waits AS (
    SELECT run, host, server, wait_event AS event, sum(sessions) AS waiting
    FROM db_best_wait
    WHERE activity = 'lock'
    GROUP BY run, host, server, wait_event
), blocked AS (
    SELECT run, host, server, sum(sessions) FILTER (blocked_by IS NOT NULL) AS waiting
    FROM db_session_share
    GROUP BY run, host, server
), counted AS (
    SELECT run, host, server, wmean(waiting, dt) AS sessions, wmean(lock_time, dt) AS lock_time, wmean(lock_waits, dt) AS lock_waits, sum(dt) AS seen_s
    FROM db_load
    WHERE NOT is_sampled
    GROUP BY run, host, server
)
SELECT run, host, server, coalesce(event, 'locks') AS event, waiting FROM waits WHERE waiting >= 0.5
UNION ALL
SELECT b.run, b.host, b.server, 'each other' AS event, b.waiting FROM blocked b
WHERE b.waiting >= 0.5 AND NOT EXISTS (SELECT 1 FROM waits w WHERE w.run = b.run AND w.host = b.host AND w.server IS NOT DISTINCT FROM b.server)
UNION ALL
SELECT run, host, coalesce(server, 'the server') AS server,
    CASE WHEN lock_time >= coalesce(sessions, 0) THEN 'row locks (' || CAST(round(coalesce(lock_waits, 0), 1) AS VARCHAR) || ' waits a second, as the server counts them)'
        ELSE 'locks, as the server counts its waiting sessions' END AS event,
    greatest(coalesce(sessions, 0), coalesce(lock_time, 0)) AS waiting
FROM counted
WHERE greatest(coalesce(sessions, 0), coalesce(lock_time, 0)) >= 0.5 AND seen_s >= 3
ORDER BY waiting DESC, run, host, server
