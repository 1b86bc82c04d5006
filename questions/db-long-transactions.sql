-- title: Which transactions were open the longest?
-- about: The oldest transactions, what their sessions did, what they ran last, and how many sessions waited for them. An old snapshot (xmin) prevents the removal of dead rows.
-- section: database
-- chart: table
-- order: 18
-- param: n = 20, how many sessions to show
WITH blocking AS (
    SELECT run, host, server, root, max(waiters) AS waiters
    FROM (SELECT run, host, server, root, t, count(DISTINCT waiter) AS waiters FROM db_lock GROUP BY run, host, server, root, t)
    GROUP BY run, host, server, root
), oldest AS (
    SELECT run, host, server, session, max(transaction_age_s) AS transaction_age_s, arg_max(state, transaction_age_s) AS state, max(state_age_s) FILTER (state ILIKE 'idle in transaction%') AS idle_s,
        any_value(d.user) AS user_name, any_value(application) AS application, any_value(d.database) AS database_name, max(xmin_age) AS xmin_age,
        max(rows_changed) AS rows_changed, arg_max(digest, t) AS digest
    FROM db_session d
    WHERE transaction_age_s IS NOT NULL
    GROUP BY run, host, server, session
)
SELECT o.run, o.host, o.server, o.session, o.transaction_age_s, o.state, o.idle_s, o.user_name, o.application, o.database_name, o.xmin_age, o.rows_changed,
    b.waiters AS sessions_blocked, x.statement AS last_statement
FROM oldest o
LEFT JOIN blocking b ON b.run = o.run AND b.host = o.host AND b.server IS NOT DISTINCT FROM o.server AND b.root = o.session
LEFT JOIN db_text x ON x.run = o.run AND x.host = o.host AND x.digest = o.digest
ORDER BY o.run, o.host, o.transaction_age_s DESC, o.session
LIMIT $n
