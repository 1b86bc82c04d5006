-- title: Which CPU switched between threads when?
-- about: Context switches of each CPU over time; a bright line is a CPU whose threads wake each other or wait for one lock.
-- section: cpu
-- chart: heatmap
-- x: t
-- y: context_switches_per_s
-- series: cpu
-- unit: /s
-- order: 54
-- live: cpu[*]: context_switches_per_s
SELECT run, host, t, dt, cpu, context_switches_per_s
FROM cpu
WHERE cpu IS NOT NULL AND context_switches_per_s IS NOT NULL
ORDER BY run, host, t
