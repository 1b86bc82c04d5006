-- Processes of database servers by the first process of each server: those that serve clients, and all. An idle process has no
-- row, so that the seconds are those in which any process was seen.
seen AS (
    SELECT p.* FROM process p JOIN span s USING (run)
    WHERE epoch_us(p.t) - coalesce(p.dt, 0) * 5e5 BETWEEN s.begin_us AND s.end_us
),
seconds AS (
    SELECT run, sum(dt) AS seconds
    FROM (
        SELECT run, t, max(dt) AS dt FROM seen GROUP BY run, t
    )
    GROUP BY run
),
mine AS (SELECT * FROM seen WHERE comm IN ('postgres', 'postmaster', 'mysqld', 'mariadbd')),
-- The first process of a server may rest while the load runs: it is one that was seen at any time, or that a poller named.
first_processes AS (
    SELECT run, pid FROM process WHERE comm IN ('postgres', 'postmaster')
    UNION
    SELECT run, TRY_CAST(value AS BIGINT) AS pid FROM db_setting WHERE origin = 'server' AND name = 'pid'
),
rooted AS (
    SELECT m.*, comm IN ('postgres', 'postmaster') AS forks,
        CASE
            WHEN command LIKE 'postgres: %' THEN ppid
            WHEN comm IN ('postgres', 'postmaster') AND EXISTS (FROM first_processes f WHERE f.run = m.run AND f.pid = m.ppid) THEN ppid
            ELSE pid
        END AS root
    FROM mine m
),
accounted AS (
    SELECT *, NOT forks OR (root <> pid AND NOT coalesce(regexp_matches(command,
        '^postgres: ([^:]*: )?(checkpointer|background writer|walwriter|wal |autovacuum|logical replication|startup|archiver|stats collector|logger|io worker|walsender|walreceiver|slotsync|bgworker)'),
        false)) AS serves
    FROM rooted
)
SELECT t.run, root AS pid, any_value(comm) AS comm,
    -- Of a cast that fails nothing is known.
    EXISTS (FROM db_setting d WHERE d.run = t.run AND d.origin = 'server' AND d.name = 'pid' AND TRY_CAST(d.value AS BIGINT) = root)
        AS is_named,
    sum(cpu * t.dt) / 100 / any_value(seconds) AS all_cpu,
    sum(cpu * t.dt) FILTER (WHERE serves) / 100 / any_value(seconds) AS cpu,
    sum(usr * t.dt) FILTER (WHERE serves) AS usr,
    sum(sys * t.dt) FILTER (WHERE serves) AS sys,
    sum(run_queue_wait * t.dt) FILTER (WHERE serves) / 100 / any_value(seconds) AS run_queue,
    sum(io_wait * t.dt) FILTER (WHERE serves AND forks) / 100 / any_value(seconds) AS io_wait
FROM accounted t JOIN seconds USING (run)
GROUP BY t.run, root ORDER BY t.run, root
