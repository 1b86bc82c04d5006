-- title: Were slow queries pushed off the CPU?
-- about: Queries that kept their CPU against those whose thread was pushed off it. Where the latter are much slower, other work on the machine is the cause; see who it was.
-- section: database
-- chart: table
-- order: 32
-- param: n = 30, how many rows to show
SELECT run, host, server, preempted, sum(queries) AS queries,
    100 * sum(queries) / sum(sum(queries)) OVER (PARTITION BY run, host, server) AS queries_pct,
    sum(queries * mean_us) / nullif(sum(queries), 0) AS mean_us, max(max_us) AS max_us,
    sum(queries * cpu_us) / nullif(sum(queries), 0) AS cpu_us,
    sum(queries * run_queue_us) / nullif(sum(queries), 0) AS run_queue_us
FROM query
WHERE digest IS NULL AND preempted IS NOT NULL AND queries IS NOT NULL
GROUP BY run, host, server, preempted
ORDER BY run, host, server, preempted
LIMIT $n
