-- title: In which idle states were CPUs, and what did leaving them cost?
-- about: Share of the time of all CPUs in each idle state (C-state), entries, the mean stay, and the longest time that leaving it takes. Deep states cost latency at low load. Recorded with `--source +cpu_idle`.
-- section: cpu
-- chart: table
-- order: 95
-- live: cpu_idle: residency
SELECT run, host, state, wmean(residency, dt) AS residency_pct, wmean(entries_per_s, dt) AS entries_per_s,
    sum(mean_us * entries_per_s * dt) / nullif(sum(entries_per_s * dt), 0) AS mean_us, max(exit_latency_us) AS exit_latency_us,
    sum(too_deep * entries_per_s * dt) / nullif(sum(entries_per_s * dt), 0) AS too_deep_pct,
    sum(too_shallow * entries_per_s * dt) / nullif(sum(entries_per_s * dt), 0) AS too_shallow_pct
FROM cpu_idle
GROUP BY run, host, state
ORDER BY run, host, exit_latency_us NULLS FIRST, state
