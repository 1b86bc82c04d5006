-- title: The page cache is too small for the working set
-- severity: warning
-- section: memory
-- says: For {bad_s:s} of {seen_s:s} pages were read again soon after eviction, {refaults:/s} refaults on average.
-- advice: The same files are read from disk again and again: give the cache more memory, or reduce the working set. A single scan of more data than memory is harmless.
-- ask: memory-pressure
-- part: user I/O
-- impact: bad_s / seen_s of the time
-- yes: vm refaults_file_per_s=5000 *30
-- no: vm refaults_file_per_s=3 *30
-- A thousand pages are 4 MiB a second that memory would have saved; a tenth of the run.
-- Where the recorder started a command, or observed a database, that hardly waited for a disk, or read less than a fifth of what was read again, it is the cache of others: a fact.
SELECT v.run, v.host, sum(CASE WHEN refaults_file_per_s >= 1000 THEN dt ELSE 0 END) AS bad_s, sum(dt) AS seen_s, wmean(refaults_file_per_s, dt) AS refaults,
    CASE WHEN any_value(m.disk) < 5 OR any_value(m.read_bytes) < 0.2 * 4096 * sum(refaults_file_per_s * dt) THEN 'info' ELSE 'warning' END AS severity
FROM vm v LEFT JOIN measured_wait m ON m.run = v.run AND m.host = v.host
GROUP BY v.run, v.host
HAVING sum(CASE WHEN refaults_file_per_s >= 1000 THEN dt ELSE 0 END) >= greatest(3, 0.1 * sum(dt))
ORDER BY refaults DESC, v.run, v.host
