-- title: How many connections did the database have?
-- about: Open connections against the limit, and those that were active or idle in a transaction. Many new connections a second with few open ones mean that a pool is missing.
-- section: database
-- chart: line
-- x: t
-- y: sessions, active_sampled, idle_in_transaction_sessions, max_connections
-- series: server
-- order: 60
WITH counted AS (
    SELECT run, host, server, t, any_value(dt) AS dt,
        coalesce(max(sessions) FILTER (d.database IS NULL), sum(sessions)) AS sessions, max(active_sampled) AS active_sampled,
        coalesce(max(idle_in_transaction_sessions) FILTER (d.database IS NULL), sum(idle_in_transaction_sessions)) AS idle_in_transaction_sessions,
        coalesce(max(connects_per_s) FILTER (d.database IS NULL), sum(connects_per_s)) AS connects_per_s
    FROM db d
    GROUP BY run, host, server, t
)
SELECT c.run, c.host, c.t, c.dt, c.server, c.sessions, c.active_sampled, c.idle_in_transaction_sessions, s.max_connections, c.connects_per_s
FROM counted c
LEFT JOIN db_server s ON s.run = c.run AND s.host = c.host AND s.server IS NOT DISTINCT FROM c.server
WHERE c.sessions IS NOT NULL OR c.active_sampled IS NOT NULL
ORDER BY c.run, c.host, c.server, c.t
