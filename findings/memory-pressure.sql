-- title: Tasks stalled for want of memory
-- severity: warning
-- section: memory
-- says: In {stalled:%} of the time a task stood still for want of memory, and in {all_stalled:%} all of them did.
-- advice: Give the work more memory, or less to do at once; see who has grown, and whether swap or refaults are part of it.
-- ask: pressure-timeline
-- yes: pressure resource=memory some=22 full=14 *30
-- no: pressure resource=memory some=0.2 full=0.1 *30
--
-- no: pressure resource=io some=22 full=14 *30
-- Services that watch PSI act at about 10 % (systemd-oomd's default is 60 % of full over 30 s); full time is work lost.
SELECT run, host, wmean(p.some, dt) AS stalled, coalesce(wmean(p.full, dt), 0) AS all_stalled,
    CASE WHEN wmean(p.full, dt) >= 10 THEN 'critical' ELSE 'warning' END AS severity
FROM pressure p
WHERE resource = 'memory'
GROUP BY run, host
HAVING wmean(p.some, dt) >= 5 AND sum(dt) >= 3
ORDER BY stalled DESC, run, host
