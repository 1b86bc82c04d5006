-- title: Which tables need a vacuum?
-- about: Tables by dead rows not yet removed, with their share, vacuums in the run and the age of the last one. If vacuums run and rows stay, an old snapshot holds them: look for long transactions, prepared ones and replication slots.
-- section: database
-- chart: table
-- order: 47
-- param: n = 20, how many tables to show
SELECT run, host, server, d.database AS database_name, relation, arg_max(dead_rows, t) AS dead_rows, 100 * arg_max(dead_rows, t) / nullif(arg_max(dead_rows, t) + arg_max(live_rows, t), 0) AS dead_pct,
    arg_max(live_rows, t) AS live_rows, sum(vacuums) AS vacuums, sum(analyzes) AS analyzes, arg_max(vacuum_age_s, t) AS vacuum_age_s, arg_max(analyze_age_s, t) AS analyze_age_s,
    arg_max(modified_since_analyze, t) AS modified_since_analyze, 100 * sum(rows_hot_updated_per_s * dt) / nullif(sum(rows_updated_per_s * dt), 0) AS hot_pct
FROM db_table d
GROUP BY run, host, server, d.database, relation
ORDER BY run, host, dead_rows DESC NULLS LAST, relation
LIMIT $n
