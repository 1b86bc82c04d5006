-- title: Who waited behind whom at the worst moment?
-- about: The sessions that waited for locks at the moment when most of them waited, each below the session that it waited for; the first of a tree waits for no other. A shorter time range shows another moment.
-- section: database
-- chart: table
-- order: 22
-- param: server = '', only of this server
WITH edges AS (
    SELECT * FROM db_lock WHERE $server IN ('', server)
), worst AS (
    SELECT run, host, server, t FROM edges GROUP BY run, host, server, t
    QUALIFY row_number() OVER (PARTITION BY run, host, server ORDER BY count(DISTINCT waiter) DESC, max(waited_s) DESC NULLS LAST, t) = 1
), waiting AS (
    SELECT e.*
    FROM edges e
    JOIN worst w ON w.run = e.run AND w.host = e.host AND w.server IS NOT DISTINCT FROM e.server AND w.t = e.t
    -- A session that waits for several is listed below one: the holder before those who are only ahead in the queue.
    QUALIFY row_number() OVER (PARTITION BY e.run, e.host, e.server, e.waiter ORDER BY coalesce(e.direct, 'yes') = 'yes' DESC, e.depth, e.blocker) = 1
), roots AS (
    SELECT run, host, server, t, blocker AS session, any_value(blocker_state) AS state, max(blocker_transaction_age_s) AS transaction_age_s,
        any_value(blocker_application) AS application, any_value(blocker_digest) AS digest
    FROM edges e
    WHERE blocker = root
    GROUP BY run, host, server, t, blocker
), nodes AS (
    SELECT run, host, server, t, session, NULL AS waits_for, session AS root, 0 AS depth, NULL AS waited_s, state, transaction_age_s,
        NULL AS lock, NULL AS wanted, NULL AS relation, application, digest
    FROM roots r
    WHERE EXISTS (SELECT 1 FROM worst w WHERE w.run = r.run AND w.host = r.host AND w.server IS NOT DISTINCT FROM r.server AND w.t = r.t)
    UNION ALL
    SELECT run, host, server, t, waiter, blocker, root, depth, waited_s, 'waiting', NULL, lock, w.mode, relation, application, digest
    FROM waiting w
)
SELECT n.run, n.host, n.server, (epoch_us(n.t) - epoch_us(r.start)) / 1e6 AS at_s, n.session, n.waits_for, n.root, n.depth, n.waited_s, n.state, n.transaction_age_s,
    n.lock, n.wanted, n.relation, n.application, x.statement
FROM nodes n
JOIN runs r ON r.run = n.run
LEFT JOIN db_text x ON x.run = n.run AND x.host = n.host AND x.digest = n.digest
ORDER BY n.run, n.host, n.server, n.root, n.depth, n.waited_s DESC NULLS LAST, n.session
