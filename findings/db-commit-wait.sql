-- title: Commits wait for the log
-- severity: warning
-- section: database
-- message: Making commits durable is {share:%} of the DB time of {server}: {waiting} sessions on average.
-- advice: See how slow the log's disk is (fenxi ask disk-latency, finding flush-waits) and whether a replica is waited for: commit more rows at once, give the log a device with a protected write cache. Giving up durability (synchronous_commit, innodb_flush_log_at_trx_commit) is a decision of the owner of the data.
-- ask: db-commit
-- explains: threads-take-turns
-- part: commit
-- impact: share of the DB time
-- world: database
-- yes: db server=localhost samples=10 *60
-- yes: db_wait server=localhost activity=commit wait_class=IO wait_event=WALSync kind=client measured=sampled time=2 *60
-- yes: db_wait server=localhost activity=cpu kind=client measured=sampled time=2 *60
-- no: db server=localhost samples=10 *60
-- no: db_wait server=localhost activity=commit wait_class=IO wait_event=WALSync kind=client measured=sampled time=0.2 *60
--
-- no: db server=localhost samples=10 *60
-- no: db_wait server=localhost activity=commit wait_class=IO wait_event=WALSync kind=client measured=sampled time=2 *60
-- no: db_wait server=localhost activity=cpu kind=client measured=sampled time=20 *60
-- Three tenths of DB time, as for other waits, and half a session.
WITH classes AS (
    SELECT run, host, server, sum(sessions) FILTER (activity = 'commit') AS waiting, sum(sessions) AS all_sessions, max(seen_s) AS seen_s
    FROM db_best_wait
    WHERE in_db_time
    GROUP BY run, host, server
)
SELECT run, host, server, waiting, 100 * waiting / all_sessions AS share
FROM classes
WHERE waiting >= 0.5 AND waiting >= 0.3 * all_sessions AND seen_s >= 5
ORDER BY waiting DESC, run, host, server
