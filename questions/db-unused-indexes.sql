-- title: Which indexes only cost?
-- about: Indexes without a scan in the run, with the writes to their table. Unique ones enforce a constraint; others may serve what did not run meanwhile (a report, a replica): look at a whole week before dropping one.
-- section: database
-- chart: table
-- order: 45
-- param: n = 30, how many indexes to show
WITH unused AS (
    SELECT run, host, server, i.database AS database_name, relation, index_name, arg_max(size_bytes, t) AS size_bytes, arg_max(is_unique, t) AS is_unique,
        arg_max(is_valid, t) AS is_valid, coalesce(sum(scans_per_s * coalesce(dt, 1)), 0) AS scans
    FROM db_index i
    GROUP BY run, host, server, i.database, relation, index_name
), written AS (
    SELECT run, host, server, d.database AS database_name, relation,
        wmean(coalesce(rows_inserted_per_s, 0) + coalesce(rows_updated_per_s, 0) + coalesce(rows_deleted_per_s, 0), coalesce(dt, 1)) AS rows_written_per_s
    FROM db_table d
    GROUP BY run, host, server, d.database, relation
)
SELECT u.run, u.host, u.server, u.database_name, u.relation, u.index_name, u.size_bytes, u.is_unique, u.is_valid, round(u.scans) AS scans, w.rows_written_per_s
FROM unused u
LEFT JOIN written w ON w.run = u.run AND w.host = u.host AND w.server IS NOT DISTINCT FROM u.server AND w.database_name IS NOT DISTINCT FROM u.database_name AND w.relation = u.relation
QUALIFY u.scans = 0 OR row_number() OVER (PARTITION BY u.run, u.host ORDER BY u.scans, u.size_bytes DESC NULLS LAST, u.index_name, u.relation, u.database_name, u.server) <= 1
ORDER BY u.run, u.host, u.scans, u.size_bytes DESC NULLS LAST, u.index_name
LIMIT $n
