-- title: Load comes in bursts
-- severity: warning
-- section: result
-- says: {peaks} times {generator} was asked for {most:/s} and more, {times} times the mean of {offered:/s}; {share:%} of all transactions came then, with a latency of {then_ms:ms} instead of {between_ms:ms}.
-- advice: Means hide it: within a burst there is more than the server can do, and what waits then is the latency. Spread what comes at the same second (timers, cron, retries without jitter), limit it at the entrance, or size the server for the burst.
-- ask: load-throughput
-- part: waiting for a connection; run queue; driver lag
-- impact: share of the transactions
-- explains: offered-rate-missed, cpu-pressure, cpu-queue, db-run-queue, db-cpu-bound, load-late, load-stalls
-- yes: load generator=g offered_per_s=2000 transactions_per_s=2000 latency_mean_ms=60 @1
-- yes: load generator=g offered_per_s=25 transactions_per_s=25 latency_mean_ms=1 @2
-- yes: load generator=g offered_per_s=2000 transactions_per_s=2000 latency_mean_ms=60 @3
-- yes: load generator=g offered_per_s=25 transactions_per_s=25 latency_mean_ms=1 @4
-- yes: load generator=g offered_per_s=25 transactions_per_s=25 latency_mean_ms=1 @5
-- yes: load generator=g offered_per_s=2000 transactions_per_s=2000 latency_mean_ms=60 @6
-- yes: load generator=g offered_per_s=25 transactions_per_s=25 latency_mean_ms=1 @7
-- no: load generator=g offered_per_s=1000 transactions_per_s=1000 latency_mean_ms=2 *20
--
-- no: load generator=g offered_per_s=100 transactions_per_s=100 latency_mean_ms=2 *10
-- no: load generator=g offered_per_s=2000 transactions_per_s=1000 latency_mean_ms=2000 *10 @10
--
-- no: load generator=g transactions_per_s=2000 latency_mean_ms=60 @1
-- no: load generator=g transactions_per_s=25 latency_mean_ms=1 @2
-- no: load generator=g transactions_per_s=2000 latency_mean_ms=60 @3
-- no: load generator=g transactions_per_s=25 latency_mean_ms=1 @4
-- no: load generator=g transactions_per_s=2000 latency_mean_ms=60 @5
-- no: load generator=g transactions_per_s=25 latency_mean_ms=1 @6
-- Three intervals or more, none beside another, that were asked for one and a half times the mean and hold half of all, with twice the latency
-- of the others: a step, or a ramp, is none.
WITH moments AS (
    SELECT run, host, coalesce(generator, 'The generator') AS generator, t, dt, offered_per_s AS offered, transactions_per_s AS done, latency_mean_ms AS latency,
        sum(offered_per_s * dt) OVER whole / sum(dt) OVER whole AS mean
    FROM load WHERE operation IS NULL AND offered_per_s IS NOT NULL AND transactions_per_s IS NOT NULL
    WINDOW whole AS (PARTITION BY run, host, generator)
), peaks AS (
    SELECT *, offered >= 1.5 * mean AS is_peak, offered >= 1.5 * mean AND coalesce(lag(offered) OVER (PARTITION BY run, host, generator ORDER BY t) < 1.5 * mean, true) AS begins FROM moments
)
SELECT run, host, generator, count(*) FILTER (begins) AS peaks, min(offered) FILTER (is_peak) AS most, steady(min(offered) FILTER (is_peak) / any_value(mean)) AS times, any_value(mean) AS offered,
    100 * sum(done * dt) FILTER (is_peak) / sum(done * dt) AS share, sum(latency * done * dt) FILTER (is_peak) / sum(done * dt) FILTER (is_peak) AS then_ms,
    sum(latency * done * dt) FILTER (NOT is_peak) / nullif(sum(done * dt) FILTER (NOT is_peak), 0) AS between_ms
FROM peaks
GROUP BY run, host, generator
HAVING count(*) FILTER (begins) >= 3 AND count(*) FILTER (is_peak) <= 1.5 * count(*) FILTER (begins) AND sum(done * dt) FILTER (is_peak) >= 0.5 * sum(done * dt)
    AND sum(latency * done * dt) FILTER (is_peak) / sum(done * dt) FILTER (is_peak) >= 2 * coalesce(sum(latency * done * dt) FILTER (NOT is_peak) / nullif(sum(done * dt) FILTER (NOT is_peak), 0), 0)
ORDER BY share DESC, run, host, generator
