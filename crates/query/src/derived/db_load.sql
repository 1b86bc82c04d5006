-- What a database server counts of itself, a row for each moment: sessions that are active, that wait for a lock, time in row locks and in reads,
-- a second. A server without its own row is the sum of its databases. `is_sampled`: its sessions were sampled too, which shows
-- the same more exactly: rules read its counters where it is false.
WITH counted AS (
    SELECT run, host, server, t, coalesce(dt, 1) AS dt, d.database IS NULL AS whole, sum(coalesce(d.active_sessions, d.active_sampled, d.db_time)) AS active,
        sum(waiting_sessions) AS waiting, sum(row_lock_time) AS lock_time, sum(row_lock_waits_per_s) AS lock_waits, sum(sessions) AS sessions,
        sum(coalesce(block_read_time, 0) + coalesce(block_write_time, 0)) FILTER (block_read_time IS NOT NULL OR block_write_time IS NOT NULL) AS io_time,
        sum(statements_per_s) AS statements, max(oldest_transaction_s) AS oldest_transaction_s, sum(idle_in_transaction_sessions) AS idle_in_transaction,
        max(samples) AS samples
    FROM db d
    GROUP BY run, host, server, t, coalesce(dt, 1), d.database IS NULL
), looked AS (
    SELECT DISTINCT run, host, server FROM db_session
    UNION
    SELECT DISTINCT run, host, server FROM db_wait
)
SELECT c.run, c.host, c.server, c.t, c.dt, c.active, c.waiting, c.lock_time, c.lock_waits, c.sessions, c.io_time, c.statements, c.oldest_transaction_s, c.idle_in_transaction,
    l.run IS NOT NULL OR coalesce(max(c.samples) OVER (PARTITION BY c.run, c.host, c.server), 0) > 0 AS is_sampled
FROM counted c
LEFT JOIN looked l ON l.run = c.run AND l.host = c.host AND l.server IS NOT DISTINCT FROM c.server
QUALIFY c.whole = max(c.whole) OVER (PARTITION BY c.run, c.host, c.server)
