-- title: Which statements were seen running?
-- about: Statements by the mean number of sessions seen in them and what those did most; from samples of sessions, so that a server without statistics of statements has it, too. A statement shorter than the pause between samples is seen as often as its time deserves, but seldom.
-- section: database
-- chart: table
-- order: 29
-- param: n = 30, how many statements to show
WITH seen AS (
    SELECT run, host, server, d.database, digest, coalesce(activity, lower(wait_class), 'cpu') AS doing, sum(sessions) AS active, count(*) AS samples
    FROM db_session_share d
    WHERE in_db_time
    GROUP BY ALL
), by_statement AS (
    SELECT run, host, server, seen.database, digest, sum(active) AS active, list(doing ORDER BY active DESC, doing)[1] AS mostly, 100 * max(active) / sum(active) AS mostly_pct,
        sum(samples) AS samples
    FROM seen
    GROUP BY run, host, server, seen.database, digest
)
SELECT s.run, s.host, s.server, s.database, s.active, 100 * s.active / sum(s.active) OVER (PARTITION BY s.run, s.host, s.server) AS share_pct,
    s.mostly, s.mostly_pct, s.samples, x.statement, s.digest
FROM by_statement s
LEFT JOIN db_text x ON x.run = s.run AND x.host = s.host AND x.digest = s.digest
ORDER BY s.run, s.host, s.active DESC, s.digest
LIMIT $n
