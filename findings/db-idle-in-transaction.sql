-- title: A session is idle in a transaction
-- severity: warning
-- section: database
-- says: Session {session} of {server} was idle in a transaction for up to {age:s}.
-- advice: It holds its locks and prevents the cleanup of dead rows: find the application, and set idle_in_transaction_session_timeout.
-- ask: db-waits
-- yes: db_session server=localhost session=9 state="idle in transaction" transaction_age_s=400 *10
-- no: db_session server=localhost session=9 state="idle in transaction" transaction_age_s=0.2 *10
--
-- no: db_session server=localhost session=9 state=active transaction_age_s=400 *10
-- A minute is far beyond any round trip of an application.
SELECT run, host, server, session, max(transaction_age_s) AS age
FROM db_session
WHERE state ILIKE 'idle in transaction%'
GROUP BY run, host, server, session
HAVING max(transaction_age_s) >= 60
ORDER BY age DESC, run, host, server, session
