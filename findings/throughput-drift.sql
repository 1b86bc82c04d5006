-- title: Throughput drifts over the run
-- severity: warning
-- section: result
-- message: {generator} completed {first:/s} transactions in the first third of the run and {last:/s} in the last ({change:%}).
-- advice: One mean does not describe this run: warm up longer, run longer, or define a steady window with `fenxi label window`. Usual reasons are a cache that warms up, a disk that fills and a CPU that throttles.
-- ask: load-throughput
-- kind: symptom
-- causes: governor (clock rates), memory-nearly-used (memory that fills), fs-nearly-full (a disk that fills), cpu-neighbour (another program)
-- world: load
-- yes: load generator=sysbench transactions_per_s=1000 *20
-- yes: load generator=sysbench transactions_per_s=900 *20 @20
-- yes: load generator=sysbench transactions_per_s=700 *20 @40
-- no: load generator=sysbench transactions_per_s=1000 *60
--
-- no: load generator=sysbench transactions_per_s=1000 *3
-- no: load generator=sysbench transactions_per_s=500 *3 @3
-- A tenth, over 30 seconds and nine samples at least: less is within what runs differ by anyway.
WITH placed AS (
    SELECT run, host, coalesce(generator, 'The generator') AS generator, dt, transactions_per_s,
        (epoch_us(t) - min(epoch_us(t)) OVER g) / nullif(max(epoch_us(t)) OVER g - min(epoch_us(t)) OVER g, 0) AS place
    FROM load
    WHERE operation IS NULL AND transactions_per_s IS NOT NULL
    WINDOW g AS (PARTITION BY run, host, generator)
), thirds AS (
    SELECT run, host, generator, wmean(CASE WHEN place <= 0.333 THEN transactions_per_s END, dt) AS first,
        wmean(CASE WHEN place >= 0.667 THEN transactions_per_s END, dt) AS last, sum(dt) AS seen_s, count(*) AS n
    FROM placed
    GROUP BY run, host, generator
)
SELECT run, host, generator, first, last, 100 * (last - first) / nullif(first, 0) AS change
FROM thirds
WHERE abs(last - first) >= 0.1 * first AND seen_s >= 30 AND n >= 9
ORDER BY abs(last - first) / nullif(first, 0) DESC, run, host, generator
