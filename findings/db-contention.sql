-- title: Sessions contend for the database server's own locks
-- severity: warning
-- section: database
-- message: Latches and internal locks are {share:%} of the DB time of {server}: {waiting} sessions on average, mostly {event}.
-- advice: Too many sessions touch the same page, buffer or log at once: fewer sessions (a pool), fewer hot rows and indexes on ascending keys, larger log buffers. More CPUs make it worse.
-- ask: db-waits
-- explains: threads-take-turns
-- part: concurrency
-- impact: share of the DB time
-- world: database
-- yes: db server=localhost samples=10 *60
-- yes: db_wait server=localhost activity=concurrency wait_class=LWLock wait_event=BufferContent kind=client measured=sampled time=3 *60
-- yes: db_wait server=localhost activity=cpu kind=client measured=sampled time=2 *60
-- no: db server=localhost samples=10 *60
-- no: db_wait server=localhost activity=concurrency wait_class=LWLock wait_event=BufferContent kind=client measured=sampled time=3 *60
-- no: db_wait server=localhost activity=cpu kind=client measured=sampled time=20 *60
--
-- no: db server=localhost samples=10 *60
-- no: db_wait server=localhost activity=lock wait_class=Lock wait_event=tuple kind=client measured=sampled time=3 *60
-- Three tenths of DB time, as for other waits; one session, since latches are meant to be held for microseconds.
WITH classes AS (
    SELECT run, host, server, sum(sessions) FILTER (activity = 'concurrency') AS waiting, sum(sessions) AS all_sessions, max(seen_s) AS seen_s,
        arg_max(wait_event, w.time) FILTER (activity = 'concurrency') AS event
    FROM db_best_wait w
    WHERE in_db_time
    GROUP BY run, host, server
)
SELECT run, host, server, coalesce(event, 'unnamed') AS event, waiting, 100 * waiting / all_sessions AS share
FROM classes
WHERE waiting >= 1 AND waiting >= 0.3 * all_sessions AND seen_s >= 5
ORDER BY waiting DESC, run, host, server
