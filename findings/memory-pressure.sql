-- title: Tasks stalled for lack of memory
-- severity: warning
-- section: memory
-- message: For {stalled:%} of the time some task stalled for lack of memory, and for {all_stalled:%} all of them did.
-- advice: Provide more memory, or reduce concurrency; check which processes have grown, and whether swapping or refaults contribute.
-- ask: pressure-timeline
-- kind: symptom
-- impact: stalled of the time
-- names: memory
-- causes: swapping (swapping), cgroup-memory-limit (a limit of a cgroup), direct-reclaim (reclaim of memory), memory-nearly-used (memory that is used up)
-- yes: pressure resource=memory some=22 full=14 *30
-- no: pressure resource=memory some=0.2 full=0.1 *30
--
-- no: pressure resource=io some=22 full=14 *30
-- Services that watch PSI act at about 10 % (systemd-oomd's default is 60 % of full over 30 s); full time is work lost.
-- Where the recorder started a command, or observed a database, that waited for memory or a disk hardly ever, it is what others had: a fact.
SELECT p.run, p.host, wmean(p.some, dt) AS stalled, coalesce(wmean(p.full, dt), 0) AS all_stalled,
    CASE WHEN any_value(m.disk + m.memory) < 5 THEN 'info' WHEN wmean(p.full, dt) >= 10 THEN 'critical' ELSE 'warning' END AS severity
FROM pressure p LEFT JOIN measured_wait m ON m.run = p.run AND m.host = p.host
WHERE resource = 'memory'
GROUP BY p.run, p.host
HAVING wmean(p.some, dt) >= 5 AND sum(dt) >= 3
ORDER BY stalled DESC, p.run, p.host
