-- title: Did threads wander between CPUs?
-- about: Migrations to each CPU over time; a diagonal is work that wanders from CPU to CPU, a bright column a scheduler that cannot settle, a bright line a CPU that all threads pass.
-- section: cpu
-- chart: heatmap
-- x: t
-- y: migrations_per_s
-- series: cpu
-- unit: /s
-- order: 52
-- live: cpu[*]: migrations_per_s
SELECT run, host, t, dt, cpu, migrations_per_s
FROM cpu
WHERE cpu IS NOT NULL AND migrations_per_s IS NOT NULL
ORDER BY run, host, t
