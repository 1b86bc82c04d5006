-- title: The disk is slower for the database, or something else uses it
-- severity: warning
-- section: disk
-- periods: inside, rest
-- message: {summary}, while the database reads and writes no more than before.
-- advice: Record disk and process: they show who reads and writes, and how long a request takes. Look for a copy or a backup of files, a limit of the volume, a failing disk.
-- ask: disk-latency
-- explains: locks-more, server-stalls, network-slower, less-work-arrives
-- yes: db commits_per_s=50 active_sessions=60 log_bytes_per_s=100000 cache_misses_per_s=200 *60
-- yes: cpu usr=20 sys=5 iowait=15 idle=60 *60
-- yes: inside db commits_per_s=8 active_sessions=60 log_bytes_per_s=16000 cache_misses_per_s=30 *30 @60
-- yes: inside cpu usr=5 sys=3 iowait=62 idle=30 *30 @60
-- no: db commits_per_s=50 active_sessions=60 log_bytes_per_s=100000 cache_misses_per_s=200 *60
-- no: cpu usr=20 sys=5 iowait=15 idle=60 *60
-- no: inside db commits_per_s=30 active_sessions=60 log_bytes_per_s=60000 cache_misses_per_s=2000 *30 @60
-- no: inside cpu usr=12 sys=3 iowait=62 idle=23 *30 @60
--
-- no: db commits_per_s=50 active_sessions=60 log_bytes_per_s=100000 *60
-- no: cpu usr=20 sys=5 iowait=15 idle=60 *60
-- no: inside db commits_per_s=8 active_sessions=60 log_bytes_per_s=16000 *30 @60
-- no: inside cpu usr=5 sys=3 iowait=14 idle=78 *30 @60
-- Ten points of waiting for the disk, and half as much again: where the database itself asks for more, other findings are about it.
SELECT m.run, m.host, c.summary, m.severity, 4 AS weight
FROM moves m JOIN change c ON c.run = m.run AND c.is_first = 1 AND c.means = 'iowait'
WHERE m.severity = 'warning' AND c.table_name <> 'sched' AND iowait >= 0.7 AND c.inside - c.rest >= 10 AND work <= -0.4
    AND greatest(own_writes, misses, log, redo, reads, scans, inserted, changed, spills, 0) <= 0.1 AND coalesce(ddl, 0) < 0.5 AND coalesce(flushes, 0) < 1.2
ORDER BY weight DESC
