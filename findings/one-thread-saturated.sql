-- title: One thread saturates a CPU while others are idle
-- severity: warning
-- section: process
-- message: {comm} (process {pid}, thread {tid}) used at least 95 % of one CPU for {full_s:s} of {run_s:s}, while all CPUs together were {machine:%} busy.
-- advice: This thread is the bottleneck of whatever waits for it; more CPUs do not help, a profile of it does. Harmless if nothing waits for it.
-- ask: top-processes
-- impact: full_s / run_s of the time
-- names: function
-- yes: process pid=7 comm=single cpu=100 threads=1 *30
-- yes: cpu cpu=0 usr=99 idle=1 *30
-- yes: cpu cpu=1 idle=100 *30
-- yes: cpu cpu=2 idle=100 *30
--
-- yes: thread pid=7 tid=8 comm=worker cpu=99 *30
-- yes: cpu idle=70 *30
-- no: process pid=7 comm=many cpu=100 threads=16 *30
-- no: cpu idle=70 *30
--
-- no: process pid=7 comm=single cpu=100 threads=1 *30
-- no: cpu idle=2 *30
--
-- no: process pid=7 comm=single cpu=100 threads=1 *2
-- no: cpu idle=75 *30
--
-- yes: sched cpus_online=4 *30
-- yes: process pid=7 comm=stage cpu=100 threads=1 *30
-- yes: process pid=8 comm=stage cpu=9 threads=1 *30
-- yes: thread_wait pid=7 comm=stage wait=run threads=1 role=command *30
-- yes: thread_wait pid=8 comm=stage wait=receive threads=1 role=command *30
-- yes: cpu idle=70 *30
-- no: sched cpus_online=4 *30
-- no: process pid=7 comm=gzip cpu=100 threads=1 *30
-- no: thread_wait pid=7 comm=gzip wait=run threads=1 role=command *30
-- no: cpu idle=70 *30
-- A process counts when it has one thread, which is as good as seeing the thread. Idle moments have no row, so that
-- the share is one of the host's time. Below 75 % for the machine, there were CPUs to be had, of two as of many.
-- A recorded command that is one thread and computes fills its CPU as designed: that is reported as information, and is no problem.
WITH one AS (
    SELECT run, host, pid, tid, comm, dt, cpu AS used FROM thread SEMI JOIN subject_process USING (run, host, pid)
    UNION ALL
    SELECT run, host, pid, pid AS tid, comm, dt, cpu AS used FROM process
    SEMI JOIN subject_process USING (run, host, pid)
    ANTI JOIN thread USING (run, host, pid)
    WHERE threads = 1
), per_thread AS (
    SELECT run, host, pid, tid, comm, sum(CASE WHEN used >= 95 THEN dt ELSE 0 END) AS full_s FROM one GROUP BY run, host, pid, tid, comm
), machines AS (
    SELECT run, host, wmean(100 - idle - coalesce(iowait, 0), dt) AS machine, sum(dt) / count(DISTINCT coalesce(cpu, '')) AS run_s
    FROM cpu c
    WHERE cpu IS NULL OR NOT EXISTS (SELECT 1 FROM cpu a WHERE a.run = c.run AND a.host = c.host AND a.cpu IS NULL)
    GROUP BY run, host
)
SELECT run, host, comm, pid, tid, full_s, run_s, machine
FROM per_thread JOIN machines USING (run, host)
ANTI JOIN lone_command USING (run, host, pid)
WHERE full_s >= 0.5 * run_s AND full_s >= 3 AND machine < 75
ORDER BY full_s DESC, run, host, pid, tid
