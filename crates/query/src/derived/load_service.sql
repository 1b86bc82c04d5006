-- Latency as load generators measured it, by their results, where they start transactions by a schedule: the mean service, and how long transactions
-- waited for a connection, by the mean and by the median; NULL where a generator does not measure both. Waits of its timers are left out.
WITH measured AS (
    SELECT run, host, coalesce(r.source, 'The generator') AS generator, max(CASE WHEN name = 'service_mean' THEN value END) AS service_ms,
        coalesce(max(CASE WHEN name = 'lag_mean' THEN value END), 0) AS lag_ms, max(CASE WHEN name = 'latency_mean' THEN value END) AS latency_ms,
        max(CASE WHEN name = 'latency_p50' THEN value END) AS median_latency_ms, max(CASE WHEN name = 'service_p50' THEN value END) AS median_service_ms
    FROM result r WHERE unit = 'ms'
    GROUP BY run, host, coalesce(r.source, 'The generator')
)
SELECT run, host, generator, service_ms, latency_ms - service_ms - lag_ms AS wait_ms, median_latency_ms - median_service_ms - lag_ms AS median_wait_ms
FROM measured
WHERE service_ms IS NOT NULL
