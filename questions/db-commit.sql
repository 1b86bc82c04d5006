-- title: How long did commits wait?
-- about: Mean sessions that wait for their commit to be durable (log write, flush, replicas), beside the time in writes and flushes of the log. Waiting far above one flush at a time means that group commit is at work; compare with the disk's flush latency.
-- section: database
-- chart: line
-- x: t
-- y: committing, log_write, log_sync
-- series: server
-- unit: s/s
-- order: 55
WITH waiting AS (
    SELECT run, host, server, t, sum(w.time) AS committing FROM db_best_wait w WHERE activity = 'commit' AND kind = 'client' GROUP BY run, host, server, t
), log AS (
    SELECT run, host, server, t, any_value(dt) AS dt, sum(w.write_time) AS log_write, sum(w.sync_time) AS log_sync, sum(syncs_per_s) AS syncs_per_s, max(commits_per_sync) AS commits_per_sync
    FROM db_wal w GROUP BY run, host, server, t
)
SELECT l.run, l.host, l.t, l.dt, l.server, coalesce(w.committing, 0) AS committing, l.log_write, l.log_sync, l.syncs_per_s, l.commits_per_sync
FROM log l
LEFT JOIN waiting w ON w.run = l.run AND w.host = l.host AND w.server IS NOT DISTINCT FROM l.server AND w.t = l.t
ORDER BY l.run, l.host, l.server, l.t
