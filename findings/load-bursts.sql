-- title: Load comes in bursts
-- severity: warning
-- section: result
-- message: {peaks} times {generator} was asked for {most:/s} and more, {times} times the mean of {offered:/s}; {share:%} of all transactions came then, with a latency of {then_ms:ms} instead of {between_ms:ms}.
-- advice: Means hide it: within a burst there is more than the server can do, and what waits then is the latency. Spread what comes at the same second (timers, cron, retries without jitter), limit it at the entrance, or size the server for the burst.
-- ask: load-throughput
-- part: waiting for a connection; run queue; driver lag
-- impact: share of the transactions
-- explains: offered-rate-missed, cpu-pressure, cpu-queue, db-run-queue, db-cpu-bound, load-late, load-stalls
-- world: load
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
-- yes: load generator=g offered_per_s=25 transactions_per_s=25 latency_mean_ms=1 @1
-- yes: load generator=g offered_per_s=2000 transactions_per_s=1600 latency_mean_ms=12 @2
-- yes: load generator=g offered_per_s=25 transactions_per_s=425 latency_mean_ms=18 @3
-- yes: load generator=g offered_per_s=2000 transactions_per_s=1900 latency_mean_ms=3 @4
-- yes: load generator=g offered_per_s=25 transactions_per_s=125 latency_mean_ms=4 @5
-- yes: load generator=g offered_per_s=2000 transactions_per_s=2000 latency_mean_ms=0.4 @6
-- yes: load generator=g offered_per_s=25 transactions_per_s=25 latency_mean_ms=1 @7
--
-- yes: load generator=g clients=4 offered_per_s=20000 transactions_per_s=6000 latency_mean_ms=36 @1
-- yes: load generator=g clients=4 offered_per_s=25 transactions_per_s=14000 latency_mean_ms=135 @2
-- yes: load generator=g clients=4 offered_per_s=20000 transactions_per_s=7000 latency_mean_ms=36 @3
-- yes: load generator=g clients=4 offered_per_s=25 transactions_per_s=13000 latency_mean_ms=103 @4
-- yes: load generator=g clients=4 offered_per_s=20000 transactions_per_s=7000 latency_mean_ms=36 @5
-- yes: load generator=g clients=4 offered_per_s=25 transactions_per_s=13000 latency_mean_ms=99 @6
-- yes: result name=service_mean value=0.08 unit=ms source=g
-- no: load generator=g clients=4 offered_per_s=20000 transactions_per_s=6000 latency_mean_ms=36 @1
-- no: load generator=g clients=4 offered_per_s=25 transactions_per_s=14000 latency_mean_ms=135 @2
-- no: load generator=g clients=4 offered_per_s=20000 transactions_per_s=7000 latency_mean_ms=36 @3
-- no: load generator=g clients=4 offered_per_s=25 transactions_per_s=13000 latency_mean_ms=103 @4
-- no: load generator=g clients=4 offered_per_s=20000 transactions_per_s=7000 latency_mean_ms=36 @5
-- no: load generator=g clients=4 offered_per_s=25 transactions_per_s=13000 latency_mean_ms=99 @6
-- no: result name=service_mean value=0.38 unit=ms source=g
--
-- no: load generator=g offered_per_s=25 transactions_per_s=25 latency_mean_ms=1 @1
-- no: load generator=g offered_per_s=2000 transactions_per_s=2000 latency_mean_ms=1 @2
-- no: load generator=g offered_per_s=25 transactions_per_s=25 latency_mean_ms=1 @3
-- no: load generator=g offered_per_s=2000 transactions_per_s=2000 latency_mean_ms=1 @4
-- no: load generator=g offered_per_s=25 transactions_per_s=25 latency_mean_ms=1 @5
-- no: load generator=g offered_per_s=2000 transactions_per_s=2000 latency_mean_ms=1 @6
-- Three intervals or more, none beside another, that were asked for one and a half times the mean and hold half of all, with twice the latency
-- of the others: a step, or a ramp, is none. What a burst left waiting is done in the interval after it, whose latency is the burst's, too.
-- Where each interval has a burst's latency, it is compared with the service, while connections are free for three tenths of the time: then a
-- lack of them is no reason to wait.
WITH moments AS (
    SELECT run, host, coalesce(generator, 'The generator') AS generator, t, dt, offered_per_s AS offered, transactions_per_s * dt AS done, latency_mean_ms AS latency, clients,
        sum(offered_per_s * dt) OVER whole / sum(dt) OVER whole AS mean
    FROM load WHERE operation IS NULL AND offered_per_s IS NOT NULL AND transactions_per_s IS NOT NULL
    WINDOW whole AS (PARTITION BY run, host, generator)
), peaks AS (
    SELECT *, offered >= 1.5 * mean AS is_peak, coalesce(lag(offered) OVER (PARTITION BY run, host, generator ORDER BY t) >= 1.5 * mean, false) AS is_after FROM moments
), bursts AS (
    SELECT run, host, generator, count(*) FILTER (is_peak AND NOT is_after) AS peaks, count(*) FILTER (is_peak) AS intervals, min(offered) FILTER (is_peak) AS most,
        steady(min(offered) FILTER (is_peak) / any_value(mean)) AS times, any_value(mean) AS offered, 100 * sum(offered * dt) FILTER (is_peak) / sum(offered * dt) AS share,
        sum(latency * done) FILTER (is_peak OR is_after) / nullif(sum(done) FILTER (is_peak OR is_after), 0) AS then_ms,
        coalesce(sum(latency * done) FILTER (NOT (is_peak OR is_after)) / nullif(sum(done) FILTER (NOT (is_peak OR is_after)), 0), sum(latency * done) FILTER (NOT is_peak) / nullif(sum(done) FILTER (NOT is_peak), 0)) AS between_ms,
        bool_and(is_peak OR is_after OR t = first_t) AS is_always, sum(done) / sum(dt) / nullif(sum(clients * dt) / sum(dt), 0) AS of_each
    FROM (SELECT *, min(t) OVER (PARTITION BY run, host, generator) AS first_t FROM peaks)
    GROUP BY run, host, generator
), compared AS (
    SELECT b.run, b.host, b.generator, peaks, intervals, most, times, offered, share, then_ms,
        CASE WHEN then_ms < 2 * between_ms AND is_always AND s.service_ms * of_each < 700 THEN s.service_ms ELSE between_ms END AS between_ms
    FROM bursts b LEFT JOIN load_service s ON s.run = b.run AND s.host = b.host AND s.generator = b.generator
)
SELECT run, host, generator, peaks, most, times, offered, share, then_ms, between_ms
FROM compared
WHERE peaks >= 3 AND intervals <= 1.5 * peaks AND share >= 50 AND then_ms >= 2 * between_ms
ORDER BY share DESC, run, host, generator
