-- title: Which applications used the database?
-- about: Mean active sessions by application over time; the parameter chooses another view: user, client, database or server.
-- section: database
-- chart: stacked
-- x: t
-- y: sessions
-- series: who
-- unit: s/s
-- order: 15
-- param: by = application, what to tell apart: application, user, client, database or server
-- param: n = 10, how many to show
WITH seconds AS (
    SELECT run, host, date_trunc('second', t) AS second, greatest(1, max(dt)) AS dt,
        coalesce(CASE $by WHEN 'user' THEN d.user WHEN 'client' THEN client WHEN 'database' THEN d.database WHEN 'server' THEN server ELSE application END, '(none)') AS who,
        coalesce(sum(dt) FILTER (in_db_time), 0) / greatest(1, max(dt)) AS sessions
    FROM db_session_share d
    WHERE is_client
    GROUP BY ALL
), largest AS (
    SELECT run, host, who FROM seconds GROUP BY run, host, who
    QUALIFY row_number() OVER (PARTITION BY run, host ORDER BY sum(sessions * dt) DESC, who) <= $n
), moments AS (
    SELECT run, host, second, max(dt) AS dt
    FROM (SELECT run, host, second, dt FROM seconds UNION ALL SELECT run, host, date_trunc('second', t), 1 FROM db WHERE samples > 0)
    GROUP BY run, host, second
)
SELECT m.run, m.host, m.second AS t, m.dt, l.who, coalesce(s.sessions, 0) AS sessions
FROM moments m
JOIN largest l ON l.run = m.run AND l.host = m.host
LEFT JOIN seconds s ON s.run = m.run AND s.host = m.host AND s.second = m.second AND s.who = l.who
ORDER BY m.run, m.host, l.who, m.second
