-- title: Were slow queries preempted?
-- about: Latency of queries whose thread was preempted, against the others. Where it is much higher, other work on the machine is the cause; see which.
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
