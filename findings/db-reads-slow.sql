-- title: The database waits long for each block that it reads
-- severity: warning
-- section: database
-- message: {server} read {rate:/s} blocks with a mean of {mean:ms}.
-- advice: See the disks (fenxi ask slow-disks) and compare the times (fenxi ask db-io-times): if the disk is faster, something is in between. Otherwise a larger cache, fewer reads, or faster storage for the hot objects (fenxi ask db-hot-objects).
-- ask: db-io-times
-- part: user I/O
-- world: database
-- yes: db server=localhost database=shop cache_misses_per_s=200 block_read_time=2 *40
-- no: db server=localhost database=shop cache_misses_per_s=200 block_read_time=0.1 *40
--
-- no: db server=localhost database=shop cache_misses_per_s=2 block_read_time=0.02 *40
--
-- no: db server=localhost database=shop cache_misses_per_s=200 *40
-- 5 ms is a seek of a disk that turns; ten a second, so that it matters. The server measures it only with track_io_timing.
SELECT run, host, server, 1000 * block_read_time / cache_misses_per_s AS mean, cache_misses_per_s AS rate
FROM db_server
WHERE cache_misses_per_s >= 10 AND 1000 * block_read_time / cache_misses_per_s >= 5 AND seen_s >= 5
ORDER BY mean DESC, run, host, server
