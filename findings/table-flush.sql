-- title: Tables or logs are flushed
-- severity: warning
-- section: database
-- periods: inside, rest
-- message: {summary}: tables are closed and opened again.
-- advice: Look for FLUSH statements, a backup that takes a read lock, a schema change or log rotation; raise the table cache where it overflows.
-- ask: db-table-cache
-- explains: locks-more, server-stalls
-- yes: db commits_per_s=100 table_cache_misses_per_s=0.1 *60
-- yes: inside db commits_per_s=40 table_cache_misses_per_s=20 *30 @60
-- no: db commits_per_s=100 table_cache_misses_per_s=0.1 *60
-- no: inside db commits_per_s=300 table_cache_misses_per_s=0.3 *30 @60
--
-- no: db commits_per_s=100 table_cache_misses_per_s=2 *60
-- no: inside db commits_per_s=20 table_cache_misses_per_s=2 *30 @60
-- Tables that are opened for the first time are a start; only where work becomes slower they matter.
SELECT m.run, m.host, c.summary, m.severity, least(4, flushes) AS weight
FROM moves m JOIN change c ON c.run = m.run AND c.is_first = 1 AND c.means = 'flushes'
WHERE flushes >= 1.2 AND (c.inside >= 5 OR NOT regexp_matches(lower(c.column_name || c.key), 'opened|cache')) AND coalesce(ddl, 0) < 0.5 AND work <= 0.2 AND m.severity = 'warning'
ORDER BY weight DESC
