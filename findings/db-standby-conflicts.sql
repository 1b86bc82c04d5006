-- title: Queries on a standby are cancelled
-- severity: warning
-- section: database
-- message: {name} cancelled {n:statement|statements} for conflicts with recovery.
-- advice: Set hot_standby_feedback, or a longer max_standby_streaming_delay: the first keeps dead rows on the primary, the second makes the standby late.
-- ask: db-replication
-- world: database
-- yes: db server=localhost database=shop conflicts=1 *3
-- no: db server=localhost database=shop conflicts=0 *30
--
-- no: db server=localhost database=shop rollbacks_per_s=3 *30
-- Any.
WITH counted AS (
    SELECT run, host, server, d.database AS name_of, CAST(sum(conflicts) AS BIGINT) AS n FROM db d GROUP BY run, host, server, d.database HAVING sum(conflicts) >= 1
)
SELECT run, host, concat_ws(' ', server, name_of) AS name, n
FROM counted
QUALIFY name_of IS NOT NULL OR count(name_of) OVER (PARTITION BY run, host, server) = 0
ORDER BY n DESC, run, host, name
