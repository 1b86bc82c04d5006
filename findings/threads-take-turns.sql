-- title: Threads of a program take turns on a lock
-- severity: warning
-- section: process
-- says: Of {working} threads of {comm} (process {pid}) that worked, {waiting} waited for a lock on average; together they used {cpu:%} of one CPU.
-- advice: One lock lets one thread work at a time, so that more threads or CPUs do not help. Find it with `fenxi trace plockstat -p PID`, then hold it for less, split it, or work without it. Threads that wait for work on a condition look the same: harmless if there was none.
-- ask: thread-waits
-- explains: context-switch-storm, sys-time-high, one-cpu-saturated
-- impact: share of its threads' time
-- yes: sched cpus_online=4 *20
-- yes: cpu usr=25 idle=75 *20
-- yes: process pid=7 comm=app cpu=100 threads=9 *20
-- yes: thread_wait pid=7 comm=app wait=lock function=futex_do_wait threads=6 *20
-- yes: thread_wait pid=7 comm=app wait=run threads=1 *20
-- no: sched cpus_online=4 *20
-- no: cpu usr=5 idle=95 *20
-- no: process pid=7 comm=idler cpu=10 threads=9 *20
-- no: thread_wait pid=7 comm=idler wait=lock function=futex_do_wait threads=6 *20
--
-- no: sched cpus_online=4 *20
-- no: cpu usr=90 idle=10 *20
-- no: process pid=7 comm=full cpu=360 threads=9 *20
-- no: thread_wait pid=7 comm=full wait=lock function=futex_do_wait threads=2 *20
-- no: thread_wait pid=7 comm=full wait=run threads=4 *20
--
-- no: sched cpus_online=4 *20
-- no: cpu usr=25 idle=75 *20
-- no: process pid=7 comm=server cpu=100 threads=9 *20
-- no: thread_wait pid=7 comm=server wait=receive function=wait_woken threads=7 *20
-- no: thread_wait pid=7 comm=server wait=lock function=futex_do_wait threads=0.5 *20
-- At least one more waits than runs, the program keeps about a CPU busy and not all that there are: the lock is what is full. A pool
-- without work uses little CPU.
WITH machines AS (
    SELECT run, host, max(cpus_online) AS cpus FROM sched GROUP BY run, host
)
SELECT w.run, w.host, comm, pid, steady(at_work) AS working, steady(w.threads) AS waiting, w.cpu, 100 * w.threads / at_work AS share
FROM thread_wait_mean w JOIN machines m ON m.run = w.run AND m.host = w.host
WHERE wait = 'lock' AND w.threads >= 1 AND w.threads >= 0.5 * at_work AND w.cpu BETWEEN 50 AND 60 * least(m.cpus, at_work) AND looks >= 5 AND seen_s >= 3 AND is_subject
ORDER BY waiting DESC, w.run, w.host, pid
