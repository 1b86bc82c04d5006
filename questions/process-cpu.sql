-- title: When did which process use the CPU?
-- about: CPU time of the busiest processes over time, in percent of one CPU; gaps are times in which the process was idle.
-- section: process
-- chart: line
-- x: t
-- y: cpu
-- series: process
-- unit: %
-- order: 20
-- live: process: cpu
-- param: n = 8, how many processes to show
WITH used AS (
    SELECT run, host, pid, comm,
        row_number() OVER (PARTITION BY run, host ORDER BY sum(cpu * dt) DESC NULLS LAST, pid) AS place
    FROM process
    GROUP BY run, host, pid, comm
)
SELECT p.run, p.host, p.t, p.dt, concat_ws(' ', p.comm, p.pid) AS process, p.cpu
FROM process p JOIN used u ON p.run = u.run AND p.host = u.host AND p.comm = u.comm AND p.pid IS NOT DISTINCT FROM u.pid
WHERE u.place <= $n
ORDER BY p.run, p.host, u.place, p.t
