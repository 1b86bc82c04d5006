-- title: Transactions deadlocked
-- severity: warning
-- section: database
-- message: {name} resolved {n} deadlocks.
-- advice: Each is a transaction that was rolled back after a wait. Acquire locks in the same order in all transactions, and retry the victims.
-- ask: db-lock-targets
-- yes: db server=localhost database=shop deadlocks=0 *20
-- yes: db server=localhost database=shop deadlocks=2 @20
--
-- yes: db server=localhost deadlocks=1 @20
-- no: db server=localhost database=shop deadlocks=0 *20
--
-- no: db server=localhost database=shop rollbacks_per_s=5 *20
-- Any; critical above five a minute (awesome-prometheus-alerts). A server's own row is the sum of its databases.
WITH counted AS (
    SELECT run, host, server, d.database AS name_of, CAST(sum(deadlocks) AS BIGINT) AS n, sum(coalesce(dt, 1)) AS seen_s
    FROM db d
    GROUP BY run, host, server, d.database
    HAVING sum(deadlocks) > 0
)
SELECT run, host, concat_ws(' ', server, name_of) AS name, n, CASE WHEN n > 5 AND n > 5 * seen_s / 60 THEN 'critical' ELSE 'warning' END AS severity
FROM counted
QUALIFY name_of IS NOT NULL OR count(name_of) OVER (PARTITION BY run, host, server) = 0
ORDER BY n DESC, run, host, name
