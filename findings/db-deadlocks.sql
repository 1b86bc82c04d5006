-- title: Transactions deadlocked
-- severity: warning
-- section: database
-- says: {name} resolved {n} deadlocks.
-- advice: Each is a transaction that was rolled back after a wait. Acquire locks in the same order in all transactions, and retry the victims.
-- ask: db-waits
-- yes: db server=localhost database=shop deadlocks=0 *20
-- yes: db server=localhost database=shop deadlocks=2 @20
-- no: db server=localhost database=shop deadlocks=0 *20
SELECT run, host, concat_ws(' ', server, database) AS name, CAST(sum(deadlocks) AS BIGINT) AS n
FROM db
GROUP BY run, host, server, database
HAVING sum(deadlocks) > 0
ORDER BY n DESC, run, host, name
