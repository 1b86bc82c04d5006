-- title: One CPU is saturated while others are idle
-- severity: warning
-- section: cpu
-- says: CPU {cpu} was at least 95 % busy for {full_s:s} of {seen_s:s} ({cpu_busy:%} on average), while the others were {others:%} busy.
-- advice: A single thread or an interrupt bound to one CPU is the bottleneck: check which process runs there, then spread the work or the interrupts, or accept the limit. Harmless for a single-threaded job without a deadline.
-- ask: hottest-cpu
-- impact: full_s / seen_s of the time
-- yes: cpu cpu=0 usr=99 idle=1 *30
-- yes: cpu cpu=1 usr=4 idle=96 *30
-- yes: cpu cpu=2 usr=4 idle=96 *30
-- yes: cpu usr=36 idle=64 *30
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
-- no: cpu cpu=0 usr=99 idle=1 *2
-- no: cpu cpu=0 usr=99 idle=1 *2
-- no: cpu cpu=1 usr=1 idle=99 *2
-- Half of the time at 95 %: the average of a whole machine hides one full CPU (USE method: look at utilisation per
-- CPU, not only at the mean). With the others below 50 %, one of them would have been free.
WITH per_cpu AS (
    SELECT run, host, cpu, wmean(100 - idle - coalesce(iowait, 0) - coalesce(steal, 0), dt) AS cpu_busy,
        sum(CASE WHEN 100 - idle - coalesce(iowait, 0) - coalesce(steal, 0) >= 95 THEN dt ELSE 0 END) AS full_s, sum(dt) AS seen_s
    FROM cpu_use
    WHERE cpu IS NOT NULL
    GROUP BY run, host, cpu
), beside AS (
    SELECT *, (sum(cpu_busy) OVER machine - cpu_busy) / nullif(count(*) OVER machine - 1, 0) AS others
    FROM per_cpu
    WINDOW machine AS (PARTITION BY run, host)
)
SELECT run, host, cpu, cpu_busy, full_s, seen_s, others
FROM beside
WHERE full_s >= 0.5 * seen_s AND full_s >= 3 AND others < 50
ORDER BY full_s DESC, cpu_busy DESC, run, host, cpu
