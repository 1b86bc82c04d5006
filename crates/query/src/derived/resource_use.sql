-- How full each resource was at each moment, percent: a row for each reading. Short names, which sort by resource; `place` is the
-- order in which a person looks.
-- `kind` distinguishes utilisation from saturation (somebody waited) and errors; of a database it is the share of its active sessions' time, or of one session where fewer are active.
-- The CPUs together are a separate row, or the mean of all of them: a list that leaves some out does not represent the machine.
WITH online AS (
    SELECT run, host, max(cpus_online) AS cpus FROM sched GROUP BY run, host
), listed AS (
    SELECT c.run, c.host, bool_or(cpu IS NULL) AS has_whole,
        count(DISTINCT cpu) >= coalesce(max(o.cpus), max(TRY_CAST(cpu AS BIGINT)) + 1, count(DISTINCT cpu)) AS has_all
    FROM cpu c LEFT JOIN online o ON o.run = c.run AND o.host = c.host
    GROUP BY c.run, c.host
), whole AS (
    SELECT c.run, c.host, t, dt, 100 - idle - coalesce(iowait, 0) AS busy
    FROM cpu c JOIN listed l ON l.run = c.run AND l.host = c.host
    WHERE CASE WHEN has_whole THEN cpu IS NULL ELSE has_all END
), disks AS (
    SELECT run, host, t, dt, device, util FROM disk WHERE coalesce(class, 'disk') = 'disk' AND util IS NOT NULL
), active AS (
    SELECT run, host, t, max(dt) AS dt, activity, sum(w.time) AS seconds
    FROM db_wait w
    WHERE coalesce(kind, 'client') = 'client' AND activity IS NOT NULL AND measured = 'sampled'
        AND activity NOT IN ('idle', 'idle in transaction', 'pacing', 'protocol', 'client', 'replication')
    GROUP BY run, host, t, activity
)
SELECT run, host, t, avg(dt) AS dt, 10 AS place, 'CPU' AS resource, 'utilisation' AS kind, avg(busy) AS value FROM whole GROUP BY run, host, t
UNION ALL SELECT run, host, t, max(dt), 11, 'CPU max', 'utilisation', max(100 - idle - coalesce(iowait, 0)) FROM cpu WHERE cpu IS NOT NULL GROUP BY run, host, t
UNION ALL SELECT run, host, t, max(dt), 13, 'CPU stolen', 'saturation', avg(steal) FROM cpu WHERE cpu IS NULL AND steal IS NOT NULL GROUP BY run, host, t
UNION ALL SELECT run, host, t, dt, CASE resource WHEN 'cpu' THEN 12 WHEN 'memory' THEN 21 ELSE 31 END,
    CASE resource WHEN 'cpu' THEN 'CPU' WHEN 'io' THEN 'disk' ELSE resource END || ' wait', 'saturation', p.some
    FROM pressure p WHERE resource IN ('cpu', 'memory', 'io')
UNION ALL SELECT run, host, t, dt, 14, 'CPU quota ' || cgroup, 'saturation', throttled FROM cgroup WHERE throttled IS NOT NULL
UNION ALL SELECT run, host, t, dt, 20, 'memory', 'utilisation', 100 * used_bytes / nullif(total_bytes, 0) FROM mem WHERE used_bytes IS NOT NULL
UNION ALL SELECT run, host, t, dt, 25, 'GPU ' || gpu || coalesce('.' || instance, ''), 'utilisation', coalesce(sm_active, util) FROM gpu WHERE coalesce(sm_active, util) IS NOT NULL
UNION ALL SELECT run, host, t, dt, 26, 'GPU ' || gpu || coalesce('.' || instance, '') || ' memory', 'utilisation', 100 * memory_used_bytes / nullif(memory_total_bytes, 0) FROM gpu WHERE memory_used_bytes IS NOT NULL
UNION ALL SELECT run, host, t, dt, 30, 'disk ' || device, 'utilisation', util FROM disks
UNION ALL SELECT run, host, t, dt, 40, 'link ' || interface, 'utilisation', util FROM net WHERE util IS NOT NULL AND coalesce(class, 'physical') = 'physical'
UNION ALL SELECT run, host, t, max(dt), 41, 'TCP resent', 'errors', least(100, avg(retransmit)) FROM tcp WHERE retransmit IS NOT NULL GROUP BY run, host, t
UNION ALL SELECT run, host, t, dt, 50, 'db ' || activity, 'utilisation', 100 * seconds / greatest(1, sum(seconds) OVER (PARTITION BY run, host, t)) FROM active
UNION ALL SELECT run, host, t, max(dt), 60, 'errors', 'errors', 100 * sum(errors_per_s) / nullif(sum(transactions_per_s) + sum(errors_per_s), 0)
    FROM load WHERE operation IS NULL AND errors_per_s IS NOT NULL GROUP BY run, host, t
