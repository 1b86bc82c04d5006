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
), executed AS (
    -- Statements are known to samples of sessions before they are counted.
    SELECT run, host, server, session, date_trunc('second', t) AS second, arg_max(digest, t) AS digest FROM db_session
    WHERE digest IS NOT NULL GROUP BY run, host, server, session, date_trunc('second', t)
), known AS (
    SELECT w.*, coalesce(w.digest, e.digest) AS statement_digest
    FROM waiters w
    LEFT JOIN executed e ON e.run = w.run AND e.host = w.host AND e.server IS NOT DISTINCT FROM w.server AND e.session = w.waiter AND e.second = date_trunc('second', w.t)
)
SELECT w.run, w.host, w.server, w.lock, w.database_name, w.relation, w.index_name, w.wanted, mode(w.held) AS held, sum(w.dt) AS session_seconds,
    count(DISTINCT w.waiter) AS waiters, max(w.waited_s) AS longest_wait_s, any_value(x.statement) AS statement
FROM known w
LEFT JOIN db_text x ON x.run = w.run AND x.host = w.host AND x.digest = w.statement_digest
GROUP BY w.run, w.host, w.server, w.lock, w.database_name, w.relation, w.index_name, w.wanted, w.statement_digest
ORDER BY w.run, w.host, session_seconds DESC, w.lock, w.relation
LIMIT $n
