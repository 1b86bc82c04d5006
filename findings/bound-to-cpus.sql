-- title: A program may use few of the CPUs
-- severity: warning
-- section: cpu
-- message: {comm} may run on {allowed} of {cpus} CPUs; it used {used:CPU} of them, and waited for a CPU for {waited:%} of the time that it wanted one, while {idle:CPU} were idle.
-- advice: Its affinity (taskset), its cpuset, or a fence keeps it there: see `taskset -pc PID` and cpuset.cpus of its cgroup, and give it more CPUs if that was not meant.
-- ask: top-processes
-- comparison: warn
-- explains: cpu-pressure, cpu-queue, one-cpu-saturated, one-thread-saturated, db-run-queue, context-switch-storm
-- part: run queue
-- impact: waited of the time
-- yes: sched cpus_online=4 *20
-- yes: cpu usr=25 idle=75 *20
-- yes: process pid=7 comm=app cpu=99 run_queue_wait=290 cpus_allowed=1 threads=4 *20
-- no: sched cpus_online=4 *20
-- no: cpu usr=25 idle=75 *20
-- no: process pid=7 comm=app cpu=99 run_queue_wait=290 cpus_allowed=4 threads=4 *20
--
-- no: sched cpus_online=4 *20
-- no: cpu usr=25 idle=75 *20
-- no: process pid=7 comm=app cpu=40 run_queue_wait=20 cpus_allowed=1 threads=4 *20
--
-- no: sched cpus_online=4 *20
-- no: cpu usr=99 idle=1 *20
-- no: process pid=7 comm=app cpu=99 run_queue_wait=290 cpus_allowed=1 threads=4 *20
--
-- no: sched cpus_online=4 *20
-- no: cpu usr=25 idle=75 *20
-- no: process pid=7 comm=app cpu=99 run_queue_wait=2 cpus_allowed=1 threads=1 *20
-- Nine tenths of its CPUs and a third of the time that it wants to run, while a third of another CPU is idle: one thread alone on its CPU is none.
WITH spans AS (
    SELECT run, host, sum(dt) AS seen_s, max(cpus_online) AS cpus FROM sched GROUP BY run, host
), machines AS (
    SELECT run, host, wmean(idle + coalesce(iowait, 0), dt) AS free_pct
    FROM cpu c
    WHERE cpu IS NULL OR NOT EXISTS (SELECT 1 FROM cpu a WHERE a.run = c.run AND a.host = c.host AND a.cpu IS NULL)
    GROUP BY run, host
), programs AS (
    SELECT run, host, comm, max(cpus_allowed) AS allowed, sum(cpu * dt) AS ran, sum(run_queue_wait * dt) AS wanted
    FROM process JOIN subject_process USING (run, host, pid, comm) WHERE cpus_allowed IS NOT NULL GROUP BY run, host, comm
)
SELECT p.run, p.host, p.comm, CAST(p.allowed AS BIGINT) AS allowed, CAST(s.cpus AS BIGINT) AS cpus, p.ran / s.seen_s / 100 AS used, 100 * p.wanted / (p.ran + p.wanted) AS waited,
    m.free_pct * s.cpus / 100 AS idle
FROM programs p
JOIN spans s ON s.run = p.run AND s.host = p.host
JOIN machines m ON m.run = p.run AND m.host = p.host
WHERE p.allowed < s.cpus AND p.ran / s.seen_s >= 80 * p.allowed AND p.wanted >= 0.33 * (p.ran + p.wanted) AND m.free_pct * s.cpus >= 30 AND s.seen_s >= 3
ORDER BY p.wanted DESC, p.run, p.host, p.comm
