-- title: Did tasks wait for a CPU?
-- about: Tasks that run or want to, beside the CPUs there are; more runnable tasks than CPUs means waiting. Blocked tasks wait for disk I/O as a rule.
-- section: cpu
-- chart: line
-- x: t
-- y: runnable, blocked, cpus_online
-- order: 60
SELECT run, host, t, dt, runnable, blocked, cpus_online
FROM sched
ORDER BY run, host, t
