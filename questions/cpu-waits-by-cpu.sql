-- title: On which CPUs did threads wait?
-- about: Threads that waited for each CPU, on average over each interval; one CPU far above the others is an imbalance.
-- section: cpu
-- chart: line
-- x: t
-- y: threads_waiting
-- series: cpu
-- order: 62
SELECT run, host, t, max(dt) AS dt, cpu, sum(waited_s) / max(dt) AS threads_waiting
FROM run_queue
GROUP BY run, host, t, cpu
ORDER BY run, host, cpu, t
