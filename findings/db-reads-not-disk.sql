-- title: Reads are much slower in the database than on the disk
-- severity: info
-- section: database
-- message: A block takes {server} {mean:ms} to read, {rate:/s} of them, where the slowest disk that reads needs {disk:ms}.
-- advice: Time is lost between the two: a queue or limit of a cgroup, a lock of the file system, a full run queue after the read, or a page cache under pressure. Look at fenxi trace offcpu, memory-pressure and cgroup-usage.
-- ask: db-io-times
-- world: database
-- yes: db server=localhost database=shop cache_misses_per_s=500 block_read_time=3 *40
-- yes: db_wait server=localhost activity=cpu wait_event=cpu kind=client measured=os time=1 *40
-- yes: disk device=sda class=disk reads_per_s=500 read_bytes_per_s=4096000 read_await_ms=0.5 *40
-- no: db server=localhost database=shop cache_misses_per_s=500 block_read_time=3 *40
-- no: db_wait server=localhost activity=cpu wait_event=cpu kind=client measured=os time=1 *40
-- no: disk device=sda class=disk reads_per_s=500 read_bytes_per_s=4096000 read_await_ms=5 *40
--
-- no: db server=localhost database=shop cache_misses_per_s=500 block_read_time=3 *40
-- no: db_wait server=localhost activity=cpu wait_event=cpu kind=client measured=os time=1 *40
-- no: disk device=sda class=disk reads_per_s=1 read_bytes_per_s=8192 read_await_ms=0.5 *40
--
-- no: db server=db1 database=shop cache_misses_per_s=500 block_read_time=3 *40
-- no: disk device=sda class=disk reads_per_s=500 read_bytes_per_s=4096000 read_await_ms=0.5 *40
-- Three times as long, with a hundred blocks a second; only where the server runs on this host and at least half of what it asks for
-- reaches a disk: else its times are those of the page cache.
WITH disks AS (
    SELECT run, host, device, wmean(read_await_ms, reads_per_s * dt) AS await, wmean(reads_per_s, dt) AS reads, wmean(read_bytes_per_s, dt) AS read_bytes
    FROM disk
    WHERE coalesce(class, 'disk') = 'disk'
    GROUP BY run, host, device
), slowest AS (
    SELECT run, host, max(await) FILTER (reads >= 1) AS disk, sum(read_bytes) AS read_bytes FROM disks GROUP BY run, host
), here AS (
    SELECT DISTINCT run, host, server FROM db_best_wait WHERE measured IN ('os', 'exact')
)
SELECT s.run, s.host, s.server, 1000 * s.block_read_time / s.cache_misses_per_s AS mean, s.cache_misses_per_s AS rate, d.disk
FROM db_server s
JOIN here h ON h.run = s.run AND h.host = s.host AND h.server IS NOT DISTINCT FROM s.server
JOIN slowest d ON d.run = s.run AND d.host = s.host
WHERE s.cache_misses_per_s >= 100 AND 1000 * s.block_read_time / s.cache_misses_per_s >= 3 * d.disk
    AND d.read_bytes >= 0.5 * s.cache_misses_per_s * coalesce(s.block_size, 8192) AND s.seen_s >= 5
ORDER BY mean DESC, s.run, s.host, s.server
