-- title: The cache misses more for the same work
-- severity: warning
-- section: database
-- periods: inside, rest
-- message: {summary}, while transactions read no more rows: the cache has become too small for what they touch, or was emptied.
-- advice: See the size of the cache and whether it was changed, restarted or filled by a scan before; compare the working set with it.
-- ask: db-io
-- explains: locks-more, outside-disk
-- yes: db commits_per_s=100 cache_misses_per_s=50 rows_returned_per_s=5000 *60
-- yes: inside db commits_per_s=60 cache_misses_per_s=900 rows_returned_per_s=3000 *30 @60
-- no: db commits_per_s=100 cache_misses_per_s=50 rows_returned_per_s=5000 *60
-- no: inside db commits_per_s=60 cache_misses_per_s=30 rows_returned_per_s=3000 *30 @60
--
-- no: db commits_per_s=100 cache_misses_per_s=50 rows_returned_per_s=5000 *60
-- no: inside db commits_per_s=60 cache_misses_per_s=900 rows_returned_per_s=500000 *30 @60
SELECT m.run, m.host, c.summary, m.severity, least(4, misses_cost) AS weight
FROM moves m JOIN change c ON c.run = m.run AND c.is_first = 1 AND c.means = 'misses'
WHERE misses >= 0.3 AND misses_cost >= 0.5 AND work <= 0.1
    AND greatest(reads_cost, scans_cost, 0) < 0.5 AND coalesce(inserted_cost, 0) < 0.5 AND coalesce(flushes, 0) < 1.2
ORDER BY weight DESC
