-- title: A session that does nothing blocks others
-- severity: critical
-- section: database
-- message: Session {root} of {server} ({application}) was idle in a transaction for up to {idle_s:s} while up to {waiters} sessions waited for its locks.
-- advice: The application began a transaction and left it: find the missing commit, or what it waits for meanwhile. idle_in_transaction_session_timeout (PostgreSQL) or idle_transaction_timeout (MariaDB) ends such sessions.
-- ask: db-blocking
-- explains: db-lock-waits, db-blocking-chain, db-idle-in-transaction, waits-for-peer
-- part: lock
-- world: database
-- yes: db_lock server=localhost waiter=11 blocker=9 root=9 depth=1 blocker_state="idle in transaction" blocker_state_age_s=4 blocker_application=batch *4
-- no: db_lock server=localhost waiter=11 blocker=9 root=9 depth=1 blocker_state="idle in transaction" blocker_state_age_s=0.01 blocker_application=batch *4
--
-- no: db_lock server=localhost waiter=11 blocker=9 root=9 depth=1 blocker_state=active blocker_state_age_s=40 *40
--
-- no: db_lock server=localhost waiter=11 blocker=9 root=9 depth=1 blocker_state="idle in transaction" blocker_state_age_s=40 direct=no *4
-- One second is a thousand round trips. Only the age of the state counts: between two statements every session is idle.
WITH idle AS (
    SELECT run, host, server, root, t, count(DISTINCT waiter) AS waiters,
        max(blocker_state_age_s) FILTER (blocker = root AND blocker_state ILIKE 'idle in transaction%' AND coalesce(direct, 'yes') = 'yes') AS idle_s,
        any_value(blocker_application) FILTER (blocker = root) AS application
    FROM db_lock
    GROUP BY run, host, server, root, t
)
SELECT run, host, server, root, coalesce(any_value(application), 'no application name') AS application, max(idle_s) AS idle_s, max(waiters) AS waiters
FROM idle
WHERE idle_s >= 1
GROUP BY run, host, server, root
ORDER BY waiters DESC, idle_s DESC, run, host, server, root
