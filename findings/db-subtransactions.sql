-- title: Sessions look up subtransactions
-- severity: warning
-- section: database
-- message: {sessions} sessions of {server} waited for the table of subtransactions ({event}) on average, {share:%} of the DB time.
-- advice: A transaction with more than 64 subtransactions no longer fits into what snapshots carry: each check of a row then looks it up in shared buffers, the slower the longer the oldest transaction runs. Each SAVEPOINT, and each PL/pgSQL block with EXCEPTION that writes, is one: take them out of loops, make batches smaller, and end long transactions. Since PostgreSQL 17 `subtransaction_buffers` enlarges the buffers.
-- ask: db-waits
-- impact: share of the DB time
-- explains: db-contention, threads-take-turns
-- world: database
-- yes: db server=localhost samples=10 *20
-- yes: db_wait server=localhost activity=concurrency wait_class=LWLock wait_event=SubtransSLRU kind=client measured=sampled time=1 *20
-- yes: db_wait server=localhost activity=cpu kind=client measured=sampled time=4 *20
-- no: db server=localhost samples=10 *20
-- no: db_wait server=localhost activity=concurrency wait_class=LWLock wait_event=SubtransSLRU kind=client measured=sampled time=0.05 *20
-- no: db_wait server=localhost activity=cpu kind=client measured=sampled time=4 *20
--
-- no: db server=localhost samples=10 *20
-- no: db_wait server=localhost activity=concurrency wait_class=LWLock wait_event=XactSLRU kind=client measured=sampled time=1 *20
-- no: db_wait server=localhost activity=cpu kind=client measured=sampled time=4 *20
-- Sessions never wait for it otherwise: a twentieth of DB time, and a tenth of a session. Its names: SubtransControlLock and subtrans until
-- PostgreSQL 12, SubtransSLRU and SubtransBuffer since.
WITH waits AS (
    SELECT run, host, server, sum(sessions) FILTER (is_it) AS waiting, sum(sessions) AS total, max(seen_s) AS seen_s, arg_max(wait_event, sessions) FILTER (is_it) AS event
    FROM (SELECT *, coalesce(lower(wait_event) LIKE 'subtrans%', false) AS is_it FROM db_best_wait)
    WHERE in_db_time
    GROUP BY run, host, server
)
SELECT run, host, server, waiting AS sessions, 100 * waiting / total AS share, event
FROM waits
WHERE waiting >= 0.1 AND waiting >= 0.05 * total AND seen_s >= 5
ORDER BY waiting DESC, run, host, server
