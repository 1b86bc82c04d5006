-- title: Commits wait for a replica
-- severity: warning
-- section: database
-- message: Waiting for a replica to confirm is {share:%} of the DB time of {server}: {waiting} sessions on average, {log} for its own log.
-- advice: See what the replica does (fenxi ask db-replication: lag of write, flush and replay; record it with --on) and the round-trip time to it (one for each commit). Commit more rows at once. Confirming sooner (synchronous_commit=remote_write) or by any of several replicas is a decision of the owner of the data.
-- ask: db-replication
-- explains: db-commit-wait, threads-take-turns
-- part: commit
-- impact: share of the DB time
-- world: database
-- yes: db server=localhost samples=10 *60
-- yes: db_wait server=localhost activity=commit wait_class=IPC wait_event=SyncRep kind=client measured=sampled time=3 *60
-- yes: db_wait server=localhost activity=commit wait_class=IO wait_event=WALSync kind=client measured=sampled time=0.5 *60
-- no: db server=localhost samples=10 *60
-- no: db_wait server=localhost activity=commit wait_class=IPC wait_event=SyncRep kind=client measured=sampled time=3 *60
-- no: db_wait server=localhost activity=commit wait_class=IO wait_event=WALSync kind=client measured=sampled time=2 *60
--
-- yes: db server=localhost samples=10 *60
-- yes: db_wait server=localhost activity=commit wait_event="Waiting for semi-sync ACK from slave" kind=client measured=sampled time=3 *60
--
-- no: db server=localhost samples=10 *60
-- no: db_wait server=localhost activity=commit wait_class=IO wait_event=WALSync kind=client measured=sampled time=3 *60
-- A replica that is as near and as fast as the own disk adds about as much as the own log takes: twice that, three tenths of DB time and half a session.
WITH classes AS (
    SELECT run, host, server,
        sum(sessions) FILTER (wait_event = 'SyncRep' OR lower(wait_event) LIKE '%semi-sync%') AS waiting,
        sum(sessions) FILTER (activity = 'commit') AS committing, sum(sessions) AS all_sessions, max(seen_s) AS seen_s
    FROM db_best_wait
    WHERE in_db_time
    GROUP BY run, host, server
)
SELECT run, host, server, waiting, 100 * waiting / all_sessions AS share, committing - waiting AS log
FROM classes
WHERE waiting >= 0.5 AND waiting >= 0.3 * all_sessions AND waiting >= 2 * (committing - waiting) AND seen_s >= 5
ORDER BY waiting DESC, run, host, server
