-- title: Which statements only ask whether the server lives?
-- about: Statements without a table, settings of the session and the like, with their share of all calls. Connection pools that test each connection before use send one for each statement of the user.
-- section: database
-- chart: table
-- order: 37
WITH calls AS (
    SELECT run, host, server, statement, digest, calls_per_s, running, mean_ms,
        100 * calls_per_s / nullif(sum(calls_per_s) FILTER (in_total) OVER (PARTITION BY run, host, server), 0) AS share_pct
    FROM db_statement_mean
    WHERE in_total AND coalesce(digest, '') <> 'fenxi-db'
)
SELECT run, host, server, calls_per_s, share_pct, mean_ms, running, statement, digest
FROM calls
WHERE is_ping(statement)
ORDER BY run, host, calls_per_s DESC NULLS LAST, digest
