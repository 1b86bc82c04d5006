-- title: Rows are loaded in bulk
-- severity: warning
-- section: database
-- periods: inside, rest
-- message: {summary}, and more for each transaction: somebody loads or restores data.
-- advice: Look for a restore, an import or a migration (LOAD DATA, COPY, INSERT of many rows) and move it to a quiet time, or throttle it. Harmless where the load itself is the work.
-- ask: db-statements
-- explains: locks-more, cache-misses-more, index-write-cost, outside-disk, outside-load, table-flush, plan-or-scan-change, disk-slower, server-stalls, cpu-busier
-- yes: db commits_per_s=100 rows_inserted_per_s=500 *60
-- yes: inside db commits_per_s=60 rows_inserted_per_s=9000 *30 @60
--
-- yes: metric name=Com_commit value=100 *60
-- yes: metric name=Innodb_rows_inserted value=500 *60
-- yes: inside metric name=Com_commit value=3 *30 @60
-- yes: inside metric name=Innodb_rows_inserted value=5500 *30 @60
-- no: db commits_per_s=100 rows_inserted_per_s=500 *60
-- no: inside db commits_per_s=300 rows_inserted_per_s=1500 *30 @60
--
-- no: db commits_per_s=100 rows_inserted_per_s=500 *60
-- no: inside db commits_per_s=20 rows_inserted_per_s=100 *30 @60
-- Twice as many rows for each transaction, and half as many more a second, are no wandering of a workload.
SELECT m.run, m.host, c.summary, m.severity, least(4, coalesce(inserted_cost, inserted)) AS weight
FROM moves m JOIN change c ON c.run = m.run AND c.is_first = 1 AND c.means = 'inserted'
WHERE inserted >= 0.6 AND coalesce(inserted_cost, inserted - 0.5) >= 1
ORDER BY weight DESC
