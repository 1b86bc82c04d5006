-- title: Did tasks wait for a CPU?
-- about: Runnable tasks (running or waiting for a CPU) against online CPUs; more tasks than CPUs means waiting. Blocked tasks usually wait for disk I/O.
-- section: cpu
-- chart: line
-- x: t
-- y: runnable, blocked, cpus_online
-- order: 60
-- live: sched: runnable, blocked, load1
SELECT run, host, t, dt, runnable, blocked, cpus_online
FROM sched
ORDER BY run, host, t
