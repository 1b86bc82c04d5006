-- title: The load does no I/O and contends for latches
-- severity: info
-- section: database
-- message: {server} spent {share:%} of its DB time on latches and read {misses:/s} blocks: everything is in its cache.
-- advice: Ask whether this is the load to test: a few hot rows in memory measure latches, where the real system may wait for disks. Use more data or a less skewed choice of rows, or accept it as a test of contention.
-- ask: db-time
-- world: database
-- yes: db server=localhost samples=10 cache_hits_per_s=90000 cache_misses_per_s=0.5 *60
-- yes: db_wait server=localhost activity=concurrency wait_class=LWLock wait_event=BufferContent kind=client measured=sampled time=3 *60
-- no: db server=localhost samples=10 cache_hits_per_s=90000 cache_misses_per_s=800 *60
-- no: db_wait server=localhost activity=concurrency wait_class=LWLock wait_event=BufferContent kind=client measured=sampled time=3 *60
--
-- no: db server=localhost samples=10 cache_hits_per_s=90000 cache_misses_per_s=0.5 *60
-- no: db_wait server=localhost activity=cpu kind=client measured=sampled time=3 *60
--
-- no: db server=localhost samples=10 *60
-- no: db_wait server=localhost activity=concurrency wait_class=LWLock wait_event=BufferContent kind=client measured=sampled time=3 *60
-- The threshold of contention, with fewer than ten blocks a second and no hundredth of DB time in I/O.
WITH classes AS (
    SELECT run, host, server, coalesce(sum(sessions) FILTER (activity = 'concurrency'), 0) AS waiting, sum(sessions) AS all_sessions,
        coalesce(sum(sessions) FILTER (activity IN ('user io', 'system io')), 0) AS reading, max(seen_s) AS seen_s
    FROM db_best_wait
    WHERE in_db_time
    GROUP BY run, host, server
)
SELECT c.run, c.host, c.server, 100 * c.waiting / c.all_sessions AS share, s.cache_misses_per_s AS misses
FROM classes c
JOIN db_server s ON s.run = c.run AND s.host = c.host AND s.server IS NOT DISTINCT FROM c.server
WHERE c.waiting >= 1 AND c.waiting >= 0.3 * c.all_sessions AND c.reading < 0.01 * c.all_sessions AND s.cache_misses_per_s < 10 AND c.seen_s >= 5
ORDER BY share DESC, c.run, c.host, c.server
