-- title: The server forgot statements
-- severity: info
-- section: database
-- message: {server} evicted {n:statement|statements} from its statistics: their calls are missing from all sums.
-- advice: Raise pg_stat_statements.max (or performance_schema_digests_size), and use placeholders: statements that differ only in literals the server cannot fold fill the table.
-- ask: db-unexplained
-- comparison: warn
-- world: database
-- yes: db server=localhost statements_lost=40 *3
-- no: db server=localhost statements_lost=0 *30
--
-- no: db server=localhost statements_per_s=4000 *30
-- A single one: sums over statements are too low from then on.
SELECT run, host, server, CAST(sum(statements_lost) AS BIGINT) AS n
FROM db
GROUP BY run, host, server
HAVING sum(statements_lost) >= 1
ORDER BY n DESC, run, host, server
