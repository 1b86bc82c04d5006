-- title: One CPU is saturated while others are idle
-- severity: warning
-- section: cpu
-- message: CPU {cpu} was at least 95 % busy for {full_s:s} of {seen_s:s} ({cpu_busy:%} on average){beside}[; {waiting} tasks waited for a CPU all the same: they may use this one only].
-- advice: A single thread or an interrupt bound to one CPU is the bottleneck: spread the work or the interrupts, make it cheaper, or accept the limit. Where several tasks wait for it, see their affinity (`taskset -pc PID`) and cpuset. Where no function is named, a recording with `--source +profile` names it. Harmless for a single-threaded job without a deadline.
-- ask: hottest-cpu
-- impact: full_s / seen_s of the time
-- names: process, function
-- yes: cpu cpu=0 usr=99 idle=1 *30
-- yes: cpu cpu=1 usr=4 idle=96 *30
-- yes: cpu cpu=2 usr=4 idle=96 *30
-- yes: cpu usr=36 idle=64 *30
--
-- yes: cpu cpu=0 usr=99 idle=1 *30
-- yes: cpu cpu=1 usr=40 idle=60 *30
-- yes: sched cpus_online=2 runnable=7.5 *30
--
-- yes: cpu cpu=0 usr=1 idle=99 *30
-- yes: cpu cpu=32 usr=8 idle=92 *30
-- yes: cpu cpu=48 usr=100 idle=0 *30
-- no: cpu cpu=0 usr=99 idle=1 *30
-- no: cpu cpu=1 usr=99 idle=1 *30
-- no: cpu cpu=2 usr=99 idle=1 *30
--
-- no: cpu cpu=0 usr=99 idle=1 *3
-- no: cpu cpu=0 usr=30 idle=70 *27 @3
-- no: cpu cpu=1 usr=1 idle=99 *30
--
-- no: cpu cpu=0 usr=99 *30
--
-- no: sched cpus_online=2 *30
-- no: process pid=7 comm=gzip cpu=100 threads=1 *30
-- no: thread_wait pid=7 comm=gzip wait=run threads=1 role=command *30
-- no: cpu cpu=0 usr=99 idle=1 *30
-- no: cpu cpu=1 usr=4 idle=96 *30
--
-- no: cpu cpu=0 usr=99 idle=1 *2
-- no: cpu cpu=0 usr=99 idle=1 *2
-- no: cpu cpu=1 usr=1 idle=99 *2
-- Half of the time at 95 %: the average of a whole machine hides one full CPU (USE method: look at utilisation per
-- CPU, not only at the mean). With the others below 50 %, one of them would have been free.
-- Tasks in the run queue beyond those that run go to a CPU that is idle, unless they may not: four more, as samplers wake up together.
-- A recorded command that is one thread and computes fills it as designed.
-- Of a list that leaves CPUs out, what those did is unknown.
WITH per_cpu AS (
    SELECT run, host, cpu, wmean(100 - idle - coalesce(iowait, 0) - coalesce(steal, 0), dt) AS cpu_busy,
        sum(CASE WHEN 100 - idle - coalesce(iowait, 0) - coalesce(steal, 0) >= 95 THEN dt ELSE 0 END) AS full_s, sum(dt) AS seen_s
    FROM cpu_use
    WHERE cpu IS NOT NULL
    GROUP BY run, host, cpu
), beside AS (
    SELECT *, (sum(cpu_busy) OVER machine - cpu_busy) / nullif(count(*) OVER machine - 1, 0) AS others,
        sum(cpu_busy) OVER machine / 100 AS all_busy,
        count(*) OVER machine AS known, max(TRY_CAST(cpu AS BIGINT)) OVER machine + 1 AS numbered
    FROM per_cpu
    WINDOW machine AS (PARTITION BY run, host)
), machine AS (
    SELECT run, host, max(cpus_online) AS cpus FROM sched GROUP BY run, host
), demand AS (
    SELECT run, host, wmean(queue, dt) AS queue FROM cpu_demand GROUP BY run, host
)
SELECT b.run, b.host, cpu, cpu_busy, full_s, seen_s, CASE WHEN known >= coalesce(cpus, numbered, known) THEN others END AS others,
    CASE WHEN known >= coalesce(cpus, numbered, known) THEN concat(', while the others were ', CAST(CAST(round(others) AS BIGINT) AS VARCHAR), '% busy')
        ELSE concat('; of at least ', CAST(CAST(coalesce(cpus, numbered) AS BIGINT) AS VARCHAR), ' CPUs ', CAST(known AS VARCHAR), ' are known') END AS beside,
    CASE WHEN known >= coalesce(cpus, numbered, known) AND d.queue - all_busy >= 4 THEN steady(d.queue - all_busy) END AS waiting
FROM beside b LEFT JOIN machine m ON m.run = b.run AND m.host = b.host LEFT JOIN demand d ON d.run = b.run AND d.host = b.host LEFT JOIN lone_command l ON l.run = b.run AND l.host = b.host
WHERE l.run IS NULL AND full_s >= 0.5 * seen_s AND full_s >= 3 AND others < 50
ORDER BY full_s DESC, cpu_busy DESC, b.run, b.host, cpu
