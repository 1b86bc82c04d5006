-- title: Where did the time of queries go?
-- about: Mean query latency inside the server over time, broken down: on CPU, run queue, disk, locks, network, other.
-- section: database
-- chart: stacked
-- x: t
-- y: cpu_us, run_queue_us, block_io_us, lock_us, network_us, other_us
-- unit: us
-- order: 31
-- live: query: cpu_us, run_queue_us, block_io_us, lock_us, network_us, other_us
SELECT run, host, t, max(dt) AS dt, sum(queries * cpu_us) / sum(queries) AS cpu_us,
    sum(queries * run_queue_us) / sum(queries) AS run_queue_us, sum(queries * block_io_us) / sum(queries) AS block_io_us,
    sum(queries * lock_us) / sum(queries) AS lock_us, sum(queries * network_us) / sum(queries) AS network_us,
    sum(queries * other_us) / sum(queries) AS other_us
FROM query
WHERE digest IS NULL AND preempted IS NULL AND queries > 0 AND cpu_us IS NOT NULL
GROUP BY run, host, t
ORDER BY run, host, t
