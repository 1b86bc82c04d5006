-- Rows of db_wait that may be added up: of each activity only those of the best measure that there is. What the kernel
-- says of CPU and run queue replaces samples, which miss most of a busy CPU. Imports have the classes of their servers,
-- and no measure.
-- `sessions` is what a row adds to the mean number of sessions over the run: rows exist only where something was
-- seen, so that time is divided by all the time that was looked at.
-- Where nothing has waits, the sessions that an import saw show them: one that is active and waits for nothing computes.
-- `in_db_time` is whether it is work that a client waits for.
WITH looks AS (
    SELECT run, host, server, median(coalesce(dt, 1)) AS step, coalesce((max(epoch_us(t)) - min(epoch_us(t))) / 1e6, 0) + median(coalesce(dt, 1)) AS seen_s
    FROM db_session s
    WHERE NOT EXISTS (SELECT 1 FROM db_wait w WHERE w.run = s.run AND w.host = s.host AND w.server IS NOT DISTINCT FROM s.server)
    GROUP BY run, host, server
), seen AS (
    SELECT run, host, t, dt, server, wait_class, wait_event, measured, waits_per_s, w.time, mean_ms, samples, kind, activity
    FROM db_wait w
    UNION ALL
    SELECT s.run, s.host, s.t, least(coalesce(s.dt, 1), l.step), s.server, wait_class, wait_event, NULL, NULL, 1.0, NULL, NULL,
        CASE WHEN kind IS NULL OR kind IN ('client backend', 'FOREGROUND') THEN 'client' ELSE 'server' END,
        CASE WHEN activity IS NOT NULL THEN activity WHEN state ILIKE 'idle in transaction%' THEN 'idle in transaction' WHEN wait_class IS NULL THEN 'cpu' END
    FROM db_session s JOIN looks l ON l.run = s.run AND l.host = s.host AND l.server IS NOT DISTINCT FROM s.server
    WHERE activity IS NOT NULL OR wait_class IS NOT NULL AND coalesce(state, 'active') <> 'idle' OR state = 'active' OR state ILIKE 'idle in transaction%'
), waits AS (
    SELECT run, host, t, coalesce(dt, 1) AS dt, server, wait_class, wait_event, measured, waits_per_s, w.time, mean_ms, samples,
        coalesce(kind, 'client') AS kind,
        coalesce(activity, CASE
            WHEN wait_event ILIKE '%CPU%' AND coalesce(wait_class, '') NOT ILIKE 'scheduler' THEN 'cpu'
            WHEN wait_event ILIKE 'SQL*Net message from client' THEN 'idle'
            WHEN lower(wait_event) IN ('log file sync', 'walwrite', 'walwritelock', 'walsync', 'syncrep') THEN 'commit'
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
    FROM seen w
), best AS (
    SELECT * FROM waits
    QUALIFY place = min(place) OVER (PARTITION BY run, host, server, kind, activity)
), sampled AS (
    SELECT run, host, server, sum(dt) AS seen_s FROM db WHERE samples > 0 AND db.database IS NULL GROUP BY run, host, server
), spans AS (
    SELECT run, host, server, place, sum(dt) AS seen_s
    FROM (
        SELECT DISTINCT run, host, server, place, t, dt FROM waits w
        WHERE NOT EXISTS (SELECT 1 FROM looks l WHERE l.run = w.run AND l.host = w.host AND l.server IS NOT DISTINCT FROM w.server)
    )
    GROUP BY run, host, server, place
    UNION ALL
    SELECT run, host, server, 6, seen_s FROM looks
)
SELECT b.run, b.host, b.t, b.dt, b.server, b.kind, b.activity, wait_class, wait_event, measured, waits_per_s, b.time, mean_ms, b.samples,
    CASE WHEN b.place = 5 THEN coalesce(s.seen_s, p.seen_s) ELSE p.seen_s END AS seen_s,
    steady(b.time * b.dt / CASE WHEN b.place = 5 THEN coalesce(s.seen_s, p.seen_s) ELSE p.seen_s END) AS sessions,
    b.kind = 'client' AND activity NOT IN ('idle', 'idle in transaction', 'pacing', 'protocol') AS in_db_time
FROM best b
JOIN spans p ON p.run = b.run AND p.host = b.host AND p.server IS NOT DISTINCT FROM b.server AND p.place = b.place
LEFT JOIN sampled s ON s.run = b.run AND s.host = b.host AND s.server IS NOT DISTINCT FROM b.server
