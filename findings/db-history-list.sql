-- title: InnoDB does not purge old row versions
-- severity: info
-- section: database
-- message: The history list of {server} grew to {length} undo records.
-- advice: Reads must walk through old versions. End long transactions (fenxi ask db-long-transactions), or give purge more threads (innodb_purge_threads).
-- ask: db-long-transactions
-- world: database
-- yes: db server=localhost history_length=60000 *30
-- no: db server=localhost history_length=900 *30
--
-- no: db server=localhost history_length=900 *29
-- no: db server=localhost history_length=60000 @29
-- 50,000 for ten seconds, a warning from 100,000 on (MySQLTuner, awesome-prometheus-alerts).
SELECT run, host, server, CAST(max(history_length) AS BIGINT) AS length, CASE WHEN max(history_length) >= 100000 THEN 'warning' ELSE 'info' END AS severity
FROM db
GROUP BY run, host, server
HAVING sum(dt) FILTER (history_length >= 50000) >= 10
ORDER BY length DESC, run, host, server
