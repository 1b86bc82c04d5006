-- title: Who blocked whom?
-- about: Roots of waits for locks: sessions that block others and wait for none, by the session-seconds that they held up, with what they did meanwhile. A root that is idle in a transaction is an application that does not end what it began.
-- section: database
-- chart: table
-- order: 20
-- param: n = 20, how many roots to show
WITH waiting AS (
    SELECT run, host, server, root, t, any_value(coalesce(dt, 1)) AS dt, count(DISTINCT waiter) AS waiters, max(depth) AS depth, max(waited_s) AS waited_s
    FROM db_lock
    GROUP BY run, host, server, root, t
), held AS (
    SELECT run, host, server, root, sum(waiters * dt) AS session_seconds, sum(dt) AS blocked_s, max(waiters) AS most_waiters, max(depth) AS depth, max(waited_s) AS longest_wait_s
    FROM waiting
    GROUP BY run, host, server, root
), who AS (
    SELECT run, host, server, blocker, mode(blocker_state) AS state, max(blocker_transaction_age_s) AS transaction_age_s, any_value(blocker_application) AS application,
        mode(lock) AS lock, mode(db_lock.mode) AS wanted, mode(blocker_mode) AS held_mode, any_value(relation) AS relation, mode(blocker_digest) AS digest
    FROM db_lock
    WHERE coalesce(direct, 'yes') = 'yes'
    GROUP BY run, host, server, blocker
)
SELECT h.run, h.host, h.server, h.root, h.session_seconds, h.blocked_s, h.most_waiters, h.depth, h.longest_wait_s, w.state, w.transaction_age_s,
    w.application, w.lock, w.held_mode, w.wanted, w.relation, x.statement AS last_statement
FROM held h
LEFT JOIN who w ON w.run = h.run AND w.host = h.host AND w.server IS NOT DISTINCT FROM h.server AND w.blocker = h.root
LEFT JOIN db_text x ON x.run = h.run AND x.host = h.host AND x.digest = w.digest
ORDER BY h.run, h.host, h.session_seconds DESC, h.root
LIMIT $n
