-- title: Softirqs saturate one CPU
-- severity: warning
-- section: interrupt
-- message: CPU {cpu} spent {in_irq:%} of its time in interrupts, the others {others:%}.
-- advice: Usually one queue of a network card is served by one CPU: use more queues (ethtool -L), RPS, or spread the interrupts.
-- ask: softirqs
-- impact: in_irq of one CPU's time
-- yes: cpu cpu=0 softirq=70 irq=2 idle=28 *30
-- yes: cpu cpu=1 softirq=2 irq=0 idle=90 *30
-- no: cpu cpu=0 softirq=30 irq=2 idle=28 *30
-- no: cpu cpu=1 softirq=28 irq=0 idle=90 *30
--
-- no: cpu cpu=0 softirq=2 idle=98 *30
-- no: cpu cpu=1 softirq=0 idle=98 *30
-- Half of a CPU, and four times the others: packets beyond that wait for this one CPU while others could take them.
WITH per_cpu AS (
    SELECT run, host, cpu, wmean(softirq + coalesce(irq, 0), dt) AS in_irq, sum(dt) AS seen_s
    FROM cpu
    WHERE cpu IS NOT NULL
    GROUP BY run, host, cpu
), beside AS (
    SELECT *, (sum(in_irq) OVER machine - in_irq) / nullif(count(in_irq) OVER machine - 1, 0) AS others
    FROM per_cpu
    WINDOW machine AS (PARTITION BY run, host)
)
SELECT run, host, cpu, in_irq, others
FROM beside
WHERE in_irq >= 50 AND in_irq >= 4 * others AND seen_s >= 3
ORDER BY in_irq DESC, run, host, cpu
