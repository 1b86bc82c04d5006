-- title: The page cache answers most reads of the database
-- severity: info
-- section: database
-- message: {server} requested {asked:B/s} from the operating system, and all disks together read {read:B/s}.
-- advice: The reads are copies from memory, faster than any disk: they cost CPU, and the test does not measure storage. Give the memory to the server's own cache, or use O_DIRECT where it can; a run after a reboot or with more data shows the disks.
-- ask: db-table-disk
-- world: database
-- yes: db server=localhost database=shop cache_misses_per_s=5000 *40
-- yes: db_wait server=localhost activity=cpu wait_event=cpu kind=client measured=os time=1 *40
-- yes: disk device=sda class=disk reads_per_s=2 read_bytes_per_s=16384 *40
-- no: db server=localhost database=shop cache_misses_per_s=5000 *40
-- no: db_wait server=localhost activity=cpu wait_event=cpu kind=client measured=os time=1 *40
-- no: disk device=sda class=disk reads_per_s=4800 read_bytes_per_s=39000000 *40
--
-- no: db server=db1 database=shop cache_misses_per_s=5000 *40
-- no: disk device=sda class=disk reads_per_s=2 read_bytes_per_s=16384 *40
--
-- no: db server=localhost database=shop cache_misses_per_s=20 *40
-- no: db_wait server=localhost activity=cpu wait_event=cpu kind=client measured=os time=1 *40
-- no: disk device=sda class=disk reads_per_s=0 read_bytes_per_s=0 *40
-- At least a hundred blocks a second of which not half can have come from a disk. Counts are compared, not times; only on the
-- server's own host.
WITH disks AS (
    SELECT run, host, sum(read_bytes) AS read
    FROM (SELECT run, host, device, wmean(read_bytes_per_s, dt) AS read_bytes FROM disk WHERE coalesce(class, 'disk') = 'disk' GROUP BY run, host, device)
    GROUP BY run, host
), here AS (
    SELECT DISTINCT run, host, server FROM db_best_wait WHERE measured IN ('os', 'exact')
)
SELECT s.run, s.host, s.server, s.cache_misses_per_s * coalesce(s.block_size, 8192) AS asked, d.read
FROM db_server s
JOIN here h ON h.run = s.run AND h.host = s.host AND h.server IS NOT DISTINCT FROM s.server
JOIN disks d ON d.run = s.run AND d.host = s.host
WHERE s.cache_misses_per_s >= 100 AND d.read < 0.5 * s.cache_misses_per_s * coalesce(s.block_size, 8192) AND s.seen_s >= 5
ORDER BY asked DESC, s.run, s.host, s.server
