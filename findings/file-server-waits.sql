-- title: A program is blocked on a remote or user-space file system
-- severity: warning
-- section: disk
-- message: {waiting} threads of {comm} waited in {function} on average, {share:%} of their time.
-- advice: FUSE, NFS or SMB: each call that its cache does not answer is a round trip to the server. See what is mounted (fenxi ask fs-usage), record the server as well, cache more (attribute timeouts, actimeo), ask for more at once (rsize, wsize, larger reads), or work on a local copy.
-- ask: thread-waits
-- explains: io-pressure, programs-wait-disk
-- impact: share of its threads' time
-- yes: sched cpus_online=4 *20
-- yes: thread_wait pid=7 comm=app wait="file server" function=request_wait_answer threads=0.8 *20
-- yes: thread_wait pid=7 comm=app wait=run threads=0.2 *20
-- no: sched cpus_online=4 *20
-- no: thread_wait pid=7 comm=app wait="file server" function=request_wait_answer threads=1 *2
-- no: thread_wait pid=7 comm=app wait=run threads=1 *18 @2
-- Two tenths of a thread and a quarter of the program's time.
SELECT run, host, comm, steady(sum(threads)) AS waiting, 100 * sum(threads) / sum(at_work) AS share, arg_max(function, threads) AS function
FROM thread_wait_mean
WHERE wait = 'file server' AND looks >= 3 AND seen_s >= 3 AND is_subject
GROUP BY run, host, comm
HAVING sum(threads) >= 0.2 AND sum(threads) >= 0.25 * sum(at_work)
ORDER BY waiting DESC, run, host, comm
