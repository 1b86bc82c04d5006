-- title: Which stacks were hottest?
-- about: Sampled stacks by their share of all samples of the same event; frames from the outermost to the innermost.
-- section: process
-- chart: table
-- order: 64
-- param: n = 30, how many to show
WITH summed AS (
    SELECT run, host, event, comm, stack, sum(samples) AS samples, sum(time_s) AS time_s
    FROM stack
    GROUP BY run, host, event, comm, stack
)
SELECT run, host, event, comm, samples, 100 * samples / nullif(sum(samples) OVER (PARTITION BY run, host, event), 0) AS share_pct,
    time_s, stack
FROM summed
ORDER BY run, samples DESC NULLS LAST, stack
LIMIT $n
