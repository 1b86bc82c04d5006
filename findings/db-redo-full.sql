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
-- Four fifths of the limit for a tenth of half a minute, or for most of a shorter time.
SELECT run, host, server, sum(dt) FILTER (redo_bytes >= 0.8 * redo_limit_bytes) AS full_s, sum(dt) AS seen_s
FROM db_checkpoint
GROUP BY run, host, server
HAVING sum(dt) >= 5 AND sum(dt) FILTER (redo_bytes >= 0.8 * redo_limit_bytes) >= CASE WHEN sum(dt) >= 30 THEN 0.1 ELSE 0.5 END * sum(dt)
ORDER BY full_s DESC, run, host, server
