-- title: Connections are refused or end by errors
-- severity: warning
-- section: database
-- message: {failed} sessions of {server} were refused or ended by an error, {killed} were terminated, of {connects} that began.
-- advice: See the server's log: out of connections, wrong passwords, timeouts, memory. Clients that try again add to the load.
-- ask: db-connections
-- world: database
-- yes: db server=localhost database=shop sessions_fatal=2 connects_per_s=5 *30
-- no: db server=localhost database=shop sessions_fatal=1 connects_per_s=50 *30
--
-- no: db server=localhost database=shop sessions_fatal=3 connects_per_s=5 *3
-- no: db server=localhost database=shop sessions_fatal=0 connects_per_s=5 *30 @3
-- Ten, and one in twenty of the connections: single ones fail everywhere.
WITH counted AS (
    SELECT run, host, server, coalesce(dt, 1) AS dt, d.database IS NULL AS whole, sessions_fatal, sessions_killed, connects_per_s
    FROM db d
    QUALIFY (d.database IS NULL) = max(d.database IS NULL) OVER (PARTITION BY run, host, server)
), total AS (
    SELECT run, host, server, coalesce(sum(sessions_fatal), 0) AS failed, coalesce(sum(sessions_killed), 0) AS killed, sum(connects_per_s * dt) AS connects
    FROM counted
    GROUP BY run, host, server
)
SELECT run, host, coalesce(server, 'the server') AS server, CAST(failed AS BIGINT) AS failed, CAST(killed AS BIGINT) AS killed, CAST(round(connects) AS BIGINT) AS connects
FROM total
WHERE failed + killed >= 10 AND failed + killed >= 0.05 * connects
ORDER BY failed DESC, run, host, server
