-- title: Which tables were accessed most?
-- about: Tables by their share of rows that were read by full scans and found by indexes or written, with scans and cache hits of the table and of its indexes.
-- section: database
-- chart: table
-- order: 41
-- param: n = 20, how many tables to show
WITH spans AS (
    SELECT run, host, server, sum(coalesce(dt, 1)) AS seen_s FROM (SELECT DISTINCT run, host, server, t, dt FROM db_table) GROUP BY run, host, server
), fetched AS (
    SELECT run, host, server, i.database, relation, sum(rows_fetched_per_s * coalesce(dt, 1)) AS rows FROM db_index i GROUP BY run, host, server, i.database, relation
), used AS (
    SELECT d.run, d.host, d.server, d.database AS database_name, d.relation, any_value(s.seen_s) AS seen_s,
        sum((coalesce(full_scan_rows_per_s, 0) + coalesce(rows_inserted_per_s, 0) + coalesce(rows_updated_per_s, 0) + coalesce(rows_deleted_per_s, 0)) * coalesce(d.dt, 1)) AS touched,
        sum(full_scans_per_s * coalesce(d.dt, 1)) AS full_scans, sum(index_scans_per_s * coalesce(d.dt, 1)) AS index_scans,
        sum(cache_misses_per_s * coalesce(d.dt, 1)) AS table_reads, sum(cache_hits_per_s * coalesce(d.dt, 1)) AS table_hits,
        sum(index_misses_per_s * coalesce(d.dt, 1)) AS index_reads, sum(index_hits_per_s * coalesce(d.dt, 1)) AS index_hits
    FROM db_table d
    JOIN spans s ON s.run = d.run AND s.host = d.host AND s.server IS NOT DISTINCT FROM d.server
    GROUP BY d.run, d.host, d.server, d.database, d.relation
), reported AS (
    SELECT u.*, u.touched + coalesce(f.rows, 0) AS all_rows
    FROM used u
    LEFT JOIN fetched f ON f.run = u.run AND f.host = u.host AND f.server IS NOT DISTINCT FROM u.server AND f.database IS NOT DISTINCT FROM u.database_name AND f.relation = u.relation
)
SELECT run, host, server, database_name, relation, 100 * all_rows / nullif(sum(all_rows) OVER (PARTITION BY run, host, server, database_name), 0) AS rows_share_pct,
    100 * table_hits / nullif(table_hits + table_reads, 0) AS table_hit_pct, 100 * index_hits / nullif(index_hits + index_reads, 0) AS index_hit_pct,
    table_reads / seen_s AS table_reads_per_s, table_hits / seen_s AS table_hits_per_s, index_reads / seen_s AS index_reads_per_s, index_hits / seen_s AS index_hits_per_s,
    full_scans / seen_s AS full_scans_per_s, index_scans / seen_s AS index_scans_per_s
FROM reported
WHERE all_rows > 0 OR full_scans > 0 OR index_scans > 0 OR table_hits > 0
ORDER BY run, host, server, all_rows DESC, table_hits DESC NULLS LAST, relation
LIMIT $n
