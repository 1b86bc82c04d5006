-- title: Transactions deadlocked
-- severity: warning
-- section: database
-- message: {n:deadlock was|deadlocks were} resolved[ in {name}].
-- advice: Each is a transaction that was rolled back after a wait. Acquire locks in the same order in all transactions, and retry the victims.
-- ask: db-lock-targets
-- world: database
-- yes: db server=localhost database=shop deadlocks=0 *20
-- yes: db server=localhost database=shop deadlocks=2 @20
--
-- yes: db deadlocks=3 @20
--
-- fact: db server=localhost deadlocks=1 @20
--
-- fact: db server=localhost database=shop commits_per_s=900 deadlocks=0 *20
-- fact: db server=localhost database=shop deadlocks=3 @20
-- no: db server=localhost database=shop deadlocks=0 *20
--
-- no: db server=localhost database=shop rollbacks_per_s=5 *20
-- Any; critical above five a minute (awesome-prometheus-alerts). One alone, or less than one in a thousand transactions, holds up no one else
-- and costs little: a fact. A server's own row is the sum of its databases.
WITH counted AS (
    SELECT run, host, server, d.database AS name_of, CAST(sum(deadlocks) AS BIGINT) AS n, sum(coalesce(dt, 1)) AS seen_s, sum(commits_per_s * coalesce(dt, 1)) AS commits
    FROM db d
    GROUP BY run, host, server, d.database
    HAVING sum(deadlocks) > 0
)
SELECT run, host, nullif(concat_ws(' ', server, name_of), '') AS name, n, CASE WHEN n < 2 OR n < 0.001 * commits THEN 'info' WHEN n > 5 AND n > 5 * seen_s / 60 THEN 'critical' ELSE 'warning' END AS severity
FROM counted
QUALIFY name_of IS NOT NULL OR count(name_of) OVER (PARTITION BY run, host, server) = 0
ORDER BY n DESC, run, host, name
