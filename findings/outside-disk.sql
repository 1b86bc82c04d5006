-- title: Something else uses the disk
-- severity: warning
-- section: disk
-- periods: inside, rest
-- message: {summary}, while the database reads and writes no more than before.
-- advice: See which processes read and wrote then (record with process): a copy, a backup of files, a log shipper. Give the database a dedicated disk or throttle the other.
-- ask: process-io
-- explains: locks-more, commits-slower, disk-slower
-- yes: db commits_per_s=100 cache_misses_per_s=50 *60
-- yes: disk device=sda write_bytes_per_s=1000000 *60
-- yes: inside db commits_per_s=30 cache_misses_per_s=15 *30 @60
-- yes: inside disk device=sda write_bytes_per_s=150000000 *30 @60
-- no: db commits_per_s=100 cache_misses_per_s=50 *60
-- no: disk device=sda read_bytes_per_s=1000000 *60
-- no: inside db commits_per_s=50 cache_misses_per_s=5000 *30 @60
-- no: inside disk device=sda read_bytes_per_s=90000000 *30 @60
--
-- no: db commits_per_s=100 *60
-- no: disk device=sda write_bytes_per_s=1000000 *60
-- no: inside db commits_per_s=300 *30 @60
-- no: inside disk device=sda write_bytes_per_s=3000000 *30 @60
--
-- no: db commits_per_s=10000 *60
-- no: disk device=sda write_bytes_per_s=800000 *60
-- no: inside db commits_per_s=100 *30 @60
-- no: inside disk device=sda write_bytes_per_s=1400000 *30 @60
-- Four MB a second, or forty requests, are more than logs and a recorder write.
SELECT m.run, m.host, c.summary, m.severity, least(4, greatest(disk_writes, disk_reads)) AS weight
FROM moves m JOIN change c ON c.run = m.run AND c.is_first = 1
    AND c.means = CASE WHEN coalesce(disk_writes, 0) >= coalesce(disk_reads, 0) THEN 'disk_writes' ELSE 'disk_reads' END
WHERE throughput IS NOT NULL AND m.severity = 'warning' AND greatest(disk_writes, disk_reads) >= 0.5 AND work <= 0.1
    AND own_cost < 0.5 AND own_work < 0.3 AND greatest(misses, own_writes, log, 0) < 0.3 AND coalesce(redo_cost, 0) < 0.5
    AND c.inside - c.rest >= CASE WHEN c.column_name LIKE '%bytes%' THEN 4e6 ELSE 40 END
    AND coalesce(flushes, 0) < 1.2 AND coalesce(sessions, 0) < 0.4
ORDER BY weight DESC
