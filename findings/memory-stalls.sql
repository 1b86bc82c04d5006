-- title: A program waits for memory to be freed
-- severity: warning
-- section: memory
-- message: {waiting} threads of {comm} waited in {function} on average, {share:%} of their time.
-- advice: Memory of the machine, or the limit of its cgroup, is too small for what runs: see memory by process (fenxi ask process-memory) and limits (fenxi ask cgroup-usage).
-- ask: memory-pressure
-- explains: memory-pressure, direct-reclaim, major-faults
-- impact: share of its threads' time
-- yes: sched cpus_online=4 *20
-- yes: thread_wait pid=7 comm=app wait=memory function=mem_cgroup_handle_over_high threads=0.8 *20
-- no: sched cpus_online=4 *20
-- no: thread_wait pid=7 comm=app wait=memory function=mem_cgroup_handle_over_high threads=1 *2
-- no: thread_wait pid=7 comm=app wait=run threads=1 *18 @2
-- Two tenths of a thread: memory should not be waited for at all.
SELECT run, host, comm, steady(sum(threads)) AS waiting, 100 * sum(threads) / sum(at_work) AS share, arg_max(function, threads) AS function
FROM thread_wait_mean
WHERE wait = 'memory' AND looks >= 3 AND seen_s >= 3 AND is_subject
GROUP BY run, host, comm
HAVING sum(threads) >= 0.2
ORDER BY waiting DESC, run, host, comm
