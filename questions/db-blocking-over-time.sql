-- title: When did sessions block others?
-- about: Number of sessions that wait behind each root, directly or not; only roots of the most waiting.
-- section: database
-- chart: stacked
-- x: t
-- y: waiters
-- series: root_session
-- order: 21
-- param: n = 10, how many roots to show
-- param: server = '', only of this server
WITH waiting AS (
    SELECT run, host, concat_ws(' ', server, root) AS root_session, t, any_value(coalesce(dt, 1)) AS dt, count(DISTINCT waiter) AS waiters
    FROM db_lock
    WHERE $server IN ('', server)
    GROUP BY run, host, server, root, t
), largest AS (
    SELECT run, host, root_session FROM waiting GROUP BY run, host, root_session
    QUALIFY row_number() OVER (PARTITION BY run, host ORDER BY sum(waiters * dt) DESC, root_session) <= $n
), moments AS (
    SELECT run, host, t, max(dt) AS dt
    FROM (SELECT run, host, t, dt FROM waiting UNION ALL SELECT run, host, t, dt FROM db WHERE samples > 0)
    GROUP BY run, host, t
)
SELECT m.run, m.host, m.t, m.dt, l.root_session, coalesce(w.waiters, 0) AS waiters
FROM moments m
JOIN largest l ON l.run = m.run AND l.host = m.host
LEFT JOIN waiting w ON w.run = m.run AND w.host = m.host AND w.t = m.t AND w.root_session = l.root_session
ORDER BY m.run, m.host, l.root_session, m.t
