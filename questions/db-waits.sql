-- title: What did the database wait for?
-- about: Wait events by the mean number of sessions in them; a total near the number of active sessions means that all of them waited.
-- section: database
-- chart: table
-- order: 10
-- param: n = 30, how many events to show
SELECT run, host, server, wait_class, wait_event, coalesce(wmean(w.time, dt), avg(w.time)) AS waiting_sessions,
    coalesce(wmean(waits_per_s, dt), avg(waits_per_s)) AS waits_per_s, avg(mean_ms) AS mean_ms
FROM db_wait w
GROUP BY run, host, server, wait_class, wait_event
ORDER BY run, waiting_sessions DESC NULLS LAST, waits_per_s DESC NULLS LAST
LIMIT $n
