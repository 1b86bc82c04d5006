-- title: Programs wait for a lock on a file
-- severity: warning
-- section: process
-- message: {waiting} processes of {comm} waited for a file lock (flock or fcntl) on average, {share:%} of its threads' time.
-- advice: Another process holds the lock: `lslocks` names it and the file. Let it hold the lock for less, or lock parts of the file.
-- ask: thread-waits
-- explains: one-cpu-saturated, one-thread-saturated
-- impact: share of its threads' time
-- yes: sched cpus_online=4 *20
-- yes: thread_wait pid=7 comm=app wait="file lock" function=flock_lock_inode_wait threads=1 *20
-- yes: thread_wait pid=8 comm=app wait=run threads=1 *20
-- no: sched cpus_online=4 *20
-- no: thread_wait pid=7 comm=app wait="file lock" function=flock_lock_inode_wait threads=1 *2
-- no: thread_wait pid=7 comm=app wait=run threads=1 *18 @2
-- A third of a thread all the time: work that waits that long is late.
SELECT run, host, comm, steady(sum(threads)) AS waiting, 100 * sum(threads) / sum(at_work) AS share
FROM thread_wait_mean
WHERE wait = 'file lock' AND looks >= 3 AND seen_s >= 3 AND is_subject
GROUP BY run, host, comm
HAVING sum(threads) >= 0.3
ORDER BY waiting DESC, run, host, comm
