-- title: Where did the CPU time go?
-- about: Share of all CPUs' time by state, over time; look further into high sys, softirq or steal. iowait is idle time.
-- section: cpu
-- chart: stacked
-- x: t
-- y: usr, nice, sys, iowait, irq, softirq, steal, guest
-- unit: %
-- order: 20
-- live: cpu[]: usr, nice, sys, iowait, irq, softirq, steal
SELECT run, host, t, dt, usr, nice, sys, iowait, irq, softirq, steal, guest + coalesce(guest_nice, 0) AS guest
FROM cpu
WHERE cpu IS NULL
ORDER BY run, host, t
