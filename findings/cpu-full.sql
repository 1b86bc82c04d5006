-- title: All CPUs are busy
-- severity: warning
-- section: cpu
-- message: The CPUs were at least 95 % busy for {full_s:s} of {seen_s:s}, {usr:%} in user code{of_nice}, {sys:%} in the kernel.
-- advice: Nothing recorded shows whether tasks waited for a CPU, so it may be load that is meant to fill the machine: look at the run queue, at pressure (PSI) or at which processes use the CPUs.
-- ask: cpu-time
-- kind: symptom
-- part: on CPU; run queue
-- impact: full_s / seen_s of the time
-- names: process, function
-- causes: cpu-neighbour (another program), steal (time that the hypervisor took), one-thread-saturated (one thread)
-- yes: cpu usr=90 sys=8 idle=2 *30
--
-- yes: cpu usr=2 nice=88 sys=8 idle=2 *30
--
-- yes: cpu cpu=0 usr=99 idle=1 *30
-- yes: cpu cpu=1 usr=99 idle=1 *30
-- no: cpu usr=80 sys=8 idle=12 *30
--
-- no: cpu cpu=0 usr=99 idle=1 *30
-- no: cpu cpu=1 usr=50 idle=50 *30
--
-- no: cpu cpu=3 usr=99 idle=1 *30
-- no: cpu cpu=17 usr=99 idle=1 *30
--
-- no: cpu usr=5 sys=3 iowait=92 idle=0 *30
--
-- no: cpu usr=90 sys=8 idle=2 *30
-- no: sched runnable=2 cpus_online=4 *30
-- Half of the run: a utilisation of 95 % leaves next to nothing. Rules about queues and pressure know more, and speak where these were recorded. Of a list of single CPUs nothing
-- is reported unless it has all of them from the first on: others may be idle.
WITH lists AS (
    SELECT run, host, bool_or(cpu IS NULL) AS has_whole, count(DISTINCT TRY_CAST(cpu AS BIGINT)) AS cpus, max(TRY_CAST(cpu AS BIGINT)) AS last
    FROM cpu GROUP BY run, host
), whole AS (
    SELECT c.run, c.host, t, max(dt) AS dt, avg(idle + coalesce(iowait, 0)) AS idle, avg(usr) AS usr, avg(nice) AS nice, avg(sys) AS sys
    FROM cpu_use c JOIN lists l ON l.run = c.run AND l.host = c.host
    WHERE CASE WHEN has_whole THEN cpu IS NULL ELSE cpus > 1 AND cpus = last + 1 END
    GROUP BY c.run, c.host, t
), hosts AS (
    SELECT run, host, sum(CASE WHEN idle <= 5 THEN dt ELSE 0 END) AS full_s, sum(dt) AS seen_s, wmean(usr, dt) AS usr, wmean(nice, dt) AS nice, coalesce(wmean(sys, dt), 0) AS sys
    FROM whole
    GROUP BY run, host
), queues AS (
    SELECT run, host FROM cpu_demand WHERE cpus IS NOT NULL
    UNION
    SELECT run, host FROM pressure WHERE resource = 'cpu'
)
SELECT h.run, h.host, full_s, seen_s, coalesce(usr, 0) + coalesce(nice, 0) AS usr, sys, nice,
    CASE WHEN nice >= usr THEN ', most of it at lowered priority (nice)' ELSE '' END AS of_nice
FROM hosts h
WHERE full_s >= 0.5 * seen_s AND full_s >= 3 AND NOT EXISTS (SELECT 1 FROM queues q WHERE q.run = h.run AND q.host = h.host)
ORDER BY full_s DESC, h.run, h.host
