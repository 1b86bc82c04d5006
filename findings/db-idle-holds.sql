-- title: Sessions wait for locks of a session that does nothing
-- severity: critical
-- section: database
-- message: {moments} of {waited} times that sessions waited for locks, no other session was active, and session {session} was idle in a transaction, for up to {age:s}: they wait for it.
-- advice: The application began a transaction and left it: find the missing commit, or what it waits for meanwhile. idle_in_transaction_session_timeout (PostgreSQL) or idle_transaction_timeout (MariaDB) ends such sessions.
-- ask: db-blocking
-- explains: db-lock-waits, db-idle-in-transaction
-- part: lock
-- world: database
-- yes: db_session session=9 state="idle in transaction" transaction_age_s=3 *4
-- yes: db_session session=11 state=active wait_class=Lock wait_event=transactionid *4
-- no: db_session session=9 state="idle in transaction" transaction_age_s=3 *4
-- no: db_session session=11 state=active wait_class=Lock wait_event=transactionid *4
-- no: db_session session=12 state=active wait_class=IO wait_event=WALSync *4
--
-- no: db_session session=9 state="idle in transaction" transaction_age_s=0.02 *4
-- no: db_session session=11 state=active wait_class=Lock wait_event=transactionid *4
--
-- no: db_session session=9 state="idle in transaction" transaction_age_s=3 *4
-- no: db_session session=11 state=active wait_class=Lock wait_event=transactionid *4
-- no: db_lock server=localhost waiter=11 blocker=7 root=7 depth=1 blocker_state=active *4
-- For lists of sessions alone. A chain of waits ends in a session that does not wait: where every active one waits for a lock, in one that is
-- idle. Each row of a list has its time, so that a list ends where nothing follows for a twentieth of a second.
WITH listed AS (
    SELECT *, coalesce(server, '') AS of_server,
        epoch_us(t) - lag(epoch_us(t)) OVER (PARTITION BY run, host, server ORDER BY t, session) AS gap_us
    FROM db_session s
    WHERE NOT EXISTS (SELECT 1 FROM db_lock l WHERE l.run = s.run AND l.host = s.host)
), lists AS (
    SELECT *, count(*) FILTER (gap_us IS NULL OR gap_us > 50000) OVER (PARTITION BY run, host, server ORDER BY t, session) AS list FROM listed
), moments AS (
    SELECT run, host, of_server, list,
        count(*) FILTER (wait_class ILIKE 'lock') AS waiters,
        count(*) FILTER (state = 'active' AND wait_class NOT ILIKE 'lock' OR state = 'active' AND wait_class IS NULL) AS others,
        arg_max(session, transaction_age_s) FILTER (state ILIKE 'idle in transaction%') AS session,
        max(transaction_age_s) FILTER (state ILIKE 'idle in transaction%') AS age
    FROM lists
    GROUP BY run, host, of_server, list
)
SELECT run, host, count(*) FILTER (others = 0 AND age >= 1) AS moments, count(*) AS waited,
    arg_max(session, age) FILTER (others = 0) AS session, max(age) FILTER (others = 0) AS age
FROM moments
WHERE waiters > 0
GROUP BY run, host, of_server
HAVING count(*) FILTER (others = 0 AND age >= 1) >= greatest(2, 0.25 * count(*))
ORDER BY moments DESC, run, host
