-- title: The database server is nearly out of connections
-- severity: warning
-- section: database
-- message: {server} had {sessions} of {limit_of} connections in use.
-- advice: The next ones are refused. Use a pool, or raise max_connections knowing that each connection takes memory.
-- ask: db-connections
-- world: database
-- yes: db server=localhost sessions=95 *30
-- yes: db_setting server=localhost name=max_connections value=100
-- no: db server=localhost sessions=70 *30
-- no: db_setting server=localhost name=max_connections value=100
--
-- no: db server=localhost sessions=95 *30
-- Four fifths, critical from nine tenths on (postgres_mixin, postgresqltuner); a moment is enough, as those refused do not wait.
WITH used AS (
    SELECT run, host, server, t, coalesce(max(sessions) FILTER (d.database IS NULL), sum(sessions)) AS sessions FROM db d GROUP BY run, host, server, t
), most AS (
    SELECT run, host, server, max(sessions) AS sessions FROM used GROUP BY run, host, server
)
SELECT m.run, m.host, m.server, CAST(m.sessions AS BIGINT) AS sessions, CAST(s.max_connections AS BIGINT) AS limit_of,
    CASE WHEN m.sessions >= 0.9 * s.max_connections THEN 'critical' ELSE 'warning' END AS severity
FROM most m
JOIN db_server s ON s.run = m.run AND s.host = m.host AND s.server IS NOT DISTINCT FROM m.server
WHERE m.sessions >= 0.8 * s.max_connections
ORDER BY m.sessions / s.max_connections DESC, m.run, m.host, m.server
