-- title: Almost no memory is available
-- severity: warning
-- section: memory
-- says: Only {least:B} of {total:B} were available at the least, below a twentieth for {low_s:s} of {seen_s:s}.
-- advice: The next program or a little growth means reclaim, swapping or a killed process. See which processes hold the memory; huge pages that nobody uses count too.
-- ask: memory-breakdown
-- yes: mem total_bytes=16e9 available_bytes=3e8 *30
-- no: mem total_bytes=16e9 available_bytes=9e9 free_bytes=1e8 *30
-- Available, not free: a page cache that fills memory is how it should be. A twentieth for a tenth of the run.
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
