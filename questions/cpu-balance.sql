-- title: How evenly was the work spread?
-- about: The busiest CPU and the mean of all CPUs over time; a wide gap means that one thread at a time does the work, on whichever CPU.
-- section: cpu
-- chart: line
-- x: t
-- y: mean_busy, busiest
-- unit: %
-- order: 40
SELECT run, host, t, dt, avg(100 - idle - coalesce(iowait, 0)) AS mean_busy,
    max(100 - idle - coalesce(iowait, 0)) AS busiest
FROM cpu
WHERE cpu IS NOT NULL
GROUP BY run, host, t, dt
ORDER BY run, host, t
