-- title: Who flushed
-- severity: info
-- section: disk
-- message: {name}
-- yes: io_pattern file=/var/lib/x/wal mount=/var comm=app op=sync ops_per_s=100 mean_us=9000 *9
--
-- yes: sched cpus_online=2 *9
-- yes: thread_wait pid=7 comm=app wait=flush function=jbd2_log_wait_commit threads=0.8 *9
-- no: io_pattern file=/var/lib/x/wal mount=/var comm=app op=write ops_per_s=100 mean_us=9000 *9
--
-- no: sched cpus_online=2 *9
-- no: thread_wait pid=7 comm=app wait=disk function=folio_wait_bit threads=0.8 *9
-- Where operations on files were observed the file, else who was seen to wait for a flush.
WITH files AS (
    SELECT run, host, file, coalesce(comm, '(unnamed)') AS comm, sum(ops_per_s * coalesce(dt, 1)) AS syncs, sum(ops_per_s * mean_us * coalesce(dt, 1)) / 1e6 AS spent_s
    FROM io_pattern WHERE op = 'sync' AND file IS NOT NULL GROUP BY run, host, file, coalesce(comm, '(unnamed)')
), waiters AS (
    SELECT run, host, coalesce(comm, '(unnamed)') AS comm, sum(threads * coalesce(dt, 1)) AS spent_s FROM thread_wait WHERE wait = 'flush' GROUP BY run, host, coalesce(comm, '(unnamed)')
)
SELECT run, host, concat(comm, ' to ', file, ' ', CAST(CAST(round(syncs) AS BIGINT) AS VARCHAR), ' times') AS name, spent_s, syncs FROM files WHERE syncs >= 1
UNION ALL
SELECT w.run, w.host, comm, spent_s, NULL FROM waiters w WHERE NOT EXISTS (SELECT 1 FROM files f WHERE f.run = w.run AND f.host = w.host)
ORDER BY spent_s DESC, syncs DESC, run, host, name
