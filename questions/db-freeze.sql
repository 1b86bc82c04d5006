-- title: How far is transaction wraparound?
-- about: Age of the oldest unfrozen row by database and table in transactions, against the 2.1 billion at which PostgreSQL stops writes; autovacuum begins to freeze at autovacuum_freeze_max_age.
-- section: database
-- chart: table
-- order: 48
-- param: n = 20, how many to show
WITH ages AS (
    SELECT run, host, server, d.database AS database_name, NULL AS relation, max(xid_age) AS xid_age, max(mxid_age) AS mxid_age FROM db d GROUP BY run, host, server, d.database
    UNION ALL
    SELECT run, host, server, d.database, relation, max(xid_age), NULL FROM db_table d GROUP BY run, host, server, d.database, relation
)
SELECT run, host, server, database_name, relation, xid_age, 100 * xid_age / 2147483648.0 AS of_limit_pct, mxid_age
FROM ages
WHERE xid_age IS NOT NULL
ORDER BY run, host, xid_age DESC, relation NULLS FIRST
LIMIT $n
