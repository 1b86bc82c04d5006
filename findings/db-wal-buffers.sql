-- title: The log buffers are too small
-- severity: warning
-- section: database
-- message: The log buffers of {server} were full {rate:/s}.
-- advice: A session that finds them full writes the log itself: raise wal_buffers (PostgreSQL) or innodb_log_buffer_size.
-- ask: db-wal
-- world: database
-- yes: db_wal server=localhost buffers_full_per_s=40 *40
-- no: db_wal server=localhost buffers_full_per_s=0.5 *40
--
-- no: db_wal server=localhost buffers_full_per_s=40 *4
-- More than ten a second (awesome-prometheus-alerts).
SELECT run, host, server, wmean(buffers_full_per_s, dt) AS rate
FROM db_wal
GROUP BY run, host, server
HAVING wmean(buffers_full_per_s, dt) > 10 AND sum(dt) >= 5
ORDER BY rate DESC, run, host, server
