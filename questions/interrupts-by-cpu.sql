-- title: Which CPU handled which interrupt?
-- about: Interrupt lines by rate, with the CPU that handled most of each and its share; a CPU with nearly all interrupts of a busy device can be the bottleneck.
-- section: interrupt
-- chart: table
-- order: 10
-- param: n = 20, how many interrupt lines to show
WITH per_cpu AS (
    SELECT run, host, irq, cpu, max(name) AS name, sum(intr_per_s * dt) AS handled
    FROM irq
    GROUP BY run, host, irq, cpu
), beside AS (
    SELECT *, max(handled) OVER (PARTITION BY run, host, irq) AS most
    FROM per_cpu
), per_line AS (
    SELECT run, host, irq, max(name) AS name, sum(handled) AS handled, min(cpu) FILTER (handled = most) AS busiest_cpu,
        100 * max(handled) / nullif(sum(handled), 0) AS busiest_share_pct, count(*) FILTER (handled > 0) AS cpus
    FROM beside
    GROUP BY run, host, irq
), placed AS (
    SELECT *, row_number() OVER (PARTITION BY run, host ORDER BY handled DESC NULLS LAST, irq) AS place
    FROM per_line
    WHERE handled > 0
)
SELECT run, placed.host, irq, placed.name, handled / nullif(duration_s, 0) AS intr_per_s, busiest_cpu, busiest_share_pct, cpus
FROM placed JOIN runs USING (run)
WHERE place <= $n
ORDER BY run, placed.host, place
