-- In which share of each interval somebody waited for storage, percent, from the best source of a host: its pressure (PSI), whether tasks were blocked
-- at the end of the interval, or the CPUs' iowait, which is no more than that share. `source` names it. `all_stalled` is known of pressure only.
WITH known AS (
    SELECT run, host, t, dt, p.some AS stalled, p.full AS all_stalled, 'pressure' AS source, 1 AS place
    FROM pressure p WHERE resource = 'io' AND p.some IS NOT NULL
    UNION ALL
    SELECT run, host, t, dt, CASE WHEN blocked >= 1 THEN 100.0 ELSE 0.0 END AS stalled, NULL AS all_stalled, 'blocked' AS source, 2 AS place
    FROM sched WHERE blocked IS NOT NULL
    UNION ALL
    SELECT run, host, t, dt, iowait AS stalled, NULL AS all_stalled, 'iowait' AS source, 3 AS place
    FROM cpu c
    WHERE iowait IS NOT NULL AND (cpu IS NULL OR NOT EXISTS (SELECT 1 FROM cpu a WHERE a.run = c.run AND a.host = c.host AND a.cpu IS NULL))
)
SELECT run, host, t, dt, stalled, all_stalled, source
FROM known
QUALIFY place = min(place) OVER (PARTITION BY run, host)
