-- What statements spent inside servers, at every context switch.
seen AS (
    SELECT q.* FROM query q JOIN span s USING (run)
    WHERE q.preempted IS NULL AND q.queries > 0 AND epoch_us(q.t) - coalesce(q.dt, 0) * 5e5 BETWEEN s.begin_us AND s.end_us
),
seconds AS (
    SELECT run, sum(dt) AS seconds
    FROM (
        SELECT run, t, max(dt) AS dt FROM seen GROUP BY run, t
    )
    GROUP BY run
)
SELECT q.run, sum(queries * cpu_us) / 1e6 / any_value(seconds) AS cpu,
    sum(queries * run_queue_us) / 1e6 / any_value(seconds) AS run_queue,
    sum(queries * block_io_us) / 1e6 / any_value(seconds) AS block_io,
    sum(queries * lock_us) / 1e6 / any_value(seconds) AS lock,
    sum(queries * network_us) / 1e6 / any_value(seconds) AS network,
    sum(queries * other_us) / 1e6 / any_value(seconds) AS other
FROM seen q JOIN seconds USING (run) GROUP BY q.run
