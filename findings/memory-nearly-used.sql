-- title: Almost no memory is available
-- severity: warning
-- section: memory
-- says: Available memory fell to {least:B} of {total:B}, and was below 5 % for {low_s:s} of {seen_s:s}.
-- advice: Any growth means reclaim, swapping or an OOM kill. Check which processes hold the memory; unused huge pages count too.
-- ask: memory-breakdown
-- impact: low_s / seen_s of the time
-- names: memory
-- yes: mem total_bytes=16e9 available_bytes=3e8 *30
-- no: mem total_bytes=16e9 available_bytes=9e9 free_bytes=1e8 *30
-- Available, not free: a page cache that fills memory is how it should be. Below 5 % for a tenth of the run.
WITH hosts AS (
    SELECT run, host, min(available_bytes) AS least, max(total_bytes) AS total,
        sum(CASE WHEN available_bytes < 0.05 * total_bytes THEN dt ELSE 0 END) AS low_s, sum(dt) AS seen_s
    FROM mem
    GROUP BY run, host
)
SELECT run, host, least, total, low_s, seen_s
FROM hosts
WHERE low_s >= 0.1 * seen_s AND low_s >= 3
ORDER BY least / total, run, host
