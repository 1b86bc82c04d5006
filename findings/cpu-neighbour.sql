-- title: Another program takes the CPUs
-- severity: warning
-- section: cpu
-- message: {comm} used {used:CPU} on average, while {victim} could run and had no CPU for {waited:%} of the time that it wanted one.
-- advice: Move or stop the other program, or isolate CPUs for what is measured (fenxi fence, taskset, cgroup weights). Batch work at low priority disturbs less.
-- ask: top-processes
-- comparison: warn
-- explains: cpu-pressure, cpu-queue, db-run-queue, db-cpu-bound, context-switch-storm
-- part: run queue
-- impact: late of the time
-- yes: sched cpus_online=4 *20
-- yes: process pid=7 comm=app cpu=100 run_queue_wait=60 *20
-- yes: thread_wait pid=7 comm=app wait=run threads=2 role=command *20
-- yes: process pid=9 comm=burn cpu=300 run_queue_wait=60 *20
-- yes: sched cpus_online=2 *20
-- yes: process pid=7 comm=gzip cpu=40 run_queue_wait=100 *1
-- yes: process pid=8 comm=gzip cpu=40 run_queue_wait=100 *1 @5
-- yes: thread_wait pid=7 comm=gzip wait=run threads=1 role=command *1
-- yes: thread_wait pid=8 comm=gzip wait=run threads=1 role=command *1 @5
-- yes: thread_wait pid=17 comm=gzip wait=run threads=1 role=command *18 @2
-- yes: process pid=9 comm=burn cpu=160 run_queue_wait=60 *20
--
-- yes: sched cpus_online=2 *20
-- yes: process pid=7 comm=postgres cpu=6 run_queue_wait=10 *20
-- yes: db server=localhost samples=10 *20
-- yes: process pid=9 comm=gzip cpu=90 run_queue_wait=60 *20
--
-- yes: sched runnable=9 *20
-- yes: cpu cpu=0 usr=99 idle=1 *20
-- yes: cpu cpu=1 usr=99 idle=1 *20
-- yes: db commits_per_s=100 *20
-- yes: process pid=7 comm=postgres cpu=40 run_queue_wait=80 *20
-- yes: process pid=9 comm=sh cpu=90 run_queue_wait=60 *20
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
-- no: sched cpus_online=2 *20
-- no: process pid=7 comm=postgres cpu=12 run_queue_wait=6 *20
-- no: db server=localhost samples=10 *20
-- no: process pid=9 comm=gzip cpu=90 run_queue_wait=60 *20
--
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=app cpu=100 run_queue_wait=60 *20
-- no: process pid=9 comm=burn cpu=300 run_queue_wait=60 *20
-- What is measured is what the recorder started, or the database server that it observed: without one, which program disturbs which is unknown. The
-- load driver is no neighbour. A sixth of all CPUs, and a fifth of the time that the measured program wants to run; more than half
-- of it, where that is a program of short turns. Of processes that
-- live shortly some are seen: how long they wait is known from these, how much they want to run from samples of all threads.
WITH victims AS (
    SELECT p.run, p.host, arg_max(comm, run_queue_wait) AS victim, sum(cpu * dt) AS ran, sum(run_queue_wait * dt) AS waited
    FROM process p JOIN measured_process m ON m.run = p.run AND m.host = p.host AND m.pid = p.pid
    GROUP BY p.run, p.host
), others AS (
    SELECT run, host, comm, sum(cpu * dt) AS used
    FROM process p
    WHERE comm <> '(exited)' AND comm NOT IN (SELECT comm FROM load_driver)
        AND NOT EXISTS (SELECT 1 FROM measured_process m WHERE m.run = p.run AND m.host = p.host AND m.pid = p.pid)
    GROUP BY run, host, comm
), wants AS (
    SELECT run, host, sum(threads) AS threads FROM thread_wait_mean WHERE role = 'command' AND wait = 'run' GROUP BY run, host
), late AS (
    SELECT v.run, v.host, v.victim, 100 * v.waited / (v.ran + v.waited) AS waited, s.seen_s, s.cpus,
        greatest(v.waited / s.seen_s, 100 * coalesce(w.threads, 0) * v.waited / (v.ran + v.waited)) AS late
    FROM victims v JOIN host_span s ON s.run = v.run AND s.host = v.host LEFT JOIN wants w ON w.run = v.run AND w.host = v.host
    WHERE v.ran + v.waited > 0
)
SELECT o.run, o.host, o.comm, o.used / l.seen_s / 100 AS used, l.victim, l.waited, round(l.late, 6) AS late
FROM others o JOIN late l ON l.run = o.run AND l.host = o.host
WHERE o.used / l.seen_s >= 100 * l.cpus / 6 AND (l.waited >= 20 AND l.late >= 20 OR l.waited >= 50 AND l.late >= 5) AND l.seen_s >= 3
ORDER BY used DESC, o.run, o.host, o.comm
