-- title: What did the kernel see of each statement?
-- about: The server's execution time beside the kernel's breakdown of the same statement (trace querystat), per call. What the kernel sees and the server does not is parsing, planning and protocol.
-- section: database
-- chart: table
-- order: 35
-- param: n = 30, how many statements to show
WITH inside AS (
    SELECT run, host, digest, any_value(statement) AS statement, sum(queries) AS queries, sum(queries * mean_us) / sum(queries) AS latency_us,
        sum(queries * cpu_us) / sum(queries) AS cpu_us, sum(queries * run_queue_us) / sum(queries) AS run_queue_us,
        sum(queries * block_io_us) / sum(queries) AS block_io_us, sum(queries * lock_us) / sum(queries) AS lock_us
    FROM query
    WHERE digest IS NOT NULL AND preempted IS NULL AND queries > 0
    GROUP BY run, host, digest
), counted AS (
    SELECT run, host, digest, sum(calls_per_s * seen_s) AS calls, 1e6 * sum(running * seen_s) / nullif(sum(calls_per_s * seen_s), 0) AS server_us
    FROM db_statement_mean
    WHERE in_total AND digest IS NOT NULL
    GROUP BY run, host, digest
)
SELECT c.run, c.host, i.statement, round(c.calls) AS calls, i.queries, c.server_us, i.latency_us, i.cpu_us, i.run_queue_us, i.block_io_us, i.lock_us,
    i.latency_us - c.server_us AS outside_us, c.digest
FROM counted c
JOIN inside i ON i.run = c.run AND i.host = c.host AND i.digest = c.digest
ORDER BY c.run, c.host, i.queries * i.latency_us DESC NULLS LAST, c.digest
LIMIT $n
