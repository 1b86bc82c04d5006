-- title: Most waits
-- severity: info
-- section: process
-- message: {comm} for {wait}{function} {share:%} of its threads' time
-- yes: sched cpus_online=4 *9
-- yes: thread_wait pid=7 comm=app wait=lock function=futex_do_wait threads=3 role=command *9
-- yes: thread_wait pid=7 comm=app wait=run threads=1 role=command *9
-- no: sched cpus_online=4 *9
-- no: thread_wait pid=7 comm=app wait=run threads=1 *9
--
-- no: sched cpus_online=4 *9
-- no: thread_wait pid=7 comm=app wait=lock function=futex_do_wait threads=0.05 *9
--
-- no: sched cpus_online=4 *9
-- no: thread_wait pid=7 comm=server wait=lock function=futex_do_wait threads=8 *9
-- Of the measured programs, or all where none is; a quarter of the program's threads' time, and a fifth of a thread.
-- Where few of those surely wait for a mutex, they may wait for work. A pool that waits for work waits for a lock or for its peer as well: these count of a recorded command only.
SELECT run, host, comm, CASE WHEN wait = 'lock' AND max(mutex) < 0.5 THEN 'a lock or work' ELSE wait END AS wait, CASE WHEN any_value(function) IS NULL THEN '' ELSE concat(' (', arg_max(function, threads), ')') END AS function,
    100 * sum(threads) / sum(at_work) AS share, sum(threads) AS waiting
FROM thread_wait_mean
WHERE wait NOT IN ('run', 'child', 'poll', 'sleep') AND is_subject AND (role = 'command' OR wait NOT IN ('lock', 'receive', 'accept'))
GROUP BY run, host, comm, thread_wait_mean.wait
HAVING sum(threads) >= 0.2 AND sum(threads) >= 0.25 * sum(at_work)
ORDER BY waiting DESC, run, host, comm, thread_wait_mean.wait
