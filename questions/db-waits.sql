-- title: What did the database wait for?
-- about: Wait events by the mean number of sessions in them, with their share of DB time; a total near the number of active sessions means that all of them waited. Sampled events have no counts.
-- section: database
-- chart: table
-- order: 10
-- param: n = 30, how many events to show
WITH events AS (
    SELECT run, host, server, kind, activity, wait_class, wait_event, measured, any_value(in_db_time) AS in_db_time, sum(sessions) AS waiting_sessions,
        coalesce(wmean(waits_per_s, dt), avg(waits_per_s)) AS waits_per_s, avg(mean_ms) AS mean_ms
    FROM db_best_wait
    WHERE activity <> 'idle'
    GROUP BY run, host, server, kind, activity, wait_class, wait_event, measured
)
SELECT run, host, server, activity, wait_class, wait_event, kind, waiting_sessions,
    CASE WHEN in_db_time THEN 100 * waiting_sessions / nullif(sum(waiting_sessions) FILTER (in_db_time) OVER (PARTITION BY run, host, server), 0) END AS share_pct,
    waits_per_s, mean_ms, measured
FROM events
ORDER BY run, waiting_sessions DESC NULLS LAST, waits_per_s DESC NULLS LAST, wait_event
LIMIT $n
