-- title: Most of the log is full-page images
-- severity: info
-- section: database
-- message: Full pages are up to {share:%} of the {rate:B/s} of log that {server} wrote.
-- advice: A page is logged in full at its first change after a checkpoint: make checkpoints rarer (max_wal_size, checkpoint_timeout), or switch on wal_compression. Normal in the minutes after a checkpoint: let a test run over several.
-- ask: db-wal
-- world: database
-- yes: db_wal server=localhost wal_bytes_per_s=8e6 full_pages_per_s=900 *60
-- no: db_wal server=localhost wal_bytes_per_s=8e6 full_pages_per_s=90 *60
--
-- no: db_wal server=localhost wal_bytes_per_s=8e5 full_pages_per_s=90 *60
-- Half of at least 1 MiB a second, counting a page as a whole block: holes in it and compression make it less.
SELECT w.run, w.host, w.server, steady(wmean(wal_bytes_per_s, w.dt)) AS rate, steady(least(100, 100 * wmean(full_pages_per_s, w.dt) * coalesce(max(s.block_size), 8192) / wmean(wal_bytes_per_s, w.dt))) AS share
FROM db_wal w
LEFT JOIN db_server s ON s.run = w.run AND s.host = w.host AND s.server IS NOT DISTINCT FROM w.server
GROUP BY w.run, w.host, w.server
HAVING wmean(wal_bytes_per_s, w.dt) >= 1048576 AND wmean(full_pages_per_s, w.dt) * coalesce(max(s.block_size), 8192) >= 0.5 * wmean(wal_bytes_per_s, w.dt) AND sum(w.dt) >= 30
ORDER BY rate DESC, w.run, w.host, w.server
