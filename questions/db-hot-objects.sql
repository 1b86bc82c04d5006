-- title: Which tables and indexes should be on fast storage?
-- about: Tables and indexes by blocks requested from the operating system per byte of size, with cumulative share and size: the first rows give the most reads for the smallest amount of fast storage, or of cache. The page cache may have answered some.
-- section: database
-- chart: table
-- order: 42
-- param: until = 80.0, stop when this share of the reads is covered
WITH rows_of AS (
    SELECT run, host, server, 'table' AS kind, d.database AS database_name, relation AS name, t, coalesce(dt, 1) AS dt,
        coalesce(cache_misses_per_s, 0) + coalesce(toast_misses_per_s, 0) AS misses, size_bytes FROM db_table d
    UNION ALL
    SELECT run, host, server, 'index', i.database, concat(relation, ' ', index_name), t, coalesce(dt, 1), coalesce(cache_misses_per_s, 0), size_bytes FROM db_index i
), spans AS (
    SELECT run, host, server, sum(dt) AS seen_s FROM (SELECT DISTINCT run, host, server, t, dt FROM rows_of) GROUP BY run, host, server
), objects AS (
    SELECT r.run, r.host, r.server, kind, database_name, name, sum(misses * r.dt) / any_value(s.seen_s) AS misses_per_s, arg_max(size_bytes, t) AS size_bytes
    FROM rows_of r
    JOIN spans s ON s.run = r.run AND s.host = r.host AND s.server IS NOT DISTINCT FROM r.server
    GROUP BY r.run, r.host, r.server, kind, database_name, name
), ordered AS (
    SELECT *, misses_per_s / nullif(size_bytes, 0) AS density, 100 * misses_per_s / sum(misses_per_s) OVER (PARTITION BY run, host, server) AS share_pct
    FROM objects
    WHERE misses_per_s > 0
), cumulative AS (
    SELECT *, sum(share_pct) OVER upto AS cumulative_pct, sum(size_bytes) OVER upto AS cumulative_bytes
    FROM ordered
    WINDOW upto AS (PARTITION BY run, host, server ORDER BY density DESC NULLS LAST, misses_per_s DESC, name ROWS UNBOUNDED PRECEDING)
)
SELECT run, host, server, kind, database_name, name, misses_per_s, share_pct, size_bytes, cumulative_pct, cumulative_bytes, 1073741824 * density AS reads_per_s_per_gib
FROM cumulative
WHERE cumulative_pct - share_pct < $until
ORDER BY run, host, server, cumulative_pct, name
