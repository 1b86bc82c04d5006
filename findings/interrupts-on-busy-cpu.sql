-- title: Interrupts hit the CPU of the busiest process
-- severity: warning
-- section: interrupt
-- message: CPU {cpu} handled {share:%} of all device interrupts ({rate:/s}), and {comm} (process {pid}, {used:%} of a CPU) ran there in {there:%} of its samples.
-- advice: Interrupts and the process compete for the CPU: spread the interrupts (irqbalance, smp_affinity, more queues), or move the process.
-- ask: interrupts-by-cpu
-- impact: taken of the CPU's time
-- yes: irq irq=24 cpu=0 name=eth0 intr_per_s=20000 *30
-- yes: irq irq=25 cpu=1 name=eth1 intr_per_s=100 *30
-- yes: process pid=9 comm=server cpu=90 last_cpu=0 *30
-- no: irq irq=24 cpu=0 name=eth0 intr_per_s=20000 *30
-- no: irq irq=25 cpu=1 name=eth1 intr_per_s=100 *30
-- no: process pid=9 comm=server cpu=90 last_cpu=3 *30
--
-- no: irq irq=24 cpu=0 name=eth0 intr_per_s=10000 *30
-- no: irq irq=25 cpu=1 name=eth1 intr_per_s=10000 *30
-- no: process pid=9 comm=server cpu=90 last_cpu=0 *30
--
-- no: sched cpus_online=2 *30
-- no: irq irq=24 cpu=0 name=eth0 intr_per_s=20000 *30
-- no: irq irq=25 cpu=1 name=eth1 intr_per_s=100 *30
-- no: process pid=9 comm=server cpu=90 last_cpu=0 *17
-- no: process pid=9 comm=server cpu=90 last_cpu=1 *13 @17
--
-- no: irq irq=24 cpu=0 name=eth0 intr_per_s=20000 *30
-- no: irq irq=25 cpu=1 name=eth1 intr_per_s=100 *30
-- no: process pid=9 comm=server cpu=90 threads=20 last_cpu=0 *30
--
-- no: irq irq=24 cpu=0 name=eth0 intr_per_s=20000 *30
-- no: irq irq=25 cpu=1 name=eth1 intr_per_s=100 *30
-- no: cpu cpu=0 usr=90 irq=1 softirq=2 idle=7 *30
-- no: process pid=9 comm=server cpu=90 last_cpu=0 *30
--
-- no: irq irq=LOC cpu=0 name=timer intr_per_s=20000 *30
-- no: process pid=9 comm=server cpu=90 last_cpu=0 *30
-- Only interrupts with a number: those with names (LOC, RES) belong to each CPU. At 5000 a second and some
-- microseconds each, they take a few percent of a CPU: below 5 % where the kernel counts it. Four fifths on one CPU is no spreading. Of two CPUs a process is on
-- either for half of the time anyway: it counts where it is there clearly more often. The CPU of a process is that of its main thread,
-- which does not cover the others.
WITH per_cpu AS (
    SELECT run, host, cpu, sum(intr_per_s * dt) AS n, max(epoch_us(t)) - min(epoch_us(t)) AS us
    FROM irq
    WHERE cpu IS NOT NULL AND TRY_CAST(irq AS BIGINT) IS NOT NULL
    GROUP BY run, host, cpu
), placed AS (
    SELECT run, host, cpu, n, 100 * n / nullif(sum(n) OVER (PARTITION BY run, host), 0) AS share,
        n / nullif(max(us) OVER (PARTITION BY run, host) / 1e6, 0) AS rate
    FROM per_cpu
), busy AS (
    SELECT run, host, pid, comm, sum(cpu * dt) AS cpu_s, wmean(cpu, dt) AS used
    FROM process
    WHERE pid IS NOT NULL AND last_cpu IS NOT NULL
    GROUP BY run, host, pid, comm
    HAVING coalesce(max(threads), 1) <= 1
), busiest AS (
    SELECT * FROM busy WHERE used >= 50 QUALIFY row_number() OVER (PARTITION BY run, host ORDER BY cpu_s DESC, pid) = 1
), places AS (
    SELECT p.run, p.host, p.pid, CAST(last_cpu AS VARCHAR) AS cpu,
        100 * sum(p.dt) / sum(sum(p.dt)) OVER (PARTITION BY p.run, p.host, p.pid) AS there
    FROM process p JOIN busiest b ON p.run = b.run AND p.host = b.host AND p.pid = b.pid
    GROUP BY p.run, p.host, p.pid, last_cpu
), machines AS (
    SELECT run, host, max(cpus_online) AS cpus FROM sched GROUP BY run, host
), handled AS (
    SELECT run, host, CAST(c.cpu AS VARCHAR) AS cpu, wmean(coalesce(irq, 0) + softirq, dt) AS taken FROM cpu c WHERE c.cpu IS NOT NULL GROUP BY run, host, c.cpu
)
SELECT run, host, cpu, share, rate, comm, pid, used, there, taken
FROM placed JOIN places USING (run, host, cpu) JOIN busiest USING (run, host, pid) LEFT JOIN machines USING (run, host) LEFT JOIN handled USING (run, host, cpu)
WHERE coalesce(taken >= 5, true) AND share >= 80 AND rate >= 5000 AND there >= greatest(50, coalesce(100.0 / cpus + 25, 50))
ORDER BY rate DESC, run, host
