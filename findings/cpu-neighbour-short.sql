-- title: Short processes of another program take the CPUs
-- severity: warning
-- section: cpu
-- message: Processes that {comm} (process {pid}) started and that ended at once used {used:CPU} on average, while {victim} had no CPU for {waited:%} of the time that it wanted one.
-- advice: A job, a script of somebody's timer, a monitor: it is in no list of processes, as each has ended before the next sample. Give it a lower priority or another time, or isolate CPUs for what is measured (fenxi fence, cgroup weights).
-- ask: top-processes
-- comparison: warn
-- explains: cpu-pressure, cpu-queue, db-run-queue, db-cpu-bound, context-switch-storm, short-processes, many-forks
-- part: run queue
-- impact: waited of the time
-- yes: sched cpus_online=2 forks_per_s=20 *20
-- yes: process pid=7 comm=postgres cpu=60 run_queue_wait=40 *20
-- yes: db server=localhost samples=10 *20
-- yes: process pid=9 comm=bash cpu=1 children_cpu=70 *20
-- no: sched cpus_online=2 forks_per_s=20 *20
-- no: process pid=7 comm=postgres cpu=60 run_queue_wait=4 *20
-- no: db server=localhost samples=10 *20
-- no: process pid=9 comm=bash cpu=1 children_cpu=70 *20
--
-- no: sched cpus_online=2 forks_per_s=20 *20
-- no: process pid=7 comm=make cpu=1 run_queue_wait=1 children_cpu=150 *20
-- no: thread_wait pid=7 comm=make wait=child threads=1 role=command *20
-- no: process pid=8 comm=cc1 ppid=7 cpu=40 run_queue_wait=40 *20
-- no: thread_wait pid=8 comm=cc1 wait=run threads=1 role=command *20
--
-- no: sched cpus_online=2 forks_per_s=20 *20
-- no: process pid=7 comm=postgres cpu=60 run_queue_wait=40 *20
-- no: process pid=9 comm=bash cpu=1 children_cpu=70 *20
-- As cpu-neighbour, for what the parent gets when its children end: a sixth of all CPUs, and a fifth of the time that the measured program
-- wants to run. What a server's or a command's own processes start is its own.
WITH spans AS (
    SELECT run, host, sum(dt) AS seen_s, max(cpus_online) AS cpus FROM sched GROUP BY run, host
), victims AS (
    SELECT p.run, p.host, arg_max(comm, run_queue_wait) AS victim, sum(cpu * dt) AS ran, sum(run_queue_wait * dt) AS waited
    FROM process p JOIN measured_process m ON m.run = p.run AND m.host = p.host AND m.pid = p.pid
    GROUP BY p.run, p.host
), parents AS (
    SELECT run, host, pid, any_value(comm) AS comm, sum(children_cpu * dt) AS used
    FROM process p
    WHERE children_cpu > 0 AND pid > 1 AND comm NOT IN (SELECT comm FROM load_driver)
        AND NOT EXISTS (SELECT 1 FROM measured_process m WHERE m.run = p.run AND m.host = p.host AND m.pid = p.pid)
        AND NOT EXISTS (SELECT 1 FROM thread_wait w WHERE w.run = p.run AND w.host = p.host AND w.role = 'command' AND w.pid = p.pid)
    GROUP BY run, host, pid
)
SELECT o.run, o.host, o.comm, o.pid, o.used / s.seen_s / 100 AS used, v.victim, 100 * v.waited / (v.ran + v.waited) AS waited
FROM parents o JOIN spans s ON s.run = o.run AND s.host = o.host JOIN victims v ON v.run = o.run AND v.host = o.host
WHERE o.used / s.seen_s >= 100 * s.cpus / 6 AND v.waited >= 0.2 * (v.ran + v.waited) AND v.ran + v.waited > 0 AND v.waited >= 20 * s.seen_s AND s.seen_s >= 3
ORDER BY used DESC, o.run, o.host, o.pid
