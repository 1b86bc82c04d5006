-- title: Transactions start later than intended
-- severity: warning
-- section: result
-- message: {generator} started transactions {lag:ms} late on average.
-- advice: Clients or server cannot keep up with the offered rate: latencies that exclude this lag look better than what users would see (coordinated omission). Lower the rate or add clients.
-- ask: load-throughput
-- comparison: warn
-- kind: symptom
-- part: driver lag; waiting for a connection
-- causes: load-driver-saturated (the generator itself), load-driver-waits (another program beside it), cpu-neighbour (another program)
-- world: load
-- yes: load generator=pgbench lag_ms=5 latency_mean_ms=4 *20
-- yes: load generator=pgbench lag_ms=900 latency_mean_ms=4 *20 @20
-- no: load generator=pgbench lag_ms=0.2 latency_mean_ms=4 *40
--
-- no: load generator=pgbench latency_mean_ms=4 *40
--
-- yes: result name=lag_mean value=900 unit=ms
-- yes: result name=latency_mean value=4 unit=ms
-- no: result name=lag_mean value=0.2 unit=ms
-- no: result name=latency_mean value=4 unit=ms
-- Later than a transaction takes, and 10 ms at least: then the schedule and not the server decides what is measured.
WITH placed AS (
    SELECT run, host, coalesce(generator, 'The generator') AS generator, dt, lag_ms, latency_mean_ms,
        (epoch_us(t) - min(epoch_us(t)) OVER g) / nullif(max(epoch_us(t)) OVER g - min(epoch_us(t)) OVER g, 0) AS place
    FROM load
    WHERE operation IS NULL AND lag_ms IS NOT NULL
    WINDOW g AS (PARTITION BY run, host, generator)
), means AS (
    SELECT run, host, generator, wmean(lag_ms, dt) AS lag, wmean(CASE WHEN place >= 0.667 THEN lag_ms END, dt) AS late, wmean(latency_mean_ms, dt) AS takes
    FROM placed
    GROUP BY run, host, generator
), totals AS (
    SELECT run, host, coalesce(source, 'The generator') AS generator, max(CASE WHEN name = 'lag_mean' THEN value END) AS lag,
        CAST(NULL AS DOUBLE) AS late, max(CASE WHEN name = 'latency_mean' THEN value END) AS takes
    FROM result
    WHERE unit = 'ms' AND run NOT IN (SELECT run FROM means)
    GROUP BY run, host, source
)
SELECT run, host, generator, lag, late
FROM (SELECT * FROM means UNION ALL SELECT * FROM totals)
WHERE lag >= 10 AND lag >= coalesce(takes, 0)
ORDER BY lag DESC, run, host, generator
