-- title: One session holds up several others
-- severity: warning
-- section: database
-- message: {who} blocked up to {waiters} sessions, three or more of them for {blocked_s:s}.
-- advice: See what it does and why its transaction is long: fenxi ask db-blocking names its application, the lock and its last statement. Make the transaction shorter, or take the contended lock last. A prepared transaction ends by COMMIT PREPARED or ROLLBACK PREPARED only; its coordinator may have forgotten it.
-- ask: db-blocking
-- explains: waits-for-peer
-- part: lock
-- world: database
-- yes: db_lock server=localhost waiter=11 blocker=9 root=9 depth=1 *20
-- yes: db_lock server=localhost waiter=12 blocker=9 root=9 depth=1 *20
-- yes: db_lock server=localhost waiter=13 blocker=12 root=9 depth=2 *20
-- no: db_lock server=localhost waiter=11 blocker=9 root=9 depth=1 *20
-- no: db_lock server=localhost waiter=12 blocker=9 root=9 depth=1 *20
--
-- no: db_lock server=localhost waiter=11 blocker=9 root=9 depth=1 *2
-- no: db_lock server=localhost waiter=12 blocker=9 root=9 depth=1 *2
-- no: db_lock server=localhost waiter=13 blocker=12 root=9 depth=2 *2
--
-- yes: db_lock server=localhost waiter=11 blocker=0 root=0 depth=1 *20
-- yes: db_lock server=localhost waiter=12 blocker=0 root=0 depth=1 *20
-- yes: db_lock server=localhost waiter=13 blocker=12 root=0 depth=2 *20
-- Three sessions for five seconds: a queue that a person notices.
WITH waiting AS (
    SELECT run, host, server, root, t, any_value(coalesce(dt, 1)) AS dt, count(DISTINCT waiter) AS waiters, any_value(blocker_state) FILTER (blocker = root) AS state
    FROM db_lock
    GROUP BY run, host, server, root, t
)
SELECT run, host, server, CASE WHEN root = 0 THEN concat('A prepared transaction of ', server, coalesce(' (' || mode(state) || ')', ''), ', which no session has,')
    ELSE concat('Session ', root, ' of ', server, ' (', coalesce(mode(state), 'state unknown'), ')') END AS who, max(waiters) AS waiters, sum(dt) AS blocked_s
FROM waiting
WHERE waiters >= 3
GROUP BY run, host, server, root
HAVING sum(dt) >= 5
ORDER BY waiters DESC, blocked_s DESC, run, host, server, root
