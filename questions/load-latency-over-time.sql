-- title: How long did transactions take?
-- about: Mean and percentiles of the latency in each reporting interval. Percentiles that rise while the mean stays point at a few slow transactions.
-- section: result
-- chart: line
-- x: t
-- y: latency_mean_ms, latency_p50_ms, latency_p95_ms, latency_p99_ms
-- series: generator
-- unit: ms
-- order: 31
SELECT run, host, t, dt, concat_ws(' ', generator, operation) AS generator, latency_mean_ms, latency_p50_ms, latency_p95_ms, latency_p99_ms, transactions_per_s
FROM load
WHERE latency_mean_ms IS NOT NULL OR latency_p95_ms IS NOT NULL
ORDER BY run, host, generator, t
