-- title: A program waits for reads and writes of a disk
-- severity: warning
-- section: disk
-- message: {waiting} threads of {comm} waited in {function} on average, {share:%} of their time.
-- advice: See what it reads (fenxi trace iopattern) and whether the disk is busy with something else (fenxi ask hot-disks): more memory for the page cache, larger requests, or several at once help.
-- ask: thread-waits
-- explains: io-pressure, major-faults
-- impact: share of its threads' time
-- names: file
-- world: not storage bench
-- yes: sched cpus_online=4 *20
-- yes: thread_wait pid=7 comm=app wait=disk function=folio_wait_bit_common threads=0.8 *20
-- yes: thread_wait pid=7 comm=app wait=run threads=0.2 *20
-- no: sched cpus_online=4 *20
-- no: thread_wait pid=7 comm=app wait=disk function=folio_wait_bit_common threads=1 *4
-- no: thread_wait pid=7 comm=app wait=run threads=4 *20
--
-- no: sched cpus_online=4 *4
-- no: thread_wait pid=7 comm=app wait=disk function=folio_wait_bit_common threads=1 *4
-- Fewer than five samples, and three in which it waits, give no share.
-- Two tenths of a thread and a quarter of the program's time.
SELECT run, host, comm, steady(sum(threads)) AS waiting, 100 * sum(threads) / sum(at_work) AS share, arg_max(function, threads) AS function
FROM thread_wait_mean
WHERE wait = 'disk' AND looks >= 3 AND seen_s >= 5 AND is_subject
GROUP BY run, host, comm
HAVING sum(threads) >= 0.2 AND sum(threads) >= 0.25 * sum(at_work)
ORDER BY waiting DESC, run, host, comm
