-- title: A written row costs more
-- severity: warning
-- section: database
-- periods: inside, rest
-- message: {summary}, for the same rows: more is written for each row than before, as new indexes, triggers or larger rows make it.
-- advice: Compare the indexes and triggers of the tables that are written with those before; drop what no statement uses. See the log written for each transaction.
-- ask: db-hot-indexes
-- explains: locks-more, cache-misses-more, outside-disk, outside-load, disk-slower, server-stalls, cpu-busier
-- yes: db commits_per_s=100 rows_inserted_per_s=1000 log_bytes_per_s=500000 *60
-- yes: inside db commits_per_s=50 rows_inserted_per_s=500 log_bytes_per_s=800000 *30 @60
-- no: db commits_per_s=100 rows_inserted_per_s=1000 log_bytes_per_s=500000 *60
-- no: inside db commits_per_s=100 rows_inserted_per_s=5000 log_bytes_per_s=2500000 *30 @60
--
-- no: db commits_per_s=100 rows_inserted_per_s=1000 log_bytes_per_s=500000 *60
-- no: inside db commits_per_s=50 rows_inserted_per_s=500 log_bytes_per_s=300000 *30 @60
-- With fewer transactions at the same time a log is flushed for fewer at once, and padding makes it half as large again: bytes of the log
-- count from nearly twice as many, requests to write from 1.4 times.
SELECT m.run, m.host, c.summary, m.severity, least(4, greatest(redo_cost, log_cost)) AS weight
FROM moves m JOIN change c ON c.run = m.run AND c.is_first = 1 AND c.means = CASE WHEN redo_cost >= 0.5 THEN 'redo' ELSE 'log' END
WHERE (redo_cost >= 0.5 AND redo > -0.7 OR log_cost >= 0.9 AND log > -0.7) AND coalesce(inserted, changed) IS NOT NULL
    AND greatest(inserted_cost, changed_cost, 0) < 0.4 AND work <= 0.1 AND coalesce(flushes, 0) < 1.2
ORDER BY weight DESC
