-- Rows of db_wait that may be added up: of each activity only those of the best measure that there is. What the kernel
-- says of CPU and run queue replaces samples, which miss most of a busy CPU. Imports have the classes of their servers,
-- and no measure.
-- `sessions` is what a row adds to the mean number of sessions over the run: rows exist only where something was
-- seen, so that time is divided by all the time that was looked at.
-- `in_db_time` is whether it is work that a client waits for.
WITH waits AS (
    SELECT run, host, t, coalesce(dt, 1) AS dt, server, wait_class, wait_event, measured, waits_per_s, w.time, mean_ms, samples,
        coalesce(kind, 'client') AS kind,
        coalesce(activity, CASE
            WHEN wait_event ILIKE '%CPU%' AND coalesce(wait_class, '') NOT ILIKE 'scheduler' THEN 'cpu'
            WHEN wait_event ILIKE 'SQL*Net message from client' THEN 'idle'
            WHEN wait_event ILIKE 'log file sync' THEN 'commit'
            WHEN wait_event ILIKE 'db file %' THEN 'user io'
            WHEN wait_event ILIKE 'latch%' THEN 'concurrency'
            WHEN wait_event ILIKE 'enq: T%' OR wait_event ILIKE '%/lock/%' OR wait_class ILIKE '%row lock%' THEN 'lock'
            ELSE CASE lower(wait_class)
                WHEN 'user i/o' THEN 'user io' WHEN 'io' THEN 'user io' WHEN 'system i/o' THEN 'system io'
                WHEN 'commit' THEN 'commit' WHEN 'concurrency' THEN 'concurrency' WHEN 'lwlock' THEN 'concurrency'
                WHEN 'bufferpin' THEN 'concurrency' WHEN 'application' THEN 'lock' WHEN 'lock' THEN 'lock'
                WHEN 'scheduler' THEN 'run queue' WHEN 'network' THEN 'client' WHEN 'client' THEN 'client'
                WHEN 'ipc' THEN 'ipc' WHEN 'timeout' THEN 'timeout' WHEN 'extension' THEN 'extension'
                WHEN 'activity' THEN 'idle' WHEN 'idle' THEN 'idle' ELSE 'other' END
        END) AS activity,
        CASE measured WHEN 'exact' THEN 1 WHEN 'server' THEN 2 WHEN 'extension' THEN 3 WHEN 'os' THEN 4 WHEN 'sampled' THEN 5 ELSE 6 END AS place
    FROM db_wait w
), best AS (
    SELECT * FROM waits
    QUALIFY place = min(place) OVER (PARTITION BY run, host, server, kind, activity)
), sampled AS (
    SELECT run, host, server, sum(dt) AS seen_s FROM db WHERE samples > 0 AND db.database IS NULL GROUP BY run, host, server
), spans AS (
    SELECT run, host, server, place, sum(dt) AS seen_s
    FROM (SELECT DISTINCT run, host, server, place, t, dt FROM waits)
    GROUP BY run, host, server, place
)
SELECT b.run, b.host, b.t, b.dt, b.server, b.kind, b.activity, wait_class, wait_event, measured, waits_per_s, b.time, mean_ms, b.samples,
    CASE WHEN b.place = 5 THEN coalesce(s.seen_s, p.seen_s) ELSE p.seen_s END AS seen_s,
    steady(b.time * b.dt / CASE WHEN b.place = 5 THEN coalesce(s.seen_s, p.seen_s) ELSE p.seen_s END) AS sessions,
    b.kind = 'client' AND activity NOT IN ('idle', 'idle in transaction', 'pacing', 'protocol') AS in_db_time
FROM best b
JOIN spans p ON p.run = b.run AND p.host = b.host AND p.server IS NOT DISTINCT FROM b.server AND p.place = b.place
LEFT JOIN sampled s ON s.run = b.run AND s.host = b.host AND s.server IS NOT DISTINCT FROM b.server
