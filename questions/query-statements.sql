-- title: Which queries took the most time?
-- about: Queries by normalised statement, as observed inside the server: count, latency and its breakdown. High run-queue time means a busy machine, not a slow query.
-- section: database
-- chart: table
-- order: 30
-- param: n = 30, how many statements to show
WITH of_digest AS (
    SELECT run, host, server, digest, any_value(statement) AS statement, sum(queries) AS queries,
        sum(queries * mean_us) / 1e6 AS elapsed_s, sum(queries * mean_us) / sum(queries) AS mean_us, max(max_us) AS max_us,
        sum(queries * cpu_us) / sum(queries) AS cpu_us, sum(queries * run_queue_us) / sum(queries) AS run_queue_us,
        sum(queries * block_io_us) / sum(queries) AS block_io_us, sum(queries * lock_us) / sum(queries) AS lock_us,
        sum(queries * network_us) / sum(queries) AS network_us, sum(queries * other_us) / sum(queries) AS other_us
    FROM query
    WHERE digest IS NOT NULL AND preempted IS NULL AND queries > 0
    GROUP BY run, host, server, digest
), pushed_off AS (
    SELECT run, host, server, digest, sum(queries) AS queries
    FROM query
    WHERE digest IS NOT NULL AND preempted = 'yes'
    GROUP BY run, host, server, digest
)
SELECT d.run, d.host, d.server, d.statement, d.queries, d.elapsed_s, d.mean_us, d.max_us, d.cpu_us, d.run_queue_us, d.block_io_us,
    d.lock_us, d.network_us, d.other_us, 100 * coalesce(p.queries, 0) / d.queries AS preempted_pct, d.digest
FROM of_digest d
LEFT JOIN pushed_off p ON p.run = d.run AND p.host = d.host AND p.server = d.server AND p.digest = d.digest
ORDER BY d.run, d.elapsed_s DESC NULLS LAST, d.queries DESC
LIMIT $n
