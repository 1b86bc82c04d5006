-- title: Timers interrupt a CPU very often
-- severity: warning
-- section: cpu
-- message: CPU {cpu} took {rate:/s} timer interrupts while it was {busy:%} busy[; {share:%} of the CPU time that was used went to interrupts].
-- advice: The kernel's own clock ticks at most 1000 times a second: a program has a timer with a short period (timer_create or setitimer with a signal handler, timerfd, short sleeps and timeouts), or a profiler samples too often. Make the period longer.
-- ask: interrupts-by-cpu
-- impact: share of the CPU time that was used
-- explains: sys-time-high
-- names: process
-- yes: irq irq=LOC cpu=0 name="Local timer interrupts" intr_per_s=30000 *10
-- yes: cpu cpu=0 usr=70 sys=29 idle=1 *10
-- yes: cpu cpu=1 usr=1 sys=1 idle=98 *10
-- no: irq irq=LOC cpu=0 name="Local timer interrupts" intr_per_s=1000 *10
-- no: cpu cpu=0 usr=70 sys=29 idle=1 *10
--
-- no: irq irq=LOC cpu=0 name="Local timer interrupts" intr_per_s=30000 *10
-- no: cpu cpu=0 usr=10 sys=10 idle=80 *10
--
-- no: irq irq=24 cpu=0 name=eth0 intr_per_s=30000 *10
-- no: cpu cpu=0 usr=70 sys=29 idle=1 *10
--
-- fact: irq irq=LOC cpu=0 name="Local timer interrupts" intr_per_s=15000 *10
-- fact: cpu cpu=0 usr=70 sys=29 idle=1 *10
-- Ten thousand a second are some percent of a CPU, as a load generator's pauses make them: a tenth of the CPU time in interrupts is more. On one with time left they are the ends of short sleeps, which harm none.
WITH timers AS (
    SELECT run, host, cpu, wmean(intr_per_s, dt) AS rate, sum(dt) AS seen_s
    FROM irq
    WHERE cpu IS NOT NULL AND (irq = 'LOC' OR lower(name) LIKE '%arch_timer%')
    GROUP BY run, host, cpu
), cpus AS (
    SELECT run, host, cpu, wmean(100 - idle - coalesce(iowait, 0), dt) AS busy FROM cpu c WHERE c.cpu IS NOT NULL GROUP BY run, host, cpu
), interrupts AS (
    SELECT run, host, 100 * sum(share) AS share FROM on_cpu WHERE entry = 'interrupt' GROUP BY run, host HAVING sum(samples) >= 10
)
SELECT t.run, t.host, t.cpu, t.rate, c.busy, i.share, CASE WHEN coalesce(i.share >= 10, t.rate >= 25000) THEN 'warning' ELSE 'info' END AS severity
FROM timers t JOIN cpus c ON c.run = t.run AND c.host = t.host AND c.cpu = t.cpu
LEFT JOIN interrupts i ON i.run = t.run AND i.host = t.host
WHERE t.rate >= 10000 AND c.busy >= 80 AND t.seen_s >= 3
ORDER BY t.rate DESC, t.run, t.host, t.cpu
