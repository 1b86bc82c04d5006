-- title: Tasks stalled for I/O
-- severity: warning
-- section: disk
-- message: For {stalled:%} of the time some task waited for storage{measured}.
-- advice: Check which disk was busy or slow and which processes read and write. Backups and bulk loads wait for storage by nature.
-- ask: pressure-timeline
-- kind: symptom
-- part: block I/O
-- impact: stalled of the time
-- names: disk, file, flush
-- world: not storage bench
-- causes: disk-saturated (a disk that is full), disk-slow (a slow disk), writes-wait-flush (flushes), writes-throttled (dirty pages), swapping (swapping), reads-past-cache (reads past the page cache)
-- yes: pressure resource=io some=45 full=30 *30
-- no: pressure resource=io some=3 full=2 *30
--
-- fact: pressure resource=io some=30 full=28 *30
--
-- yes: sched runnable=1 blocked=6 *30
-- no: sched runnable=1 blocked=6 *8
-- no: sched runnable=1 blocked=0 *22 @8
--
-- yes: cpu usr=10 sys=5 iowait=40 idle=45 *30
-- no: cpu usr=10 sys=5 iowait=4 idle=81 *30
--
-- no: sched runnable=1 blocked=6 *30
-- no: pressure resource=io some=3 full=2 *30
--
-- no: pressure resource=cpu some=45 full=30 *30
--
-- no: sched blocked=1 dt=5 *2
-- no: sched blocked=0 dt=5 *2 @10
-- A fifth of the run for one task is worth a look, two fifths a warning; when all were stalled for half of it, the machine did little else.
-- Where there is no pressure, the tasks that were blocked at the end of each interval are a rough measure: they must be there at least
-- two times of five, and three times in all. The iowait of the CPUs is the lower bound of it.
-- Where the recorder started a command, or observed a database, that waited for a disk hardly ever, it is what others had: a fact.
WITH hosts AS (
    SELECT run, host, source, wmean(stalled, dt) AS stalled, wmean(all_stalled, dt) AS all_stalled, sum(dt) AS seen_s,
        count(*) FILTER (WHERE stalled > 0) AS looks
    FROM disk_stall
    GROUP BY run, host, source
), waiting AS (
    SELECT run, host, wmean(blocked, dt) AS blocked FROM sched GROUP BY run, host
)
SELECT p.run, p.host, stalled,
    CASE source WHEN 'pressure' THEN ', and for ' || CAST(round(coalesce(all_stalled, 0), 1) AS VARCHAR) || ' % all of them did'
        WHEN 'blocked' THEN ': ' || CAST(round(w.blocked, 1) AS VARCHAR) || ' tasks were blocked on average'
        ELSE ' at least: so long CPUs were idle for it (iowait)' END AS measured,
    source, all_stalled, CASE WHEN m.disk < 5 OR source = 'pressure' AND stalled < 40 THEN 'info' WHEN all_stalled >= 50 THEN 'critical' ELSE 'warning' END AS severity
FROM hosts p LEFT JOIN waiting w ON w.run = p.run AND w.host = p.host LEFT JOIN measured_wait m ON m.run = p.run AND m.host = p.host
WHERE stalled >= CASE source WHEN 'blocked' THEN 40 ELSE 20 END AND seen_s >= 3 AND (source <> 'blocked' OR looks >= 3)
ORDER BY stalled DESC, p.run, p.host
