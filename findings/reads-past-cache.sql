-- title: Reads do not stay in the page cache
-- severity: warning
-- section: disk
-- message: {comm} read {read:B} from disk, {missed:%} of all that it read, while {free:B} of memory stayed free and the page cache grew by {grown:B}.
-- advice: It reads with O_DIRECT, drops what it has read (POSIX_FADV_DONTNEED), or deletes its files: what it reads again comes from the disk again. For data that is read more than once let the page cache keep it, or give the program's own cache more memory. Backups and tests of disks read so by intention.
-- ask: process-io
-- impact: stalled of the time
-- explains: io-pressure, programs-wait-disk, disk-saturated, disk-slow, sys-time-high
-- world: not storage bench
-- yes: process pid=7 comm=app read_bytes_per_s=40e6 read_call_bytes_per_s=40e6 *10
-- yes: mem cached_bytes=2e9 free_bytes=8e9 *10
-- yes: vm scan_kswapd_pages_per_s=0 scan_direct_pages_per_s=0 refaults_file_per_s=0 *10
-- yes: pressure resource=io some=40 *10
-- no: process pid=7 comm=app read_bytes_per_s=40e6 read_call_bytes_per_s=40e6 *10
-- no: mem cached_bytes=2e9 free_bytes=8e9 *5
-- no: mem cached_bytes=2.3e9 free_bytes=7.7e9 *5 @5
-- no: vm scan_kswapd_pages_per_s=0 scan_direct_pages_per_s=0 refaults_file_per_s=0 *10
--
-- no: process pid=7 comm=app read_bytes_per_s=40e6 read_call_bytes_per_s=90e6 *10
-- no: mem cached_bytes=2e9 free_bytes=8e9 *10
-- no: vm scan_kswapd_pages_per_s=0 scan_direct_pages_per_s=0 refaults_file_per_s=0 *10
--
-- no: process pid=7 comm=app read_bytes_per_s=40e6 read_call_bytes_per_s=40e6 *10
-- no: mem cached_bytes=8e9 free_bytes=1e8 *10
-- no: vm scan_kswapd_pages_per_s=10000 scan_direct_pages_per_s=0 *10
--
-- no: process pid=7 comm=app read_bytes_per_s=40e6 read_call_bytes_per_s=40e6 *10
-- no: mem cached_bytes=2e9 free_bytes=8e9 *10
-- no: vm scan_kswapd_pages_per_s=0 scan_direct_pages_per_s=10000 refaults_file_per_s=0 *10
--
-- no: process pid=7 comm=app read_bytes_per_s=40e6 read_call_bytes_per_s=40e6 *10
-- no: mem cached_bytes=2e9 free_bytes=8e9 *10
-- no: vm scan_kswapd_pages_per_s=0 scan_direct_pages_per_s=0 refaults_file_per_s=9000 *10
--
-- no: process pid=7 comm=app read_bytes_per_s=1e6 read_call_bytes_per_s=1e6 *10
-- no: mem cached_bytes=2e9 free_bytes=8e9 *10
-- no: vm scan_kswapd_pages_per_s=0 scan_direct_pages_per_s=0 refaults_file_per_s=0 *10
--
-- no: process pid=7 comm=app read_bytes_per_s=40e6 read_call_bytes_per_s=40e6 *10
-- A page that was read through the cache stays in it while memory is free, and takes its place: of what was read at least a tenth would show
-- as growth. What a cgroup's limit took is read again soon after (refaults), and is not this. Read-ahead reads more than is asked
-- for, mapped files are in no call: both are more from disk than by calls, and both stay. Where hardly anything waits for the disk it is a fact.
WITH read AS (
    SELECT p.run, p.host, p.comm, sum(read_bytes_per_s * dt) AS read, sum(read_call_bytes_per_s * dt) AS called, sum(dt) FILTER (read_bytes_per_s >= 5e6) AS busy_s
    FROM process p JOIN subject_process s ON s.run = p.run AND s.host = p.host AND s.pid = p.pid AND s.comm = p.comm
    GROUP BY p.run, p.host, p.comm
), cached AS (
    SELECT run, host, max(cached_bytes) - arg_min(cached_bytes, t) AS grown, min(free_bytes) AS free FROM mem GROUP BY run, host
), reclaimed AS (
    SELECT run, host, 4096 * sum((coalesce(scan_kswapd_pages_per_s, 0) + coalesce(scan_direct_pages_per_s, 0) + coalesce(refaults_file_per_s, 0)) * dt) AS reclaimed FROM vm GROUP BY run, host
), stalls AS (
    SELECT run, host, wmean(w.some, dt) AS stalled FROM pressure w WHERE resource = 'io' GROUP BY run, host
)
SELECT r.run, r.host, r.comm, r.read, least(100, 100 * r.read / r.called) AS missed, c.free, greatest(c.grown, 0) AS grown,
    p.stalled,
    CASE WHEN p.stalled >= 20 OR m.disk >= 5 THEN 'warning' ELSE 'info' END AS severity
FROM read r
JOIN cached c ON c.run = r.run AND c.host = r.host
JOIN reclaimed v ON v.run = r.run AND v.host = r.host
LEFT JOIN stalls p ON p.run = r.run AND p.host = r.host
LEFT JOIN measured_wait m ON m.run = r.run AND m.host = r.host
WHERE r.busy_s >= 3 AND r.read >= 5e7 AND r.read >= 0.9 * r.called AND r.read <= 1.2 * r.called
    AND c.free >= 268435456 AND c.grown <= 0.1 * least(r.read, c.free) AND v.reclaimed <= 0.1 * r.read
ORDER BY r.read DESC, r.run, r.host, r.comm
