-- title: Which tables were changed most?
-- about: Rows inserted, updated and deleted, updates within a page (HOT), and what vacuum did meanwhile.
-- section: database
-- chart: table
-- order: 42
-- param: n = 20, how many tables to show
WITH spans AS (
    SELECT run, host, server, sum(coalesce(dt, 1)) AS seen_s FROM (SELECT DISTINCT run, host, server, t, dt FROM db_table) GROUP BY run, host, server
), used AS (
    SELECT d.run, d.host, d.server, d.database AS database_name, d.relation,
        sum(rows_inserted_per_s * coalesce(d.dt, 1)) / any_value(s.seen_s) AS inserts_per_s, sum(rows_updated_per_s * coalesce(d.dt, 1)) / any_value(s.seen_s) AS updates_per_s,
        sum(rows_hot_updated_per_s * coalesce(d.dt, 1)) / any_value(s.seen_s) AS hot_per_s, sum(rows_deleted_per_s * coalesce(d.dt, 1)) / any_value(s.seen_s) AS deletes_per_s,
        sum(vacuums) AS vacuums, sum(analyzes) AS analyzes, arg_max(live_rows, d.t) AS live_rows, arg_max(dead_rows, d.t) AS dead_rows, arg_max(size_bytes, d.t) AS size_bytes
    FROM db_table d
    JOIN spans s ON s.run = d.run AND s.host = d.host AND s.server IS NOT DISTINCT FROM d.server
    GROUP BY d.run, d.host, d.server, d.database, d.relation
)
SELECT run, host, server, database_name, relation, coalesce(inserts_per_s, 0) + coalesce(updates_per_s, 0) + coalesce(deletes_per_s, 0) AS changes_per_s, inserts_per_s, updates_per_s,
    deletes_per_s, 100 * hot_per_s / nullif(updates_per_s, 0) AS hot_pct, vacuums, analyzes, live_rows, dead_rows, size_bytes
FROM used
WHERE coalesce(inserts_per_s, 0) + coalesce(updates_per_s, 0) + coalesce(deletes_per_s, 0) > 0 OR vacuums > 0 OR analyzes > 0
ORDER BY run, host, server, changes_per_s DESC, relation
LIMIT $n
