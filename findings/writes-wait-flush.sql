-- title: A program waits for its writes to reach the disk
-- severity: warning
-- section: disk
-- message: {waiting} threads of {comm} waited in {function} on average, {share:%} of their time: each write, or small group of writes, is made durable by itself.
-- advice: Make many writes durable at once (one fsync for a batch, group commit), or use storage that is durable sooner. Check first whether somebody else keeps the disk busy (fenxi ask hot-disks).
-- ask: thread-waits
-- explains: io-pressure, small-io
-- impact: share of its threads' time
-- names: flush
-- yes: sched cpus_online=4 *20
-- yes: thread_wait pid=7 comm=app wait=flush function=jbd2_log_wait_commit threads=0.8 *20
-- yes: thread_wait pid=7 comm=app wait=run threads=0.2 *20
-- no: sched cpus_online=4 *20
-- no: thread_wait pid=7 comm=app wait=flush function=jbd2_log_wait_commit threads=1 *4
-- no: thread_wait pid=7 comm=app wait=run threads=4 *20
-- Three tenths of a thread in flushes and a third of the program's time: below that a flush is no bottleneck of it.
SELECT run, host, comm, steady(sum(threads)) AS waiting, 100 * sum(threads) / sum(at_work) AS share, arg_max(function, threads) AS function
FROM thread_wait_mean
WHERE wait = 'flush' AND looks >= 3 AND seen_s >= 3 AND is_subject
GROUP BY run, host, comm
HAVING sum(threads) >= 0.3 AND sum(threads) >= 0.33 * sum(at_work)
ORDER BY waiting DESC, run, host, comm
