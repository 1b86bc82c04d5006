-- title: The page cache is too small for the working set
-- severity: warning
-- section: memory
-- message: For {bad_s:s} of {seen_s:s} pages were read again soon after eviction, {refaults:/s} refaults on average.
-- advice: The same files are read from disk again and again: give the cache more memory, or reduce the working set. A single scan of more data than memory is harmless.
-- ask: memory-pressure
-- part: user I/O
-- impact: bad_s / seen_s of the time
-- yes: vm refaults_file_per_s=5000 *30
-- no: vm refaults_file_per_s=3 *30
--
-- no: vm refaults_file_per_s=5000 scan_kswapd_pages_per_s=0 scan_direct_pages_per_s=0 *30
-- no: mem total_bytes=24e9 available_bytes=23e9 *30
--
-- yes: vm refaults_file_per_s=5000 scan_kswapd_pages_per_s=9000 scan_direct_pages_per_s=0 *30
-- yes: mem total_bytes=24e9 available_bytes=2e9 *30
-- A thousand pages are 4 MiB a second that memory would have saved; a tenth of the run.
-- With half of the memory available and nothing that looks for pages to evict (kswapd, direct reclaim), it was not lack of memory that evicted them:
-- proactive reclaim, or the limit of a cgroup, for which there is another finding.
-- Where the recorder started a command, or observed a database, that hardly waited for a disk, or read less than a fifth of what was read again, it is the cache of others: a fact.
WITH plenty AS (
    SELECT run, host, min(available_bytes / nullif(total_bytes, 0)) AS available FROM mem WHERE available_bytes IS NOT NULL GROUP BY run, host
)
SELECT v.run, v.host, sum(CASE WHEN refaults_file_per_s >= 1000 THEN dt ELSE 0 END) AS bad_s, sum(dt) AS seen_s, wmean(refaults_file_per_s, dt) AS refaults,
    CASE WHEN any_value(m.disk) < 5 OR any_value(m.read_bytes) < 0.2 * 4096 * sum(refaults_file_per_s * dt) THEN 'info' ELSE 'warning' END AS severity
FROM vm v LEFT JOIN plenty f ON f.run = v.run AND f.host = v.host LEFT JOIN measured_wait m ON m.run = v.run AND m.host = v.host
GROUP BY v.run, v.host
HAVING sum(CASE WHEN refaults_file_per_s >= 1000 THEN dt ELSE 0 END) >= greatest(3, 0.1 * sum(dt))
    AND NOT (coalesce(any_value(f.available), 0) >= 0.5 AND coalesce(sum((scan_kswapd_pages_per_s + coalesce(scan_direct_pages_per_s, 0)) * dt), 1) < 0.1 * sum(refaults_file_per_s * dt) AND count(scan_kswapd_pages_per_s) > 0)
ORDER BY refaults DESC, v.run, v.host
