-- title: Which locks were waited for?
-- about: Relations, modes and statements of lock waits by session-seconds. Row locks are waits for a transaction; access exclusive and metadata locks come from changes of the schema.
-- section: database
-- chart: table
-- order: 22
-- param: n = 20, how many to show
WITH waiters AS (
    SELECT run, host, server, t, waiter, any_value(coalesce(dt, 1)) AS dt, any_value(lock) AS lock, any_value(l.mode) AS wanted, any_value(blocker_mode) AS held,
        any_value(l.database) AS database_name, any_value(relation) AS relation, any_value(index_name) AS index_name, any_value(digest) AS digest, max(waited_s) AS waited_s
    FROM db_lock l
    GROUP BY run, host, server, t, waiter
)
SELECT w.run, w.host, w.server, w.lock, w.database_name, w.relation, w.index_name, w.wanted, mode(w.held) AS held, sum(w.dt) AS session_seconds,
    count(DISTINCT w.waiter) AS waiters, max(w.waited_s) AS longest_wait_s, any_value(x.statement) AS statement
FROM waiters w
LEFT JOIN db_text x ON x.run = w.run AND x.host = w.host AND x.digest = w.digest
GROUP BY w.run, w.host, w.server, w.lock, w.database_name, w.relation, w.index_name, w.wanted, w.digest
ORDER BY w.run, w.host, session_seconds DESC, w.lock, w.relation
LIMIT $n
