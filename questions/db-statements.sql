-- title: Which statements took the time?
-- about: Normalised statements by mean concurrency (execution time per second), with their share of all statements; then look at calls and mean execution time. Means are over all the time observed.
-- section: database
-- chart: table
-- order: 30
-- param: n = 30, how many statements to show
WITH shares AS (
    SELECT *, CASE WHEN in_total THEN 100 * running / nullif(sum(running) FILTER (in_total) OVER (PARTITION BY run, host, server), 0) END AS share_pct
    FROM db_statement_mean
)
SELECT run, host, server, s.database, running, share_pct, calls_per_s, mean_ms, max_ms, rows_per_s, reading, on_cpu,
    cache_hits_per_s, cache_misses_per_s, temp_bytes_per_s, wal_bytes_per_s, statement, digest
FROM shares s
ORDER BY run, running DESC NULLS LAST, calls_per_s DESC NULLS LAST, digest
LIMIT $n
