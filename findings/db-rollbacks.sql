-- title: Many transactions are rolled back
-- severity: warning
-- section: database
-- message: {share:%} of the transactions of {name} were rolled back, {rate:/s}.
-- advice: See the server's log for errors, conflicts of serialization and deadlocks. Harmless where an application ends read-only transactions by a rollback, as some pools do.
-- ask: db-throughput
-- world: database
-- yes: db server=localhost database=shop commits_per_s=80 rollbacks_per_s=20 *40
-- no: db server=localhost database=shop commits_per_s=800 rollbacks_per_s=2 *40
--
-- no: db server=localhost database=shop commits_per_s=0.2 rollbacks_per_s=0.5 *40
-- A tenth, and one a second (postgres_mixin, which has no amount).
WITH counted AS (
    SELECT run, host, server, d.database AS name_of, wmean(rollbacks_per_s, dt) AS rate, wmean(commits_per_s, dt) AS commits, sum(dt) AS seen_s
    FROM db d
    GROUP BY run, host, server, d.database
), many AS (
    SELECT * FROM counted WHERE rate >= 1 AND rate >= 0.1 * (rate + commits) AND seen_s >= 5
)
SELECT run, host, concat_ws(' ', server, name_of) AS name, 100 * rate / (rate + commits) AS share, rate
FROM many
QUALIFY name_of IS NOT NULL OR count(name_of) OVER (PARTITION BY run, host, server) = 0
ORDER BY rate DESC, run, host, name
