-- title: How long did reads take in the server, and on the disk?
-- about: Mean time of a block read in the database server beside the mean read latency of the busiest disk. The server faster than the disk: the page cache answers. The server much slower: something is in between, such as a lock, a queue or a throttle.
-- section: database
-- chart: line
-- x: t
-- y: server_read_ms, disk_read_ms
-- unit: ms
-- order: 51
WITH server_side AS (
    SELECT run, host, t, max(dt) AS dt, 1000 * sum(block_read_time) / nullif(sum(cache_misses_per_s), 0) AS server_read_ms, sum(cache_misses_per_s) AS blocks_per_s
    FROM db d
    WHERE block_read_time IS NOT NULL AND d.database IS NOT NULL
    GROUP BY run, host, t
), disk_side AS (
    SELECT run, host, date_trunc('second', t) AS second, arg_max(read_await_ms, reads_per_s) AS disk_read_ms
    FROM disk
    WHERE coalesce(class, 'disk') = 'disk' AND reads_per_s > 0
    GROUP BY run, host, date_trunc('second', t)
)
SELECT s.run, s.host, s.t, s.dt, s.server_read_ms, d.disk_read_ms, s.blocks_per_s
FROM server_side s
LEFT JOIN disk_side d ON d.run = s.run AND d.host = s.host AND d.second = date_trunc('second', s.t)
ORDER BY s.run, s.host, s.t
