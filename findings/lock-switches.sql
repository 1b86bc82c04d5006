-- title: Threads sleep and wake at a lock too often
-- severity: warning
-- section: process
-- message: Threads of {comm} (process {pid}) went to sleep [{switches:/s} times ]for a lock or a condition; {sys:%} of its CPU time was spent in the kernel[, {futex:%} in the system call futex].
-- advice: The lock is held shortly and wanted all the time: each hand-over is a system call and a switch that cost more than the work. Find it with `fenxi trace plockstat -p PID`: take it less often (batches, a lock or a cache for each thread, for malloc an allocator made for threads), or use fewer threads. Work that is handed over piece by piece on a condition looks the same; where one item wakes all threads (broadcast, notify_all), wake one.
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
--
-- yes: sched cpus_online=2 *20
-- yes: process pid=7 comm=app cpu=128 usr=22 sys=106 threads=65 *20
-- yes: thread_wait pid=7 comm=app wait=lock function=futex_do_wait threads=55 mutex=24 role=command *20
-- yes: thread_wait pid=7 comm=app wait=run threads=8 role=command *20
-- yes: stack comm=app stack="main;do_syscall_64_[k];__x64_sys_futex_[k];futex_wake_[k]" samples=80 time_s=0.8 event=on-cpu *5
-- yes: stack comm=app stack="main;work" samples=20 time_s=0.2 event=on-cpu *5
-- no: sched cpus_online=2 *20
-- no: process pid=7 comm=app cpu=128 usr=22 sys=106 threads=65 *20
-- no: thread_wait pid=7 comm=app wait=lock function=futex_do_wait threads=55 mutex=24 role=command *20
-- no: thread_wait pid=7 comm=app wait=run threads=8 role=command *20
-- no: stack comm=app stack="main;do_syscall_64_[k];__x64_sys_write_[k];vfs_write_[k]" samples=80 time_s=0.8 event=on-cpu *5
-- no: stack comm=app stack="main;work" samples=20 time_s=0.2 event=on-cpu *5
-- Where stacks are, a third of the program's CPU time in futex(2) shows the same, also where switches are not counted.
-- Who sleeps for nothing but locks goes to sleep at them: a thousand times in a second of its CPU time and more is a switch for each
-- millisecond at most. Half of a CPU, and a quarter of its CPU time in the kernel: a tenth where half of the waits are surely for a mutex.
WITH used AS (
    SELECT run, host, pid, sum(cpu * dt) / 100 AS cpu_s, sum(sys * dt) / 100 AS sys_s, sum(voluntary_switches_per_s * dt) AS switches, sum(dt) AS seen_s
    FROM process GROUP BY run, host, pid
), waits AS (
    SELECT run, host, pid, any_value(comm) AS comm, any_value(seen_s) AS seen_s, coalesce(sum(threads) FILTER (wait = 'lock'), 0) AS at_lock, max(mutex) AS mutex, sum(threads) FILTER (wait <> 'run') AS waiting
    FROM thread_wait_mean WHERE is_subject GROUP BY run, host, pid
), calls AS (
    SELECT run, host, comm, 100 * sum(CASE WHEN entry = 'futex' THEN share ELSE 0 END) / sum(share) AS futex
    FROM on_cpu GROUP BY run, host, comm HAVING sum(samples) >= 20
)
SELECT w.run, w.host, w.comm, w.pid, u.switches / w.seen_s AS switches, 100 * u.sys_s / u.cpu_s AS sys, CASE WHEN c.futex >= 10 THEN c.futex END AS futex
FROM waits w JOIN used u ON u.run = w.run AND u.host = w.host AND u.pid = w.pid
LEFT JOIN calls c ON c.run = w.run AND c.host = w.host AND c.comm = w.comm
WHERE w.at_lock >= 0.2 AND w.at_lock >= 0.9 * w.waiting AND (u.switches >= 1000 * u.cpu_s OR c.futex >= 33) AND u.sys_s >= CASE WHEN w.mutex >= 0.5 THEN 0.1 ELSE 0.25 END * u.cpu_s AND u.cpu_s >= 0.5 * w.seen_s AND w.seen_s >= 3
ORDER BY switches DESC NULLS LAST, w.run, w.host, w.pid
