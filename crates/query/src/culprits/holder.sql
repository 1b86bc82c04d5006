-- title: Who held others up
-- severity: info
-- section: database
-- message: session {root} ({state}) before {waiters} others{relation}
-- yes: db_lock server=here waiter=5 blocker=7 root=7 depth=1 relation=public.orders blocker_state=active direct=yes *9
-- no: db_lock server=here waiter=5 blocker=7 root=7 depth=1 relation=public.orders blocker_state=active direct=yes *1
-- The session at the root of a chain holds up all that wait behind it; once seen it may have been chance.
WITH roots AS (
    SELECT run, host, server, root, count(*) AS edges, count(DISTINCT waiter) AS waiters, count(DISTINCT t) AS looks,
        max(relation) AS relation, max(CASE WHEN blocker = root THEN blocker_state END) AS state
    FROM db_lock
    WHERE root IS NOT NULL
    GROUP BY run, host, server, root
)
SELECT run, host, root, coalesce(state, 'state unknown') AS state, waiters, CASE WHEN relation IS NULL THEN '' ELSE concat(' on ', relation) END AS relation, edges
FROM roots
WHERE looks >= 2
ORDER BY edges DESC, run, host, root
