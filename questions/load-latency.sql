-- title: Did latency rise with throughput?
-- about: Mean latency against throughput, a point for each reporting interval. Where latency rises and throughput does not, something is saturated.
-- section: result
-- chart: scatter
-- x: transactions_per_s
-- y: latency_mean_ms
-- series: generator
-- unit: ms
-- order: 32
-- param: n = 2000, how many intervals to show
SELECT run, host, concat_ws(' ', generator, operation) AS generator, transactions_per_s, latency_mean_ms
FROM load
WHERE transactions_per_s IS NOT NULL AND latency_mean_ms IS NOT NULL
ORDER BY run, host, generator, t
LIMIT $n
