-- title: A session is idle in a transaction
-- severity: warning
-- section: database
-- message: Session {session} of {server} ({application}) was idle in a transaction for up to {age:s}.
-- advice: It holds its locks and prevents the cleanup of dead rows: find the application, and set idle_in_transaction_session_timeout.
-- ask: db-idle-in-transaction
-- world: database
-- yes: db_session server=localhost session=9 state="idle in transaction" transaction_age_s=400 *10
--
-- yes: db server=localhost samples=10 *30
-- yes: db_session server=localhost session=9 state="idle in transaction" activity="idle in transaction" transaction_age_s=400 state_age_s=90 dt=0.1 *100
-- no: db_session server=localhost session=9 state="idle in transaction" transaction_age_s=0.2 *10
--
-- no: db_session server=localhost session=9 state=active transaction_age_s=400 *10
--
-- no: db server=localhost samples=10 *30
-- no: db_session server=localhost session=9 state="idle in transaction" activity="idle in transaction" transaction_age_s=400 state_age_s=0.002 dt=0.1 *100
-- A minute is far beyond any round trip of an application. A sampler meets a long transaction between two of its statements too,
-- so that the age of the state counts where it is known; imports have that of the transaction.
SELECT run, host, server, session, coalesce(any_value(application), 'no application name') AS application, max(coalesce(state_age_s, transaction_age_s)) AS age
FROM db_session
WHERE state ILIKE 'idle in transaction%' OR activity = 'idle in transaction'
GROUP BY run, host, server, session
HAVING max(coalesce(state_age_s, transaction_age_s)) >= 60
ORDER BY age DESC, run, host, server, session
