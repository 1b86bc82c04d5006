-- title: Almost no memory is available
-- severity: warning
-- section: memory
-- message: Available memory fell to {minimum:B} of {total:B}, and was below 5 % for {low_s:s} of {seen_s:s}.
-- advice: Any growth means reclaim, swapping or an OOM kill. Check which processes hold the memory; unused huge pages count too.
-- ask: memory-breakdown
-- impact: low_s / seen_s of the time
-- names: memory
-- yes: mem total_bytes=16e9 available_bytes=3e8 *30
-- no: mem total_bytes=16e9 available_bytes=9e9 free_bytes=1e8 *30
--
-- yes: mem used_bytes=15.5e9 free_bytes=1e8 buffers_bytes=1e7 cached_bytes=3e8 *30
-- no: mem used_bytes=11e9 free_bytes=1e8 buffers_bytes=1e7 cached_bytes=5e9 *30
--
-- no: mem free_bytes=1e8 *30
-- Where a tool prints no available memory it is at most what is free or a cache, and the total what is used besides.
-- Available, not free: a page cache that fills memory is how it should be. Below 5 % for a tenth of the run.
WITH left_over AS (
    SELECT run, host, dt, coalesce(available_bytes, free_bytes + coalesce(buffers_bytes, 0) + cached_bytes) AS available_bytes,
        coalesce(total_bytes, used_bytes + coalesce(available_bytes, free_bytes + coalesce(buffers_bytes, 0) + cached_bytes)) AS total_bytes
    FROM mem
), hosts AS (
    SELECT run, host, min(available_bytes) AS minimum, max(total_bytes) AS total,
        sum(CASE WHEN available_bytes < 0.05 * total_bytes THEN dt ELSE 0 END) AS low_s, sum(dt) AS seen_s
    FROM left_over
    GROUP BY run, host
)
SELECT run, host, minimum, total, low_s, seen_s
FROM hosts
WHERE low_s >= 0.1 * seen_s AND low_s >= 3
ORDER BY minimum / total, run, host
