-- title: CPU time goes to processes that live shortly
-- severity: warning
-- section: process
-- message: {forks:/s} processes were started; those that ended used {ended:%} of one CPU, started mostly by {parent} (process {pid}).
-- advice: Starting a program costs about a millisecond of CPU: keep one running, use what the shell has built in, or call a library. See who starts what with `fenxi trace procsystime` or the process table of the run.
-- ask: top-processes
-- explains: many-forks, page-faults, context-switch-storm, sys-time-high
-- impact: share of the CPU time that was used
-- yes: sched cpus_online=4 forks_per_s=400 *20
-- yes: cpu usr=25 sys=25 idle=50 *20
-- yes: process pid=7 comm=sh cpu=20 children_cpu=150 *20
-- no: sched cpus_online=4 forks_per_s=400 *20
-- no: cpu usr=90 sys=5 idle=5 *20
-- no: process pid=7 comm=make cpu=1 children_cpu=10 *20
--
-- no: sched cpus_online=4 forks_per_s=5 *20
-- no: cpu usr=90 sys=5 idle=5 *20
-- no: process pid=7 comm=make cpu=1 children_cpu=370 *20
-- Fifty a second and a quarter of all CPU time in processes that ended within an interval: a build with long compilations is none.
WITH spans AS (
    SELECT run, host, sum(dt) AS seen_s, max(cpus_online) AS cpus, wmean(forks_per_s, dt) AS forks FROM sched GROUP BY run, host
), machines AS (
    SELECT run, host, wmean(100 - idle - coalesce(iowait, 0), dt) AS busy
    FROM cpu c
    WHERE cpu IS NULL OR NOT EXISTS (SELECT 1 FROM cpu a WHERE a.run = c.run AND a.host = c.host AND a.cpu IS NULL)
    GROUP BY run, host
), parents AS (
    SELECT run, host, pid, comm, sum(children_cpu * dt) AS ended FROM process JOIN subject_process USING (run, host, pid, comm) WHERE children_cpu > 0 GROUP BY run, host, pid, comm
)
SELECT p.run, p.host, arg_max(p.comm, p.ended) AS parent, arg_max(p.pid, p.ended) AS pid, any_value(s.forks) AS forks, sum(p.ended) / any_value(s.seen_s) AS ended,
    100 * sum(p.ended) / any_value(s.seen_s) / nullif(any_value(m.busy * s.cpus), 0) AS share
FROM parents p JOIN spans s ON s.run = p.run AND s.host = p.host JOIN machines m ON m.run = p.run AND m.host = p.host
WHERE s.seen_s >= 3
GROUP BY p.run, p.host
HAVING any_value(s.forks) >= 50 AND sum(p.ended) / any_value(s.seen_s) >= 0.25 * any_value(m.busy * s.cpus) AND sum(p.ended) / any_value(s.seen_s) >= 20
ORDER BY ended DESC, p.run, p.host
