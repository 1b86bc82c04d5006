-- title: Threads wait for a lock of the kernel
-- severity: warning
-- section: process
-- message: {waiting} threads of {comm} waited in {function} on average, {share:%} of their time.
-- advice: They change one thing of the kernel at once: the map of one address space (mmap, munmap, page faults of many threads), one directory, or one file. Share it less: fewer maps (keep memory, an allocator with arenas), several directories or files. `fenxi record --source +profile` shows the path.
-- ask: thread-waits
-- explains: sys-time-high, context-switch-storm
-- impact: share of its threads' time
-- yes: sched cpus_online=4 *20
-- yes: thread_wait pid=7 comm=app wait="kernel lock" function=rwsem_down_write_slowpath threads=2 *20
-- yes: thread_wait pid=7 comm=app wait=run threads=2 *20
-- no: sched cpus_online=4 *20
-- no: thread_wait pid=7 comm=app wait="kernel lock" function=rwsem_down_write_slowpath threads=2 *2
-- no: thread_wait pid=7 comm=app wait=run threads=2 *20
--
-- no: sched cpus_online=4 *20
-- no: thread_wait pid=7 comm=app wait="kernel lock" function=rwsem_down_read_slowpath threads=0.5 *20
-- no: thread_wait pid=7 comm=app wait=run threads=7 *20
-- A third of a thread and a sixth of the program's time, in five looks and more. Waiters spin for a while before they sleep, so that
-- this is less than the lock costs.
SELECT run, host, comm, steady(sum(threads)) AS waiting, 100 * sum(threads) / sum(at_work) AS share, arg_max(function, threads) AS function
FROM thread_wait_mean
WHERE wait = 'kernel lock' AND looks >= 5 AND seen_s >= 3 AND is_subject
GROUP BY run, host, comm
HAVING sum(threads) >= 0.33 AND sum(threads) >= 0.16 * sum(at_work)
ORDER BY waiting DESC, run, host, comm
