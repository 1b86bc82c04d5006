-- title: When was the load of a database unusual?
-- about: Mean client sessions by class and time: a class that lights up for a while stalled the others.
-- section: database
-- chart: heatmap
-- x: t
-- y: sessions
-- series: activity
-- unit: s/s
-- order: 4
SELECT run, host, t, max(dt) AS dt, activity, sum(w.time) AS sessions
FROM db_best_wait w
WHERE kind = 'client' AND activity NOT IN ('idle', 'pacing')
GROUP BY run, host, t, activity
ORDER BY run, host, activity, t
