-- title: Threads sleep and wake at a lock too often
-- severity: warning
-- section: process
-- message: Threads of {comm} (process {pid}) went to sleep {switches:/s} times for a lock or a condition; {sys:%} of its CPU time was spent in the kernel.
-- advice: The lock is held shortly and wanted all the time: each hand-over is a system call and a switch that cost more than the work. Find it with `fenxi trace plockstat -p PID`: take it less often (batches, a lock or a cache for each thread, for malloc an allocator made for threads), or use fewer threads. Work that is handed over piece by piece on a condition looks the same.
-- ask: thread-waits
-- explains: context-switch-storm, sys-time-high, cpu-pressure, cpu-queue
-- impact: sys of its CPU time
-- yes: sched cpus_online=2 *20
-- yes: process pid=7 comm=app cpu=170 usr=80 sys=90 threads=5 voluntary_switches_per_s=37000 *20
-- yes: thread_wait pid=7 comm=app wait=lock function=futex_do_wait threads=0.7 role=command *20
-- yes: thread_wait pid=7 comm=app wait=run threads=3 role=command *20
-- no: sched cpus_online=2 *20
-- no: process pid=7 comm=app cpu=170 usr=165 sys=5 threads=5 voluntary_switches_per_s=200 *20
-- no: thread_wait pid=7 comm=app wait=lock function=futex_do_wait threads=0.7 role=command *20
-- no: thread_wait pid=7 comm=app wait=run threads=3 role=command *20
--
-- no: sched cpus_online=2 *20
-- no: process pid=7 comm=server cpu=170 usr=80 sys=90 threads=50 voluntary_switches_per_s=37000 *20
-- no: thread_wait pid=7 comm=server wait=lock function=futex_do_wait threads=0.7 role=command *20
-- no: thread_wait pid=7 comm=server wait=receive function=wait_woken threads=5 role=command *20
-- no: thread_wait pid=7 comm=server wait=run threads=3 role=command *20
--
-- no: sched cpus_online=2 *20
-- no: process pid=7 comm=app cpu=170 usr=80 sys=90 threads=5 voluntary_switches_per_s=37000 *20
-- no: thread_wait pid=7 comm=app wait=run threads=3 role=command *20
--
-- yes: sched cpus_online=2 *20
-- yes: process pid=7 comm=app cpu=140 usr=106 sys=34 threads=5 voluntary_switches_per_s=80000 *20
-- yes: thread_wait pid=7 comm=app wait=lock function=futex_do_wait threads=1.3 mutex=1.2 role=command *20
-- yes: thread_wait pid=7 comm=app wait=run threads=2.4 role=command *20
-- no: sched cpus_online=2 *20
-- no: process pid=7 comm=app cpu=140 usr=106 sys=34 threads=5 voluntary_switches_per_s=80000 *20
-- no: thread_wait pid=7 comm=app wait=lock function=futex_do_wait threads=1.3 mutex=0 role=command *20
-- no: thread_wait pid=7 comm=app wait=run threads=2.4 role=command *20
-- Who sleeps for nothing but locks goes to sleep at them: a thousand times in a second of its CPU time and more is a switch for each
-- millisecond at most. Half of a CPU, and a quarter of its CPU time in the kernel: a tenth where half of the waits are surely for a mutex.
WITH used AS (
    SELECT run, host, pid, sum(cpu * dt) / 100 AS cpu_s, sum(sys * dt) / 100 AS sys_s, sum(voluntary_switches_per_s * dt) AS switches, sum(dt) AS seen_s
    FROM process GROUP BY run, host, pid
), waits AS (
    SELECT run, host, pid, any_value(comm) AS comm, any_value(seen_s) AS seen_s, coalesce(sum(threads) FILTER (wait = 'lock'), 0) AS at_lock, max(mutex) AS mutex, sum(threads) FILTER (wait <> 'run') AS waiting
    FROM thread_wait_mean WHERE is_subject GROUP BY run, host, pid
)
SELECT w.run, w.host, w.comm, w.pid, u.switches / w.seen_s AS switches, 100 * u.sys_s / u.cpu_s AS sys
FROM waits w JOIN used u ON u.run = w.run AND u.host = w.host AND u.pid = w.pid
WHERE w.at_lock >= 0.2 AND w.at_lock >= 0.9 * w.waiting AND u.switches >= 1000 * u.cpu_s AND u.sys_s >= CASE WHEN w.mutex >= 0.5 THEN 0.1 ELSE 0.25 END * u.cpu_s AND u.cpu_s >= 0.5 * w.seen_s AND w.seen_s >= 3
ORDER BY switches DESC, w.run, w.host, w.pid
