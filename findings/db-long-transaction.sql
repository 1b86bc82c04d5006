-- title: A transaction was open for long
-- severity: info
-- section: database
-- says: Session {session} of {server} ({application}) had a transaction open for up to {age:s}.
-- advice: It keeps its locks, and its snapshot prevents the removal of dead rows everywhere. Split the work, or run reports on a replica. Backups and index builds are long by nature.
-- ask: db-long-transactions
-- yes: db_session server=localhost session=9 state=active kind="client backend" activity=cpu transaction_age_s=200 dt=0.1 *20
-- no: db_session server=localhost session=9 state=active kind="client backend" activity=cpu transaction_age_s=20 dt=0.1 *20
--
-- no: db_session server=localhost session=9 kind="autovacuum worker" activity=cpu transaction_age_s=2000 dt=0.1 *20
-- Two minutes as in the collection awesome-prometheus-alerts, a warning from an hour on.
SELECT run, host, server, session, coalesce(any_value(application), 'no application name') AS application, max(transaction_age_s) AS age,
    CASE WHEN max(transaction_age_s) >= 3600 THEN 'warning' ELSE 'info' END AS severity
FROM db_session_share
WHERE is_client
GROUP BY run, host, server, session
HAVING max(transaction_age_s) > 120
ORDER BY age DESC, run, host, server, session
