-- title: Latency falls as load rises
-- severity: warning
-- section: cpu
-- message: At {low:/s} the median latency was {low_ms:ms}, at {high:/s} it was {high_ms:ms}, also after the higher load[; at the low rate CPUs were {residency:%} of the time in {state}, which takes up to {exit_us:us} to leave].
-- advice: Idle CPUs take long to wake up or run at a low frequency. Compare with the governor `performance`, idle states limited (`cpupower idle-set -D 10`, a profile such as `latency-performance` of tuned), interrupt coalescing of the network interface off, and the host's power profile. Record with `--source +cpu_idle`. Compare figures of low load only between machines that are set alike.
-- ask: idle-states
-- world: load
-- kind: measurement
-- yes: load offered_per_s=100 transactions_per_s=100 latency_p50_ms=2 *15
-- yes: load offered_per_s=1000 transactions_per_s=1000 latency_p50_ms=1 *15 @15
-- yes: load offered_per_s=100 transactions_per_s=100 latency_p50_ms=2.1 *15 @30
-- no: load offered_per_s=100 transactions_per_s=100 latency_p50_ms=2 *15
-- no: load offered_per_s=1000 transactions_per_s=1000 latency_p50_ms=1 *30 @15
--
-- no: load offered_per_s=100 transactions_per_s=100 latency_p50_ms=2 *15
-- no: load offered_per_s=1000 transactions_per_s=1000 latency_p50_ms=1 *15 @15
-- no: load offered_per_s=100 transactions_per_s=100 latency_p50_ms=0.9 *15 @30
--
-- no: load offered_per_s=100 transactions_per_s=100 latency_p50_ms=1 *15
-- no: load offered_per_s=1000 transactions_per_s=1000 latency_p50_ms=2 *15 @15
-- no: load offered_per_s=100 transactions_per_s=100 latency_p50_ms=1 *15 @30
--
-- no: load transactions_per_s=100 latency_p50_ms=2 *15
-- no: load transactions_per_s=1000 latency_p50_ms=1 *15 @15
-- no: load transactions_per_s=100 latency_p50_ms=2 *15 @30
-- Only open loops: in a closed one a low latency makes the rate. A load that rises only may fall in latency as caches fill, so the low rate
-- has to be there after the high one as well, for five seconds, and be slower by a fifth there, too.
WITH seconds AS (
    SELECT run, host, coalesce(generator, '') AS generator, t, dt, offered_per_s AS rate, latency_p50_ms AS ms,
        max(offered_per_s) OVER (PARTITION BY run, host, generator) AS most
    FROM load
    WHERE operation IS NULL AND offered_per_s > 0 AND latency_p50_ms > 0 AND coalesce(errors_per_s, 0) = 0
), of_both AS (
    SELECT run, host, generator, t, dt, rate, ms, rate >= 0.8 * most AS is_high
    FROM seconds
    WHERE rate >= 0.8 * most OR rate <= 0.5 * most
), ends AS (
    SELECT run, host, generator, min(t) FILTER (WHERE is_high) AS first_high, max(t) FILTER (WHERE is_high) AS last_high
    FROM of_both
    GROUP BY run, host, generator
), found AS (
    SELECT run, host, generator, avg(rate) FILTER (WHERE NOT is_high) AS low, avg(rate) FILTER (WHERE is_high) AS high,
        median(ms) FILTER (WHERE NOT is_high AND t < first_high) AS before_ms,
        median(ms) FILTER (WHERE NOT is_high AND t > first_high) AS after_ms,
        sum(dt) FILTER (WHERE NOT is_high AND t > first_high) AS after_s,
        median(ms) FILTER (WHERE NOT is_high) AS low_ms, median(ms) FILTER (WHERE is_high) AS high_ms,
        sum(dt) FILTER (WHERE is_high) AS high_s
    FROM of_both
    JOIN ends USING (run, host, generator)
    GROUP BY run, host, generator
), idle AS (
    SELECT cpu_idle.run, cpu_idle.host, state, avg(residency) AS resident, max(exit_latency_us) AS exit_us
    FROM cpu_idle
    JOIN of_both ON of_both.run = cpu_idle.run AND of_both.host = cpu_idle.host AND NOT of_both.is_high
        AND epoch_us(cpu_idle.t) > epoch_us(of_both.t) - of_both.dt * 1e6 AND cpu_idle.t <= of_both.t
    GROUP BY cpu_idle.run, cpu_idle.host, state
    HAVING avg(residency) >= 10
    QUALIFY row_number() OVER (PARTITION BY cpu_idle.run, cpu_idle.host ORDER BY max(exit_latency_us) DESC NULLS LAST, state) = 1
)
SELECT found.run, found.host, low, low_ms, high, high_ms, state, resident AS residency, exit_us
FROM found
LEFT JOIN idle USING (run, host)
WHERE high_s >= 5 AND after_s >= 5 AND after_ms >= 1.2 * high_ms AND coalesce(before_ms, after_ms) >= 1.2 * high_ms
ORDER BY low_ms / high_ms DESC, found.run, found.host
