-- title: Most CPU time
-- severity: info
-- section: process
-- message: {name}[ {share:%}][ {cpus:CPU}]
-- yes: process pid=7 comm=gzip cpu=90 *9
-- yes: process pid=8 comm=gzip cpu=90 *9
-- yes: process pid=9 comm=python3 cpu=20 *9
-- no: process pid=7 comm=gzip cpu=0.2 *9
--
-- no: process pid=7 comm=gzip rss_bytes=9e9 *9
-- Programs by their share of all CPU time that processes used, or by that time where there is one alone; below a fiftieth of a CPU there is no culprit.
WITH spans AS (
    SELECT run, host, sum(dt) AS seen_s FROM (SELECT DISTINCT run, host, t, dt FROM process) GROUP BY run, host
), used AS (
    SELECT run, host, comm, sum(cpu * dt) / 100 AS cpu_s, count(DISTINCT pid) AS processes, min(pid) AS pid FROM process WHERE cpu IS NOT NULL GROUP BY run, host, comm
), shares AS (
    SELECT *, 100 * cpu_s / nullif(sum(cpu_s) OVER (PARTITION BY run, host), 0) AS share_of FROM used
)
SELECT u.run, u.host, concat(coalesce(comm, '(unnamed)'), CASE WHEN processes = 1 THEN concat(' (process ', CAST(pid AS VARCHAR), ')') WHEN processes > 1 THEN concat(' (', CAST(processes AS VARCHAR), ' processes)') ELSE '' END) AS name,
    CASE WHEN share_of < 99.95 THEN share_of END AS share, CASE WHEN share_of >= 99.95 THEN cpu_s / seen_s END AS cpus
FROM shares u JOIN spans s ON s.run = u.run AND s.host = u.host
WHERE cpu_s >= 0.02 * seen_s AND share_of >= 5
ORDER BY share_of DESC, u.run, u.host, name
