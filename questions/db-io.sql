-- title: Who did I/O in the database server, and why?
-- about: Reads, writes, extensions and flushes by kind of process, object and context, with mean times where the server measures them. They are requests to the kernel: the page cache may answer, so that compare counts with the disk, never times.
-- section: database
-- chart: table
-- order: 50
-- param: n = 30, how many rows to show
WITH spans AS (
    SELECT run, host, server, sum(coalesce(dt, 1)) AS seen_s FROM (SELECT DISTINCT run, host, server, t, dt FROM db_io) GROUP BY run, host, server
)
SELECT d.run, d.host, d.server, d.kind, d.object, d.context,
    sum(reads_per_s * coalesce(d.dt, 1)) / any_value(seen_s) AS reads_per_s, sum(read_bytes_per_s * coalesce(d.dt, 1)) / any_value(seen_s) AS read_bytes_per_s,
    1000 * sum(d.read_time * coalesce(d.dt, 1)) / nullif(sum(reads_per_s * coalesce(d.dt, 1)) FILTER (d.read_time IS NOT NULL), 0) AS read_ms,
    sum(writes_per_s * coalesce(d.dt, 1)) / any_value(seen_s) AS writes_per_s, sum(write_bytes_per_s * coalesce(d.dt, 1)) / any_value(seen_s) AS write_bytes_per_s,
    1000 * sum(d.write_time * coalesce(d.dt, 1)) / nullif(sum(writes_per_s * coalesce(d.dt, 1)) FILTER (d.write_time IS NOT NULL), 0) AS write_ms,
    sum(extends_per_s * coalesce(d.dt, 1)) / any_value(seen_s) AS extends_per_s, sum(fsyncs_per_s * coalesce(d.dt, 1)) / any_value(seen_s) AS fsyncs_per_s,
    1000 * sum(d.fsync_time * coalesce(d.dt, 1)) / nullif(sum(fsyncs_per_s * coalesce(d.dt, 1)) FILTER (d.fsync_time IS NOT NULL), 0) AS fsync_ms,
    sum(hits_per_s * coalesce(d.dt, 1)) / any_value(seen_s) AS hits_per_s, sum(evictions_per_s * coalesce(d.dt, 1)) / any_value(seen_s) AS evictions_per_s
FROM db_io d
JOIN spans s ON s.run = d.run AND s.host = d.host AND s.server IS NOT DISTINCT FROM d.server
GROUP BY d.run, d.host, d.server, d.kind, d.object, d.context
ORDER BY d.run, d.host, sum((coalesce(reads_per_s, 0) + coalesce(writes_per_s, 0) + coalesce(extends_per_s, 0)) * coalesce(d.dt, 1)) DESC, d.kind, d.object, d.context
LIMIT $n
