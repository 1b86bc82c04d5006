-- title: Most context switches
-- severity: info
-- section: process
-- message: {comm} {switches:/s}
-- yes: process pid=7 comm=app voluntary_switches_per_s=9000 involuntary_switches_per_s=10 *9
-- no: process pid=7 comm=app voluntary_switches_per_s=10 involuntary_switches_per_s=1 *9
WITH spans AS (
    SELECT run, host, sum(dt) AS seen_s FROM (SELECT DISTINCT run, host, t, dt FROM process) GROUP BY run, host
), made AS (
    SELECT run, host, comm, sum((coalesce(voluntary_switches_per_s, 0) + coalesce(involuntary_switches_per_s, 0)) * dt) AS switched FROM process GROUP BY run, host, comm
)
SELECT m.run, m.host, coalesce(comm, '(unnamed)') AS comm, switched / seen_s AS switches
FROM made m JOIN spans s ON s.run = m.run AND s.host = m.host
WHERE switched >= 1000 * seen_s
ORDER BY switches DESC, m.run, m.host, comm
