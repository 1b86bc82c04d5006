-- title: Sessions wait
-- severity: info
-- section: database
-- message: {waiting} of {active} active sessions waited
-- yes: db server=here active_sessions=59 waiting_sessions=57 *9
-- no: db server=here active_sessions=59 waiting_sessions=3 *9
--
-- no: db server=here active_sessions=1 waiting_sessions=1 *9
-- Half of them, and two at least.
WITH counted AS (
    SELECT run, host, server, t, d.database AS of_database, active_sessions, waiting_sessions, coalesce(dt, 1) AS dt FROM db d WHERE active_sessions IS NOT NULL AND waiting_sessions IS NOT NULL
), means AS (
    SELECT run, host, server, of_database, wmean(active_sessions, dt) AS active, wmean(waiting_sessions, dt) AS waiting FROM counted GROUP BY run, host, server, of_database
)
SELECT run, host, CAST(round(waiting) AS BIGINT) AS waiting, CAST(round(greatest(active, waiting)) AS BIGINT) AS active
FROM means
WHERE waiting >= 2 AND waiting >= 0.5 * active
ORDER BY waiting DESC, run, host
