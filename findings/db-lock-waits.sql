-- title: Database sessions wait for locks
-- severity: warning
-- section: database
-- says: On average {waiting} sessions of {server} waited for {event}.
-- advice: Find the blocking session and what it does; shorter transactions, or later locking, reduce the wait.
-- ask: db-waits
-- yes: db_wait server=localhost wait_class=Lock wait_event=transactionid time=3.5 *30
--
-- yes: db_session server=localhost session=7 state=active blocked_by=3 *30
-- yes: db_session server=localhost session=8 state=active blocked_by=3 *30
-- no: db_wait server=localhost wait_class=Lock wait_event=transactionid time=0.01 *30
--
-- no: db_wait server=localhost wait_class=IO wait_event=DataFileRead time=3.5 *30
--
-- no: db_session server=localhost session=7 state=active *30
-- Half a session all the time is a request that never runs half of the time. Locks of the server's own (LWLock, latches) are not meant.
WITH events AS (
    SELECT run, host, server, wait_event AS event, wmean(time, dt) AS waiting
    FROM db_wait
    WHERE wait_class ILIKE 'lock' OR wait_class ILIKE '%row lock%' OR wait_event ILIKE 'enq: T%' OR wait_event ILIKE '%/lock/%'
    GROUP BY run, host, server, wait_event
), blocked AS (
    SELECT run, host, server, t, CAST(sum(CASE WHEN blocked_by IS NOT NULL THEN 1 ELSE 0 END) AS DOUBLE) AS n
    FROM db_session
    GROUP BY run, host, server, t
)
SELECT run, host, server, event, waiting FROM events WHERE waiting >= 0.5
UNION ALL
SELECT run, host, server, 'each other', avg(n) FROM blocked GROUP BY run, host, server HAVING avg(n) >= 0.5
ORDER BY waiting DESC, run, host, server
