-- title: Statements wait in an extension, as those do that ask another server
-- severity: warning
-- section: database
-- message: {sessions} sessions of {server} waited in an extension on average, {share:%} of the DB time[: {event}][; mostly in {statement}].
-- advice: postgres_fdw, dblink and extensions of the kind wait so for another server: look at what it does for these statements, at the round trips to it (fetch_size, batch_size, conditions that are not sent along), and whether a connection is made each time. Other extensions wait for their own reasons: see which one the statement uses.
-- ask: db-waits
-- part: extension
-- impact: share of the DB time
-- explains: db-wait-dominates, connection-for-each, network-latency
-- world: database
-- yes: db server=localhost samples=10 *20
-- yes: db_wait server=localhost activity=extension wait_class=Extension wait_event=Extension kind=client measured=sampled time=3 *20
-- yes: db_wait server=localhost activity=cpu kind=client measured=sampled time=1 *20
-- no: db server=localhost samples=10 *20
-- no: db_wait server=localhost activity=extension wait_class=Extension wait_event=Extension kind=background measured=sampled time=3 *20
-- no: db_wait server=localhost activity=cpu kind=client measured=sampled time=1 *20
--
-- no: db server=localhost samples=10 *20
-- no: db_wait server=localhost activity=extension wait_class=Extension wait_event=PgStatStatements kind=client measured=sampled time=0.1 *20
-- no: db_wait server=localhost activity=cpu kind=client measured=sampled time=3 *20
--
-- no: db server=localhost samples=10 *20
-- no: db_wait server=localhost activity=lock wait_class=Lock wait_event=transactionid kind=client measured=sampled time=3 *20
--
-- no: db server=localhost samples=10 *20
-- no: db_wait server=localhost activity=extension wait_class=Extension wait_event=PgStatStatements kind=client measured=sampled time=3 *20
-- no: db_wait server=localhost activity=cpu kind=client measured=sampled time=1 *20
-- A quarter of DB time, and half a session. An extension that only counts statements asks no other server.
WITH waits AS (
    SELECT run, host, server, sum(sessions) FILTER (is_it) AS waiting, sum(sessions) AS total, max(seen_s) AS seen_s,
        arg_max(wait_event, w.time) FILTER (is_it AND lower(wait_event) <> 'extension') AS event
    FROM (SELECT *, activity = 'extension' AND coalesce(lower(wait_event), '') NOT LIKE 'pgstat%' AS is_it FROM db_best_wait) w
    WHERE in_db_time
    GROUP BY run, host, server
), statements AS (
    SELECT run, host, server, arg_max(statement, sessions) AS statement
    FROM (
        SELECT run, host, server, statement, sum(sessions) AS sessions
        FROM db_session_share
        WHERE class = 'extension' AND is_client AND statement IS NOT NULL
        GROUP BY run, host, server, statement
    )
    GROUP BY run, host, server
)
SELECT w.run, w.host, w.server, w.waiting AS sessions, 100 * w.waiting / w.total AS share, w.event, left(s.statement, 80) AS statement
FROM waits w LEFT JOIN statements s ON s.run = w.run AND s.host = w.host AND s.server IS NOT DISTINCT FROM w.server
WHERE w.waiting >= 0.5 AND w.waiting >= 0.25 * w.total AND w.seen_s >= 5
ORDER BY w.waiting DESC, w.run, w.host, w.server
