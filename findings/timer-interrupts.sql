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
-- yes: irq irq=LOC cpu=0 name="Local timer interrupts" intr_per_s=30000 *5
-- yes: irq irq=LOC cpu=0 name="Local timer interrupts" intr_per_s=300 *5 @5
-- yes: irq irq=LOC cpu=1 name="Local timer interrupts" intr_per_s=300 *5
-- yes: irq irq=LOC cpu=1 name="Local timer interrupts" intr_per_s=30000 *5 @5
-- yes: cpu cpu=0 usr=70 sys=29 idle=1 *5
-- yes: cpu cpu=0 usr=1 sys=1 idle=98 *5 @5
-- yes: cpu cpu=1 usr=1 sys=1 idle=98 *5
-- yes: cpu cpu=1 usr=70 sys=29 idle=1 *5 @5
-- no: irq irq=LOC cpu=0 name="Local timer interrupts" intr_per_s=30000 *2
-- no: irq irq=LOC cpu=0 name="Local timer interrupts" intr_per_s=300 *8 @2
-- no: cpu cpu=0 usr=70 sys=29 idle=1 *10
-- A program that is moved takes its timer along: each second has its own CPU.
-- Ten thousand a second are some percent of a CPU, as a load generator's pauses make them: a tenth of the CPU time in interrupts is more. On one with time left they are the ends of short sleeps, which harm none.
WITH moments AS (
    SELECT i.run, i.host, i.t, i.dt, i.cpu, i.intr_per_s AS rate, 100 - c.idle - coalesce(c.iowait, 0) AS busy,
        row_number() OVER (PARTITION BY i.run, i.host, i.t ORDER BY i.intr_per_s DESC, i.cpu) AS place
    FROM irq i JOIN cpu c ON c.run = i.run AND c.host = i.host AND c.t = i.t AND c.cpu = i.cpu
    WHERE i.cpu IS NOT NULL AND (i.irq = 'LOC' OR lower(i.name) LIKE '%arch_timer%')
), timers AS (
    SELECT run, host, min(cpu) AS cpu, wmean(rate, dt) AS rate, wmean(busy, dt) AS busy, sum(dt) AS storm_s, any_value(seen_s) AS seen_s
    FROM (SELECT *, sum(dt) OVER (PARTITION BY run, host) AS seen_s FROM moments WHERE place = 1) firsts
    WHERE rate >= 10000 AND busy >= 80
    GROUP BY run, host
), interrupts AS (
    SELECT run, host, 100 * sum(share) AS share FROM on_cpu WHERE entry = 'interrupt' GROUP BY run, host HAVING sum(samples) >= 10
)
SELECT t.run, t.host, t.cpu, t.rate, t.busy, i.share, CASE WHEN coalesce(i.share >= 10, t.rate >= 25000) THEN 'warning' ELSE 'info' END AS severity
FROM timers t
LEFT JOIN interrupts i ON i.run = t.run AND i.host = t.host
WHERE t.storm_s >= 3 AND t.storm_s >= 0.5 * t.seen_s
ORDER BY t.rate DESC, t.run, t.host
