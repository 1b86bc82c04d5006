-- title: How busy were the CPUs?
-- about: Mean share of time of all CPUs by state; mean and maximum utilisation (neither idle nor iowait).
-- section: cpu
-- chart: table
-- order: 10
SELECT run, host,
    wmean(100 - idle - coalesce(iowait, 0), dt) AS mean_busy,
    max(100 - idle - coalesce(iowait, 0)) AS max_busy,
    wmean(usr, dt) AS usr, wmean(nice, dt) AS nice, wmean(sys, dt) AS sys, wmean(iowait, dt) AS iowait,
    wmean(irq, dt) AS irq, wmean(softirq, dt) AS softirq, wmean(steal, dt) AS steal, wmean(guest, dt) AS guest,
    wmean(idle, dt) AS idle
FROM cpu
WHERE cpu IS NULL
GROUP BY run, host
ORDER BY run, host
