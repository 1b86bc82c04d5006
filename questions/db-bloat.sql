-- title: Which tables occupy more than their rows need?
-- about: Estimate of what a table occupies beyond its rows packed as the fill factor lets them, from page and row counts of the last VACUUM and widths of columns of the last ANALYZE; PostgreSQL, read at the end of a recording by a user who may read the tables (pg_read_all_data). Free space within a table is used again by its next rows: only much of it, in a table that is scanned or no longer grows, is worth a rewrite.
-- section: database
-- chart: table
-- order: 48
-- param: n = 30, how many tables to show
SELECT run, host, server, d.database AS database_name, relation, arg_max(size_bytes, t) AS size_bytes, arg_max(free_bytes, t) AS free_bytes,
    100 * arg_max(free_bytes, t) / nullif(arg_max(size_bytes, t), 0) AS free_pct, arg_max(live_rows, t) AS live_rows, arg_max(dead_rows, t) AS dead_rows,
    wmean(full_scans_per_s, dt) AS full_scans_per_s, arg_max(vacuum_age_s, t) AS vacuum_age_s, arg_max(analyze_age_s, t) AS analyze_age_s
FROM db_table d
GROUP BY run, host, server, d.database, relation
HAVING arg_max(free_bytes, t) IS NOT NULL
ORDER BY run, host, free_bytes DESC, server, relation
LIMIT $n
