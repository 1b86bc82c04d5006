-- Control groups: how long their run queues were throttled by a quota, and which is the server's by its own word.
seen AS (
    SELECT c.* FROM cgroup c JOIN span s USING (run)
    WHERE epoch_us(c.t) - coalesce(c.dt, 0) * 5e5 BETWEEN s.begin_us AND s.end_us
),
seconds AS (
    SELECT run, sum(dt) AS seconds
    FROM (
        SELECT run, t, max(dt) AS dt FROM seen GROUP BY run, t
    )
    GROUP BY run
)
SELECT c.run, cgroup, coalesce(sum(throttled_time * c.dt), 0) / 100 / any_value(seconds) AS throttled,
    coalesce(sum(cpu * c.dt), 0) / 100 / any_value(seconds) AS cpu,
    EXISTS (FROM db_setting d WHERE d.run = c.run AND d.origin = 'server' AND d.name = 'cgroup' AND d.value = c.cgroup) AS is_named
FROM seen c JOIN seconds USING (run) GROUP BY c.run, cgroup ORDER BY c.run, cgroup
