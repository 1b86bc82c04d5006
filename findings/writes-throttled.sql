-- title: Writers are held up by dirty pages
-- severity: warning
-- section: disk
-- message: {waiting} threads of {comm} waited in {function} on average: they write faster than the disk takes it.
-- advice: The disk is the limit of the writers. Larger vm.dirty_ratio only delays it; see which disk (fenxi ask hot-disks), and write less, compress, or spread over disks.
-- ask: thread-waits
-- explains: io-pressure, disk-saturated, disk-queue
-- impact: share of its threads' time
-- yes: sched cpus_online=4 *20
-- yes: thread_wait pid=7 comm=app wait="dirty pages" function=balance_dirty_pages threads=0.8 *20
-- no: sched cpus_online=4 *20
-- no: thread_wait pid=7 comm=app wait="dirty pages" function=balance_dirty_pages threads=1 *2
-- no: thread_wait pid=7 comm=app wait=run threads=1 *18 @2
-- Three tenths of a thread.
SELECT run, host, comm, steady(sum(threads)) AS waiting, 100 * sum(threads) / sum(at_work) AS share, arg_max(function, threads) AS function
FROM thread_wait_mean
WHERE wait = 'dirty pages' AND looks >= 3 AND seen_s >= 3 AND is_subject
GROUP BY run, host, comm
HAVING sum(threads) >= 0.3
ORDER BY waiting DESC, run, host, comm
