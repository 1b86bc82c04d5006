-- title: How did one statement behave over time?
-- about: Calls per second and mean execution time of the statement with this digest; without one, of the statement that took most time.
-- section: database
-- chart: line
-- x: t
-- y: mean_ms
-- series: statement
-- unit: ms
-- order: 33
-- param: digest = '', digest of the statement, as db-statements shows it
WITH chosen AS (
    SELECT run, host, digest, any_value(left(statement, 60)) AS statement FROM db_statement_mean
    WHERE digest IS NOT NULL AND digest <> 'fenxi-db' AND (digest = $digest OR $digest = '')
    GROUP BY run, host, digest
    QUALIFY row_number() OVER (PARTITION BY run, host ORDER BY sum(running) DESC NULLS LAST, digest) = 1
)
SELECT s.run, s.host, s.t, max(s.dt) AS dt, c.statement, 1000 * sum(s.time) / nullif(sum(s.calls_per_s), 0) AS mean_ms, sum(s.calls_per_s) AS calls_per_s,
    sum(s.time) AS running, sum(s.rows_per_s) AS rows_per_s, sum(s.cache_misses_per_s) AS cache_misses_per_s
FROM db_statement s
JOIN chosen c ON c.run = s.run AND c.host = s.host AND c.digest = s.digest
GROUP BY s.run, s.host, s.t, c.statement
ORDER BY s.run, s.host, s.t
