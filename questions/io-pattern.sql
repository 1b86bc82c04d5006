-- title: Was file I/O sequential or random?
-- about: Reads and writes of each file system by access pattern, with size and latency; many small random ones are the worst case for disks. page: page faults on memory-mapped files; direct: O_DIRECT.
-- section: disk
-- chart: table
-- order: 70
-- live: io_pattern: ops_per_s
-- param: n = 40, how many lines to show
SELECT run, host, mount, op, pattern, sum(ops_per_s * dt) AS ops, sum(transfer_bytes_per_s * dt) AS transferred_bytes,
    sum(transfer_bytes_per_s * dt) / nullif(sum(ops_per_s * dt), 0) AS mean_size_bytes,
    sum(mean_us * ops_per_s * dt) / nullif(sum(ops_per_s * dt) FILTER (WHERE mean_us IS NOT NULL), 0) AS mean_us
FROM io_pattern
GROUP BY run, host, mount, op, pattern
ORDER BY run, host, ops DESC NULLS LAST, mount, op, pattern
LIMIT $n
