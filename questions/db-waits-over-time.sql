-- title: Which wait events changed over time?
-- about: The ten largest events of client sessions over time, CPU among them.
-- section: database
-- chart: stacked
-- x: t
-- y: sessions
-- series: event
-- unit: s/s
-- order: 11
-- param: n = 10, how many events to show
WITH events AS (
    SELECT run, host, server, t, max(dt) AS dt, concat_ws(':', nullif(wait_class, 'CPU'), coalesce(wait_event, activity)) AS event, sum(w.time) AS spent, sum(sessions) AS sessions
    FROM db_best_wait w
    WHERE in_db_time
    GROUP BY run, host, server, t, concat_ws(':', nullif(wait_class, 'CPU'), coalesce(wait_event, activity))
), largest AS (
    SELECT run, host, server, event FROM events GROUP BY run, host, server, event
    QUALIFY row_number() OVER (PARTITION BY run, host, server ORDER BY sum(sessions) DESC, event) <= $n
), moments AS (
    SELECT run, host, server, t, max(dt) AS dt FROM events GROUP BY run, host, server, t
)
SELECT m.run, m.host, m.t, m.dt, l.event, coalesce(e.spent, 0) AS sessions
FROM moments m
JOIN largest l ON l.run = m.run AND l.host = m.host AND l.server IS NOT DISTINCT FROM m.server
LEFT JOIN events e ON e.run = m.run AND e.host = m.host AND e.server IS NOT DISTINCT FROM m.server AND e.t = m.t AND e.event = l.event
ORDER BY m.run, m.host, l.event, m.t
