-- title: When was which CPU interrupted?
-- about: Hardware interrupts per second by CPU over time; one bright line is a device bound to a single CPU.
-- section: interrupt
-- chart: heatmap
-- x: t
-- y: intr_per_s
-- series: cpu
-- unit: /s
-- order: 20
-- live: irq: intr_per_s
SELECT run, host, t, max(dt) AS dt, cpu, sum(intr_per_s) AS intr_per_s
FROM irq
WHERE cpu IS NOT NULL
GROUP BY run, host, t, cpu
ORDER BY run, host, t
