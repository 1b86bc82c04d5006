-- title: How busy was each resource?
-- about: One row per resource: mean, minimum and maximum over the run, and a sparkline.
-- section: result
-- chart: summary
-- y: avg, min, max
-- series: metric
-- order: 20
-- param: points = 60, number of points of the sparkline
WITH one_tick AS (
    SELECT run, host, t, max(dt) AS dt, max(greatest(100 - idle - coalesce(iowait, 0), 0)) AS hottest FROM cpu WHERE cpu IS NOT NULL GROUP BY run, host, t
), disk_tick AS (
    SELECT run, host, t, max(dt) AS dt, sum(read_bytes_per_s) AS read_bytes, sum(write_bytes_per_s) AS write_bytes, max(util) AS util
    FROM disk WHERE coalesce(class, 'disk') = 'disk' GROUP BY run, host, t
), net_tick AS (
    SELECT run, host, t, max(dt) AS dt, sum(rx_bytes_per_s) AS rx, sum(tx_bytes_per_s) AS tx
    FROM net WHERE coalesce(class, 'physical') IN ('physical', 'veth', 'virtual') GROUP BY run, host, t
), long AS (
    SELECT run, host, t, dt, 10 AS place, 'cpu' AS resource, 'busy' AS metric, '%' AS unit, greatest(100 - idle - coalesce(iowait, 0), 0) AS value FROM cpu WHERE cpu IS NULL
    UNION ALL SELECT run, host, t, dt, 11, 'cpu', 'busiest CPU', '%', hottest FROM one_tick
    UNION ALL SELECT run, host, t, dt, 12, 'cpu', 'runnable tasks', '', runnable FROM sched
    UNION ALL SELECT run, host, t, dt, 20, 'memory', 'used', '%', 100 * used_bytes / nullif(total_bytes, 0) FROM mem
    UNION ALL SELECT run, host, t, dt, 21, 'memory', 'swap in and out', '/s', swap_in_pages_per_s + swap_out_pages_per_s FROM vm
    UNION ALL SELECT run, host, t, dt, 30, 'disk', 'read', 'B/s', read_bytes FROM disk_tick
    UNION ALL SELECT run, host, t, dt, 31, 'disk', 'written', 'B/s', write_bytes FROM disk_tick
    UNION ALL SELECT run, host, t, dt, 32, 'disk', 'busiest disk', '%', util FROM disk_tick
    UNION ALL SELECT run, host, t, dt, 40, 'network', 'received', 'B/s', rx FROM net_tick
    UNION ALL SELECT run, host, t, dt, 41, 'network', 'sent', 'B/s', tx FROM net_tick
    UNION ALL SELECT run, host, t, dt, 42, 'network', 'TCP retransmits', '/s', retransmits_per_s FROM tcp
    UNION ALL SELECT run, host, t, dt, CASE resource WHEN 'cpu' THEN 13 WHEN 'memory' THEN 22 WHEN 'io' THEN 33 ELSE 50 END,
        CASE resource WHEN 'io' THEN 'disk' ELSE resource END, 'tasks stalled', '%', p.some FROM pressure p
), binned AS (
    SELECT l.run, l.host, place, resource, metric, unit, value, dt, t,
        least(floor(greatest((epoch_us(t) - epoch_us(r.start)) / 1e6 - coalesce(dt, 0) / 2, 0) / nullif(r.duration_s, 0) * $points), $points - 1) AS bin
    FROM long l JOIN runs r ON r.run = l.run
), points AS (
    SELECT run, host, place, resource, metric, unit, bin, wmean(value, dt) AS point FROM binned GROUP BY ALL
), lines AS (
    SELECT run, host, place, resource, metric, unit, list(point ORDER BY bin) AS line FROM points GROUP BY ALL
), summed AS (
    SELECT run, host, place, resource, metric, unit, wmean(value, dt) AS avg, max(value) AS max, min(value) AS min
    FROM binned GROUP BY run, host, place, resource, metric, unit HAVING count(value) > 0
)
SELECT run, host, resource, metric, unit, avg, max, min, line
FROM summed JOIN lines USING (run, host, place, resource, metric, unit)
ORDER BY run, host, place
