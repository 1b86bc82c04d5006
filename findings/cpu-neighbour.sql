-- title: Another program takes the CPUs
-- severity: warning
-- section: cpu
-- says: {comm} used {used:CPU} on average, while {victim} could run and had no CPU for {waited:%} of the time that it wanted one.
-- advice: Move or stop the other program, or give what is measured CPUs of its own (fenxi fence, taskset, cgroup weights). Batch work at low priority disturbs less.
-- ask: top-processes
-- comparison: warn
-- explains: cpu-pressure, cpu-queue, db-run-queue, db-cpu-bound, context-switch-storm
-- part: run queue
-- impact: late of the time
-- yes: sched cpus_online=4 *20
-- yes: process pid=7 comm=app cpu=100 run_queue_wait=60 *20
-- yes: thread_wait pid=7 comm=app wait=run threads=2 role=command *20
-- yes: process pid=9 comm=burn cpu=300 run_queue_wait=60 *20
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=app cpu=390 run_queue_wait=400 *20
-- no: thread_wait pid=7 comm=app wait=run threads=8 role=command *20
-- no: process pid=9 comm=burn cpu=10 run_queue_wait=6 *20
--
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=app cpu=100 run_queue_wait=1 *20
-- no: thread_wait pid=7 comm=app wait=run threads=1 role=command *20
-- no: process pid=9 comm=burn cpu=200 run_queue_wait=1 *20
--
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=app cpu=100 run_queue_wait=60 *20
-- no: process pid=9 comm=burn cpu=300 run_queue_wait=60 *20
-- What is measured is what the recorder started, or the database server that it observed: elsewhere nobody knows who disturbs whom. The
-- load driver is no neighbour. A sixth of all CPUs, and a fifth of the time that the measured program wants to run.
WITH spans AS (
    SELECT run, host, sum(dt) AS seen_s, max(cpus_online) AS cpus FROM sched GROUP BY run, host
), victims AS (
    SELECT p.run, p.host, arg_max(comm, run_queue_wait) AS victim, sum(cpu * dt) AS ran, sum(run_queue_wait * dt) AS waited
    FROM process p JOIN measured_process m ON m.run = p.run AND m.host = p.host AND m.pid = p.pid
    GROUP BY p.run, p.host
), others AS (
    SELECT run, host, comm, sum(cpu * dt) AS used
    FROM process p
    WHERE comm <> '(exited)' AND comm NOT IN (SELECT comm FROM load_driver)
        AND NOT EXISTS (SELECT 1 FROM measured_process m WHERE m.run = p.run AND m.host = p.host AND m.pid = p.pid)
    GROUP BY run, host, comm
)
SELECT o.run, o.host, o.comm, o.used / s.seen_s / 100 AS used, v.victim, 100 * v.waited / nullif(v.ran + v.waited, 0) AS waited, v.waited / s.seen_s AS late
FROM others o JOIN spans s ON s.run = o.run AND s.host = o.host JOIN victims v ON v.run = o.run AND v.host = o.host
WHERE o.used / s.seen_s >= 100 * s.cpus / 6 AND v.waited >= 0.2 * (v.ran + v.waited) AND v.waited / s.seen_s >= 20 AND s.seen_s >= 3
ORDER BY used DESC, o.run, o.host, o.comm
