-- title: Connections live for seconds only
-- severity: warning
-- section: database
-- message: {server} got {rate:/s} new connections with {sessions} open ones: each lived for about {life:s}.
-- advice: A login costs more than most statements: use a connection pool, or persistent connections of the application.
-- ask: db-connections
-- explains: short-processes, many-forks, connection-for-each, sys-time-high, page-faults, network-latency
-- world: database
-- yes: db server=localhost sessions=10 connects_per_s=20 *40
-- no: db server=localhost sessions=200 connects_per_s=1.5 *40
--
-- no: db server=localhost sessions=10 connects_per_s=0.3 *40
--
-- yes: db server=localhost sessions=10 connects_per_s=20 *8
-- no: db server=localhost sessions=64 connects_per_s=64 *1
-- no: db server=localhost sessions=64 connects_per_s=0 *9 @1
-- Less than a minute (postgresqltuner) at more than one a second, and all of them twice: a load that begins connects once; the mean life is that of Little's law.
WITH moments AS (
    SELECT run, host, server, t, max(dt) AS dt, coalesce(max(sessions) FILTER (d.database IS NULL), sum(sessions)) AS sessions,
        coalesce(max(connects_per_s) FILTER (d.database IS NULL), sum(connects_per_s)) AS connects
    FROM db d
    GROUP BY run, host, server, t
)
SELECT run, host, server, wmean(connects, dt) AS rate, CAST(round(wmean(sessions, dt)) AS BIGINT) AS sessions, wmean(sessions, dt) / wmean(connects, dt) AS life
FROM moments
GROUP BY run, host, server
HAVING wmean(connects, dt) >= 1 AND wmean(sessions, dt) < 60 * wmean(connects, dt) AND sum(dt) >= 5
    AND sum(connects * dt) >= greatest(30, 2 * wmean(sessions, dt))
ORDER BY rate DESC, run, host, server
