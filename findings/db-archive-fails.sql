-- title: Archiving the log fails
-- severity: warning
-- section: database
-- message: {server} failed {n:time|times} to archive a file of its log.
-- advice: Until it succeeds the log is kept and fills the disk: see the server's log and archive_command.
-- ask: db-wal
-- world: database
-- yes: db_wal server=localhost archive_failures=1 *3
-- no: db_wal server=localhost archive_failures=0 archived=4 *30
--
-- no: db_wal server=localhost wal_bytes_per_s=1e6 *30
-- Any failure.
SELECT run, host, server, CAST(sum(archive_failures) AS BIGINT) AS n
FROM db_wal
GROUP BY run, host, server
HAVING sum(archive_failures) >= 1
ORDER BY n DESC, run, host, server
