-- A mean latency weighs each interval by its transactions; generators beside each other add up.
of_generator AS (
    SELECT run, sum(x * w) / sum(w) AS per_s, sum(latency * x * w) AS latency_sum,
        sum(x * w) FILTER (WHERE latency IS NOT NULL) AS latency_n,
        sum(lag * x * w) AS lag_sum, sum(x * w) FILTER (WHERE lag IS NOT NULL) AS lag_n,
        sum(queue * w) / sum(w) FILTER (WHERE queue IS NOT NULL) AS queue
    FROM (
        SELECT run, host, generator, transactions_per_s AS x, coalesce(dt, 1) AS w, latency_mean_ms AS latency,
            lag_ms AS lag, queue_length AS queue
        FROM load WHERE operation IS NULL AND transactions_per_s IS NOT NULL
    )
    GROUP BY run, host, generator
)
SELECT run, sum(per_s) AS per_s, sum(latency_sum) / sum(latency_n) AS latency_ms, sum(lag_sum) / sum(lag_n) AS lag_ms,
    sum(queue) AS queue
FROM of_generator GROUP BY run
