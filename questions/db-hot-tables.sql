-- title: Which tables were hot?
-- about: Tables by blocks requested from the operating system, then by blocks read and rows written, with their share, size and cache hit ratio; indexes and out-of-line storage are in them.
-- section: database
-- chart: table
-- order: 40
-- param: n = 20, how many tables to show
WITH spans AS (
    SELECT run, host, server, sum(coalesce(dt, 1)) AS seen_s FROM (SELECT DISTINCT run, host, server, t, dt FROM db_table) GROUP BY run, host, server
), used AS (
    SELECT d.run, d.host, d.server, d.database AS database_name, d.relation, any_value(s.seen_s) AS seen_s,
        sum((coalesce(cache_misses_per_s, 0) + coalesce(index_misses_per_s, 0) + coalesce(toast_misses_per_s, 0)) * coalesce(d.dt, 1)) / any_value(s.seen_s) AS misses_per_s,
        sum((coalesce(cache_hits_per_s, 0) + coalesce(index_hits_per_s, 0) + coalesce(toast_hits_per_s, 0)) * coalesce(d.dt, 1)) / any_value(s.seen_s) AS hits_per_s,
        sum(full_scan_rows_per_s * coalesce(d.dt, 1)) / any_value(s.seen_s) AS full_scan_rows_per_s,
        sum(index_scans_per_s * coalesce(d.dt, 1)) / any_value(s.seen_s) AS index_scans_per_s,
        sum((coalesce(rows_inserted_per_s, 0) + coalesce(rows_updated_per_s, 0) + coalesce(rows_deleted_per_s, 0)) * coalesce(d.dt, 1)) / any_value(s.seen_s) AS rows_written_per_s,
        sum(d.read_time * coalesce(d.dt, 1)) / any_value(s.seen_s) AS engine_reading, sum(d.write_time * coalesce(d.dt, 1)) / any_value(s.seen_s) AS engine_writing,
        arg_max(size_bytes, d.t) AS size_bytes, arg_max(dead_rows, d.t) AS dead_rows
    FROM db_table d
    JOIN spans s ON s.run = d.run AND s.host = d.host AND s.server IS NOT DISTINCT FROM d.server
    GROUP BY d.run, d.host, d.server, d.database, d.relation
)
SELECT run, host, server, database_name, relation, misses_per_s, 100 * misses_per_s / nullif(sum(misses_per_s) OVER (PARTITION BY run, host, server), 0) AS misses_share_pct,
    100 * hits_per_s / nullif(hits_per_s + misses_per_s, 0) AS hit_pct, hits_per_s, full_scan_rows_per_s, index_scans_per_s, rows_written_per_s,
    engine_reading, engine_writing, size_bytes, dead_rows
FROM used
ORDER BY run, host, misses_per_s DESC, hits_per_s DESC, rows_written_per_s DESC, relation
LIMIT $n
