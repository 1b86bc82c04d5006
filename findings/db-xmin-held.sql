-- title: An old snapshot prevents the removal of dead rows
-- severity: warning
-- section: database
-- message: The oldest snapshot of {server} is {age} transactions old.
-- advice: No VACUUM removes rows that died since: end the session that holds it (fenxi ask db-long-transactions), or look for prepared transactions and replication slots.
-- ask: db-long-transactions
-- world: database
-- yes: db server=localhost oldest_xmin_transactions=3e6 *30
-- no: db server=localhost oldest_xmin_transactions=2000 *30
--
-- no: db server=localhost xid_age=1.9e8 *30
-- A million transactions are ten minutes at 1,600 a second.
SELECT run, host, server, CAST(max(oldest_xmin_transactions) AS BIGINT) AS age
FROM db
GROUP BY run, host, server
HAVING max(oldest_xmin_transactions) >= 1000000
ORDER BY age DESC, run, host, server
