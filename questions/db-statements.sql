-- title: Which statements took the time?
-- about: Normalised statements by mean concurrency (execution time per second); then look at calls and mean execution time.
-- section: database
-- chart: table
-- order: 20
-- param: n = 30, how many statements to show
SELECT run, host, server, s.database, any_value(statement) AS statement, coalesce(wmean(s.time, dt), avg(s.time)) AS running,
    coalesce(wmean(calls_per_s, dt), avg(calls_per_s)) AS calls_per_s, avg(mean_ms) AS mean_ms, max(max_ms) AS max_ms,
    coalesce(wmean(rows_per_s, dt), avg(rows_per_s)) AS rows_per_s, digest
FROM db_statement s
GROUP BY run, host, server, s.database, digest
ORDER BY run, running DESC NULLS LAST, calls_per_s DESC NULLS LAST
LIMIT $n
