-- title: Which large tables were read in full?
-- about: Tables by rows read in full scans. On a large table that is scanned often, an index is missing or not used.
-- section: database
-- chart: table
-- order: 44
-- param: n = 20, how many tables to show
WITH spans AS (
    SELECT run, host, server, sum(coalesce(dt, 1)) AS seen_s FROM (SELECT DISTINCT run, host, server, t, dt FROM db_table) GROUP BY run, host, server
), scanned AS (
    SELECT d.run, d.host, d.server, d.database AS database_name, d.relation, sum(full_scans_per_s * coalesce(d.dt, 1)) / any_value(s.seen_s) AS full_scans_per_s,
        sum(full_scan_rows_per_s * coalesce(d.dt, 1)) / any_value(s.seen_s) AS full_scan_rows_per_s, sum(index_scans_per_s * coalesce(d.dt, 1)) / any_value(s.seen_s) AS index_scans_per_s,
        arg_max(live_rows, d.t) AS live_rows, arg_max(size_bytes, d.t) AS size_bytes
    FROM db_table d
    JOIN spans s ON s.run = d.run AND s.host = d.host AND s.server IS NOT DISTINCT FROM d.server
    GROUP BY d.run, d.host, d.server, d.database, d.relation
)
SELECT run, host, server, database_name, relation, full_scans_per_s, full_scan_rows_per_s, full_scan_rows_per_s / nullif(full_scans_per_s, 0) AS rows_per_scan,
    index_scans_per_s, live_rows, size_bytes
FROM scanned
WHERE full_scans_per_s > 0
ORDER BY run, host, full_scan_rows_per_s DESC NULLS LAST, full_scans_per_s DESC, relation
LIMIT $n
