-- title: A backup or dump reads the database, or results are huge
-- severity: warning
-- section: database
-- periods: inside, rest
-- message: {summary}{sent_too}: somebody reads whole tables and takes them away, or statements return far more rows than before.
-- advice: Look for a dump, a backup or an export (sessions by application, SELECT without a condition); move it to a replica or a quiet time, or throttle it.
-- ask: db-by-application
-- explains: locks-more, cache-misses-more, table-flush, plan-or-scan-change, outside-disk, outside-load, disk-slower, server-stalls, cpu-busier
-- yes: db commits_per_s=100 rows_returned_per_s=5000 sent_bytes_per_s=500000 *60
-- yes: inside db commits_per_s=80 rows_returned_per_s=150000 sent_bytes_per_s=9000000 *30 @60
-- no: db commits_per_s=100 rows_returned_per_s=5000 sent_bytes_per_s=500000 *60
-- no: inside db commits_per_s=80 rows_returned_per_s=150000 sent_bytes_per_s=400000 *30 @60
--
-- no: db commits_per_s=100 rows_returned_per_s=5000 sent_bytes_per_s=500000 *60
-- no: inside db commits_per_s=300 rows_returned_per_s=15000 sent_bytes_per_s=1500000 *30 @60
--
-- yes: db commits_per_s=100 rows_returned_per_s=5000 *60
-- yes: process pid=5 comm=postgres cpu=60 *90
-- yes: inside db commits_per_s=60 rows_returned_per_s=400000 *30 @60
-- yes: inside process pid=9 comm=pg_dump cpu=40 *30 @60
-- A query that scans reads as much and returns little: what is sent tells them apart.
SELECT m.run, m.host, c.summary, m.severity, CASE WHEN dump >= 0.6 THEN 4 ELSE least(4, greatest(reads_cost, scans_cost)) END AS weight,
    CASE WHEN c.means = 'dump' THEN '' ELSE ', and more is sent to clients for each transaction' END AS sent_too
FROM moves m JOIN change c ON c.run = m.run AND c.is_first = 1
    AND c.means = CASE WHEN dump >= 0.6 THEN 'dump' WHEN coalesce(reads_cost, 0) >= coalesce(scans_cost, 0) THEN 'reads' ELSE 'scans' END
WHERE dump >= 0.6 OR sent >= 0.3 AND sent_cost >= 0.6 AND greatest(reads, scans) >= 0.3 AND greatest(reads_cost, scans_cost) >= 0.6
    AND NOT (coalesce(inserted, 0) > 0.1 AND coalesce(inserted_cost, 0) >= 1) AND NOT is_lock_bound
ORDER BY weight DESC
