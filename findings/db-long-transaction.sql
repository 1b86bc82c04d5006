-- title: A transaction was open for long
-- severity: info
-- section: database
-- message: {who} of {server} had a transaction open for up to {age:s}.
-- advice: It keeps its locks, and its snapshot prevents the removal of dead rows everywhere. Split the work, or run reports on a replica. Backups and index builds are long by nature.
-- ask: db-long-transactions
-- world: database
-- yes: db_session server=localhost session=9 state=active kind="client backend" activity=cpu transaction_age_s=200 dt=0.1 *20
-- no: db_session server=localhost session=9 state=active kind="client backend" activity=cpu transaction_age_s=20 dt=0.1 *20
--
-- no: db_session server=localhost session=9 kind="autovacuum worker" activity=cpu transaction_age_s=2000 dt=0.1 *20
--
-- yes: db server=localhost oldest_transaction_s=400 *30
-- no: db server=localhost oldest_transaction_s=40 *30
--
-- no: db server=localhost samples=10 oldest_transaction_s=400 *30
-- Two minutes as in the collection awesome-prometheus-alerts, a warning from an hour on.
WITH transactions AS (
    SELECT run, host, server, 'Session ' || CAST(session AS VARCHAR) || ' (' || coalesce(any_value(application), 'no application name') || ')' AS who, session, max(transaction_age_s) AS age
    FROM db_session_share
    WHERE is_client
    GROUP BY run, host, server, session
    UNION ALL
    SELECT run, host, coalesce(server, 'the server') AS server, 'A session' AS who, NULL AS session, max(oldest_transaction_s) AS age
    FROM db_load
    WHERE NOT is_sampled
    GROUP BY run, host, server
)
SELECT run, host, server, session, who, age, CASE WHEN age >= 3600 THEN 'warning' ELSE 'info' END AS severity
FROM transactions
WHERE age > 120
ORDER BY age DESC, run, host, server, session
