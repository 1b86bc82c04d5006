-- title: Database sessions wait for locks
-- severity: warning
-- section: database
-- says: On average {waiting} sessions of {server} waited for {event}.
-- advice: Find the blocking session and what it does; shorter transactions, or later locking, reduce the wait.
-- ask: db-blocking
-- explains: threads-take-turns, waits-for-peer
-- part: lock
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
-- no: db server=localhost samples=10 *60
-- no: db_wait server=localhost activity=lock wait_class=Lock wait_event=tuple kind=client measured=sampled time=3.5 *2
-- no: db_session server=localhost session=7 state=active activity=lock blocked_by=3 dt=0.1 *20
-- Half a session all the time is a request that never runs half of the time. Locks of the server's own (LWLock, latches) are not
-- meant. Samplers give rows only for those who wait: their time is divided by all the time that was sampled.
WITH waits AS (
    SELECT run, host, server, wait_event AS event, sum(sessions) AS waiting
    FROM db_best_wait
    WHERE activity = 'lock'
    GROUP BY run, host, server, wait_event
), blocked AS (
    SELECT run, host, server, sum(sessions) FILTER (blocked_by IS NOT NULL) AS waiting
    FROM db_session_share
    GROUP BY run, host, server
)
SELECT run, host, server, coalesce(event, 'locks') AS event, waiting FROM waits WHERE waiting >= 0.5
UNION ALL
SELECT b.run, b.host, b.server, 'each other', b.waiting FROM blocked b
WHERE b.waiting >= 0.5 AND NOT EXISTS (SELECT 1 FROM waits w WHERE w.run = b.run AND w.host = b.host AND w.server IS NOT DISTINCT FROM b.server)
ORDER BY waiting DESC, run, host, server
