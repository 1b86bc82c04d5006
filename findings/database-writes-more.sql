-- title: The database writes more for the same work
-- severity: warning
-- section: disk
-- periods: inside, rest
-- message: {summary}, for no more rows: checkpoints that follow each other more closely and the whole pages that they put into the log, a cache that has to make room, or rows of a transaction that is not committed yet.
-- advice: See how often checkpoints begin and why (by time, or as the log is full), and what is written by them and by sessions: a larger log (max_wal_size, innodb_log_file_size) and cache write pages less often.
-- ask: db-checkpoints
-- explains: outside-disk, locks-more
-- yes: db commits_per_s=1000 rows_updated_per_s=1000 *30
-- yes: process pid=5 comm=postgres cpu=60 write_bytes_per_s=400000 *30
-- yes: inside db commits_per_s=800 rows_updated_per_s=800 *30 @30
-- yes: inside process pid=5 comm=postgres cpu=60 write_bytes_per_s=40000000 *30 @30
-- no: db commits_per_s=1000 rows_updated_per_s=1000 *30
-- no: process pid=5 comm=postgres cpu=60 write_bytes_per_s=400000 *30
-- no: inside db commits_per_s=800 rows_updated_per_s=9000 *30 @30
-- no: inside process pid=5 comm=postgres cpu=60 write_bytes_per_s=40000000 *30 @30
--
-- no: db commits_per_s=1000 rows_updated_per_s=1000 temp_bytes_per_s=0 *30
-- no: process pid=5 comm=postgres cpu=60 write_bytes_per_s=400000 *30
-- no: inside db commits_per_s=800 rows_updated_per_s=800 temp_bytes_per_s=50000000 *30 @30
-- no: inside process pid=5 comm=postgres cpu=60 write_bytes_per_s=40000000 *30 @30
--
-- no: db commits_per_s=1000 rows_updated_per_s=1000 *30
-- no: process pid=5 comm=postgres cpu=60 write_bytes_per_s=400 *30
-- no: inside db commits_per_s=800 rows_updated_per_s=800 *30 @30
-- no: inside process pid=5 comm=postgres cpu=60 write_bytes_per_s=4000 *30 @30
--
-- no: db commits_per_s=1000 rows_updated_per_s=10 *30
-- no: process pid=5 comm=postgres cpu=60 write_bytes_per_s=400000 *30
-- no: inside db commits_per_s=800 rows_updated_per_s=8 *30 @30
-- no: inside process pid=5 comm=postgres cpu=60 write_bytes_per_s=60000000 *30 @30
-- Of 64 KiB for each written row and more something else is written: rows of a load that has not committed are not counted yet.
-- Twice as much for each transaction. Rows that are written, sorts that spill and a costlier row are reported by their own rules. Bytes count from 1 MB a second.
SELECT m.run, m.host, c.summary, m.severity, least(4, greatest(own_writes, own_writes_cost)) AS weight
FROM moves m JOIN change c ON c.run = m.run AND c.is_first = 1 AND c.means = 'own_writes'
WHERE own_writes >= 1 AND coalesce(own_writes_cost, own_writes) >= 1 AND work <= 0.1 AND own_cost < 0.5 AND own_work < 0.3 AND coalesce(spills, 0) < 0.5
    AND coalesce(redo_cost, 0) < 0.5 AND coalesce(misses, 0) < 0.3 AND coalesce(flushes, 0) < 1.2 AND coalesce(dump, 0) < 0.6
    AND c.inside - c.rest >= CASE WHEN c.column_name ILIKE '%bytes%' THEN 1e6 ELSE 20 END
    AND (c.column_name NOT ILIKE '%bytes%' OR c.inside <= 65536 * (SELECT sum(x.inside) FROM change x WHERE x.run = m.run AND x.means IN ('changed', 'inserted') AND x.table_name = 'db'))
ORDER BY weight DESC
