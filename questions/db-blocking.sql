-- title: Who blocked whom?
-- about: Roots of waits for locks: sessions that block others and wait for none, each time that they did, by the session-seconds that they held up: when, how many waited, and what the root did in its transaction, as samples saw it. A root that is idle in a transaction is an application that does not end what it began.
-- section: database
-- chart: table
-- order: 20
-- param: n = 20, how many to show
-- param: server = '', only of this server
WITH waiting AS (
    SELECT run, host, server, root, t, any_value(coalesce(dt, 1)) AS dt, count(DISTINCT waiter) AS waiters, max(depth) AS depth, max(waited_s) AS waited_s
    FROM db_lock
    WHERE $server IN ('', server)
    GROUP BY run, host, server, root, t
), marked AS (
    SELECT *, coalesce(epoch_us(t) - epoch_us(lag(t) OVER w) > 1e6 * greatest(5, 3 * dt), false) AS is_new
    FROM waiting
    WINDOW w AS (PARTITION BY run, host, server, root ORDER BY t)
), times AS (
    SELECT *, count(*) FILTER (is_new) OVER (PARTITION BY run, host, server, root ORDER BY t ROWS UNBOUNDED PRECEDING) AS turn
    FROM marked
), held AS (
    SELECT run, host, server, root, turn, min(t) AS first_t, max(t) AS last_t, sum(waiters * dt) AS session_seconds, sum(dt) AS blocked_s, max(waiters) AS most_waiters,
        max(depth) AS depth, max(waited_s) AS longest_wait_s
    FROM times
    GROUP BY run, host, server, root, turn
    QUALIFY row_number() OVER (PARTITION BY run, host ORDER BY sum(waiters * dt) DESC, root, turn) <= $n
), who AS (
    SELECT h.run, h.host, h.server, h.root, h.turn, mode(blocker_state) AS state, max(blocker_transaction_age_s) AS transaction_age_s, any_value(blocker_application) AS application,
        mode(lock) AS lock, mode(l.mode) AS wanted, mode(blocker_mode) AS held_mode, any_value(relation) AS relation, arg_max(blocker_digest, l.t) AS digest
    FROM held h
    JOIN db_lock l ON l.run = h.run AND l.host = h.host AND l.server IS NOT DISTINCT FROM h.server AND l.blocker = h.root AND l.t BETWEEN h.first_t AND h.last_t
    WHERE coalesce(direct, 'yes') = 'yes'
    GROUP BY h.run, h.host, h.server, h.root, h.turn
), ran AS (
    SELECT h.run, h.host, h.server, h.root, h.turn, s.digest, min(s.t) AS since, any_value(s.user) AS user_name, any_value(s.client) AS client
    FROM held h
    LEFT JOIN who w ON w.run = h.run AND w.host = h.host AND w.server IS NOT DISTINCT FROM h.server AND w.root = h.root AND w.turn = h.turn
    JOIN db_session s ON s.run = h.run AND s.host = h.host AND s.server IS NOT DISTINCT FROM h.server AND s.session = h.root AND s.t <= h.last_t
        -- A session before its transaction began is another matter; ages are read a moment after the sample.
        AND epoch_us(s.t) >= epoch_us(h.last_t) - 1e6 * (coalesce(w.transaction_age_s, 0) + h.blocked_s + 1)
    GROUP BY h.run, h.host, h.server, h.root, h.turn, s.digest
), did AS (
    SELECT r.run, r.host, r.server, r.root, r.turn, any_value(user_name) AS user_name, any_value(client) AS client, arg_max(x.statement, since) AS last_statement,
        string_agg(left(x.statement, 160), '; ' ORDER BY since) FILTER (x.statement IS NOT NULL) AS statements
    FROM ran r
    LEFT JOIN db_text x ON x.run = r.run AND x.host = r.host AND x.digest = r.digest
    GROUP BY r.run, r.host, r.server, r.root, r.turn
)
SELECT h.run, h.host, h.server, h.root, h.session_seconds, h.blocked_s, h.most_waiters, h.depth, h.longest_wait_s, w.state, w.transaction_age_s,
    CAST((epoch_us(h.first_t) - epoch_us(r.start)) / 1e6 AS DOUBLE) AS at_s, d.user_name, d.client, w.application, w.lock, w.held_mode, w.wanted, w.relation,
    d.statements, coalesce(x.statement, d.last_statement) AS last_statement
FROM held h
JOIN runs r ON r.run = h.run
LEFT JOIN who w ON w.run = h.run AND w.host = h.host AND w.server IS NOT DISTINCT FROM h.server AND w.root = h.root AND w.turn = h.turn
LEFT JOIN did d ON d.run = h.run AND d.host = h.host AND d.server IS NOT DISTINCT FROM h.server AND d.root = h.root AND d.turn = h.turn
LEFT JOIN db_text x ON x.run = h.run AND x.host = h.host AND x.digest = w.digest
ORDER BY h.run, h.host, h.session_seconds DESC, h.root, h.turn
