-- title: How busy were the CPUs of each host?
-- about: A line for each host: the share of time in which its CPUs were not idle, at the same moments on one clock.
-- section: cpu
-- chart: line
-- x: t
-- y: busy
-- series: machine
-- unit: %
-- order: 12
SELECT run, host, t, dt, host AS machine, 100 - idle - coalesce(iowait, 0) AS busy
FROM cpu
WHERE cpu IS NULL AND idle IS NOT NULL AND run IN (SELECT run FROM cpu GROUP BY run HAVING count(DISTINCT host) > 1)
ORDER BY run, host, t
