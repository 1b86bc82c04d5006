-- title: Which indexes were hot?
-- about: Indexes by blocks requested from the operating system, then by scans, with their share, size and cache hit ratio.
-- section: database
-- chart: table
-- order: 41
-- param: n = 20, how many indexes to show
WITH spans AS (
    SELECT run, host, server, sum(coalesce(dt, 1)) AS seen_s FROM (SELECT DISTINCT run, host, server, t, dt FROM db_index) GROUP BY run, host, server
), used AS (
    SELECT d.run, d.host, d.server, d.database AS database_name, d.relation, d.index_name,
        sum(d.scans_per_s * coalesce(d.dt, 1)) / any_value(s.seen_s) AS scans_per_s, sum(d.entries_read_per_s * coalesce(d.dt, 1)) / any_value(s.seen_s) AS entries_read_per_s,
        sum(d.cache_misses_per_s * coalesce(d.dt, 1)) / any_value(s.seen_s) AS misses_per_s, sum(d.cache_hits_per_s * coalesce(d.dt, 1)) / any_value(s.seen_s) AS hits_per_s,
        arg_max(d.size_bytes, d.t) AS size_bytes
    FROM db_index d
    JOIN spans s ON s.run = d.run AND s.host = d.host AND s.server IS NOT DISTINCT FROM d.server
    GROUP BY d.run, d.host, d.server, d.database, d.relation, d.index_name
)
SELECT run, host, server, database_name, relation, index_name, misses_per_s,
    100 * misses_per_s / nullif(sum(misses_per_s) OVER (PARTITION BY run, host, server), 0) AS misses_share_pct,
    100 * hits_per_s / nullif(hits_per_s + misses_per_s, 0) AS hit_pct, hits_per_s, scans_per_s, entries_read_per_s, size_bytes
FROM used
ORDER BY run, host, misses_per_s DESC NULLS LAST, scans_per_s DESC NULLS LAST, index_name
LIMIT $n
