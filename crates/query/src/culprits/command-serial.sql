-- title: The command works on one thing at a time
-- severity: info
-- section: process
-- message: The command uses one CPU: its {processes} processes used {used:%} of one together
-- yes: sched cpus_online=4 *9
-- yes: process pid=7 comm=make cpu=30 threads=1 *9
-- yes: process pid=8 comm=cc cpu=68 threads=1 *9
-- yes: thread_wait pid=7 comm=make wait=child threads=1 role=command *9
-- yes: thread_wait pid=8 comm=cc wait=run threads=1 role=command *9
-- no: sched cpus_online=4 *9
-- no: process pid=7 comm=make cpu=0 threads=1 *9
-- no: process pid=8 comm=cc cpu=180 threads=1 *4
-- no: process pid=8 comm=cc cpu=16 threads=1 *5 @4
-- no: thread_wait pid=7 comm=make wait=child threads=1 role=command *9
-- no: thread_wait pid=8 comm=cc wait=run threads=1 role=command *9
--
-- no: sched cpus_online=1 *9
-- no: process pid=7 comm=make cpu=30 threads=1 *9
-- no: process pid=8 comm=cc cpu=68 threads=1 *9
-- no: thread_wait pid=7 comm=make wait=child threads=1 role=command *9
-- no: thread_wait pid=8 comm=cc wait=run threads=1 role=command *9
-- One CPU's worth in four of five seconds: work that several processes do in turns, one after the other, or one that has most of it.
WITH programs AS (
    SELECT DISTINCT run, host, comm FROM thread_wait WHERE role = 'command'
), cpus AS (
    SELECT run, host, max(cpus_online) AS cpus FROM sched GROUP BY run, host
), seconds AS (
    SELECT p.run, p.host, p.t, max(p.dt) AS dt, sum(p.cpu) AS used
    FROM process p JOIN programs g ON g.run = p.run AND g.host = p.host AND g.comm = p.comm
    GROUP BY p.run, p.host, p.t
), numbers AS (
    SELECT p.run, p.host, count(DISTINCT p.pid) AS processes FROM process p JOIN programs g ON g.run = p.run AND g.host = p.host AND g.comm = p.comm GROUP BY p.run, p.host
), wholes AS (
    SELECT run, host, wmean(used, dt) AS used, sum(CASE WHEN used BETWEEN 80 AND 112 THEN dt ELSE 0 END) / sum(dt) AS of_time FROM seconds GROUP BY run, host HAVING sum(dt) >= 3
)
SELECT w.run, w.host, n.processes, w.used
FROM wholes w JOIN cpus c ON c.run = w.run AND c.host = w.host JOIN numbers n ON n.run = w.run AND n.host = w.host
WHERE c.cpus >= 2 AND n.processes >= 2 AND w.of_time >= 0.8 AND w.used BETWEEN 88 AND 106
ORDER BY w.used DESC, w.run, w.host
