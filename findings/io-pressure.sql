-- title: Tasks stalled for I/O
-- severity: warning
-- section: disk
-- says: For {stalled:%} of the time some task waited for storage, and for {all_stalled:%} all of them did.
-- advice: Check which disk was busy or slow and which processes read and write. Backups and bulk loads wait for storage by nature.
-- ask: pressure-timeline
-- kind: symptom
-- part: block I/O
-- impact: stalled of the time
-- names: disk, file, flush
-- causes: disk-saturated (a disk that is full), disk-slow (a slow disk), writes-wait-flush (flushes), writes-throttled (dirty pages), swapping (swapping), reads-past-cache (reads past the page cache)
-- yes: pressure resource=io some=45 full=30 *30
-- no: pressure resource=io some=3 full=2 *30
--
-- no: pressure resource=cpu some=45 full=30 *30
-- A fifth of the run for one task is worth a look; when all stood still for half of it, the machine did little else.
-- Where the recorder started a command, or observed a database, that waited for a disk hardly ever, it is what others had: a fact.
SELECT p.run, p.host, wmean(p.some, dt) AS stalled, coalesce(wmean(p.full, dt), 0) AS all_stalled,
    CASE WHEN any_value(m.disk) < 5 THEN 'info' WHEN wmean(p.full, dt) >= 50 THEN 'critical' ELSE 'warning' END AS severity
FROM pressure p LEFT JOIN measured_wait m ON m.run = p.run AND m.host = p.host
WHERE resource = 'io'
GROUP BY p.run, p.host
HAVING wmean(p.some, dt) >= 20 AND sum(dt) >= 3
ORDER BY stalled DESC, p.run, p.host
