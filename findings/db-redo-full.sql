-- title: The redo log is nearly full
-- severity: warning
-- section: database
-- message: For {full_s:s} of {seen_s:s} the redo log of {server} was filled to 80 % of what makes it flush at all cost.
-- advice: At the limit all writers wait for pages to be flushed. Enlarge innodb_log_file_size (innodb_redo_log_capacity), or let pages be flushed earlier (innodb_io_capacity).
-- ask: db-checkpoints
-- explains: db-contention, threads-take-turns
-- world: database
-- yes: db_checkpoint server=localhost redo_bytes=9e8 redo_limit_bytes=1e9 *40
-- no: db_checkpoint server=localhost redo_bytes=5e8 redo_limit_bytes=1e9 *40
--
-- no: db_checkpoint server=localhost redo_bytes=5e8 redo_limit_bytes=1e9 *58
-- no: db_checkpoint server=localhost redo_bytes=9e8 redo_limit_bytes=1e9 *2 @58
--
-- yes: db_checkpoint server=localhost redo_bytes=2.6e6 redo_limit_bytes=2.7e6 *8
-- no: db_checkpoint server=localhost redo_bytes=2.6e6 redo_limit_bytes=2.7e6 *3
-- no: db_checkpoint server=localhost redo_bytes=1e6 redo_limit_bytes=2.7e6 *5 @3
--
-- fact: db server=localhost samples=10 *9
-- fact: db_checkpoint server=localhost redo_bytes=370 redo_limit_bytes=414 *9
-- fact: db_wait server=localhost activity=cpu kind=client measured=sampled time=4 *9
-- fact: db_wait server=localhost activity=concurrency kind=client measured=sampled time=0.06 *9
-- Pages are flushed harder as the limit comes nearer: who does not wait for latches then is not held up. Four fifths of the
-- limit for a tenth of half a minute, or for most of a shorter time.
WITH redo AS (
    SELECT run, host, server, sum(dt) FILTER (redo_bytes >= 0.8 * redo_limit_bytes) AS full_s, sum(dt) AS seen_s
    FROM db_checkpoint
    GROUP BY run, host, server
    HAVING sum(dt) >= 5 AND sum(dt) FILTER (redo_bytes >= 0.8 * redo_limit_bytes) >= CASE WHEN sum(dt) >= 30 THEN 0.1 ELSE 0.5 END * sum(dt)
), waits AS (
    SELECT run, host, server, coalesce(sum(sessions) FILTER (activity = 'concurrency'), 0) / sum(sessions) AS latched FROM db_best_wait WHERE in_db_time GROUP BY run, host, server
)
SELECT r.*, CASE WHEN w.latched < 0.1 THEN 'info' ELSE 'warning' END AS severity
FROM redo r LEFT JOIN waits w ON w.run = r.run AND w.host = r.host AND w.server IS NOT DISTINCT FROM r.server
ORDER BY full_s DESC, r.run, r.host, r.server
