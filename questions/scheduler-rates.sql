-- title: How many context switches were there?
-- about: Context switches, interrupts and new tasks per second over all CPUs; far more switches than requests hint at lock contention or wake-up storms.
-- section: cpu
-- chart: line
-- x: t
-- y: context_switches_per_s, intr_per_s, forks_per_s
-- unit: /s
-- order: 70
SELECT run, host, t, dt, context_switches_per_s, intr_per_s, forks_per_s
FROM sched
ORDER BY run, host, t
