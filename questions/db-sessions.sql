-- title: Who was active in the database?
-- about: Sessions by user, application, client and database: the mean number that was active, waiting for a lock, and idle in a transaction.
-- section: database
-- chart: table
-- order: 14
-- param: n = 30, how many rows to show
SELECT run, host, server, d.database, d.user AS user_name, application, client, count(DISTINCT session) AS sessions_seen,
    coalesce(sum(sessions) FILTER (in_db_time), 0) AS active, coalesce(sum(sessions) FILTER (activity = 'lock' OR blocked_by IS NOT NULL), 0) AS waiting_for_locks,
    coalesce(sum(sessions) FILTER (state ILIKE 'idle in transaction%' OR activity = 'idle in transaction'), 0) AS idle_in_transaction,
    max(transaction_age_s) AS oldest_transaction_s
FROM db_session_share d
WHERE is_client
GROUP BY run, host, server, d.database, d.user, application, client
ORDER BY run, host, active DESC, idle_in_transaction DESC, sessions_seen DESC, user_name, application
LIMIT $n
