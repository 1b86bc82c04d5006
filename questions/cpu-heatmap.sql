-- title: Which CPU was busy when?
-- about: Utilisation of each CPU over time; a bright line is one saturated CPU, a bright column a busy machine.
-- section: cpu
-- chart: heatmap
-- x: t
-- y: busy
-- series: cpu
-- unit: %
-- order: 50
-- live: cpu[*]: 100-idle
SELECT run, host, t, dt, cpu, 100 - idle - coalesce(iowait, 0) AS busy
FROM cpu
WHERE cpu IS NOT NULL
ORDER BY run, host, t
