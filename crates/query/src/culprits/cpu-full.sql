-- title: The CPUs are full
-- severity: info
-- section: cpu
-- message: The CPUs are full ({busy:%}){low}
-- yes: cpu usr=8 nice=84 sys=6 idle=2 *9
--
-- yes: cpu cpu=0 usr=99 idle=1 *9
-- yes: cpu cpu=1 usr=99 idle=1 *9
-- no: cpu usr=50 idle=50 *9
--
-- no: cpu cpu=0 usr=1 idle=99 *9
-- no: cpu cpu=48 usr=100 idle=0 *9
--
-- no: cpu usr=100 *9
-- Nine tenths and more. CPUs that a list leaves out are not known: it must have as many as the machine, or as many as its highest number.
WITH whole AS (
    SELECT run, host, wmean(100 - idle - coalesce(iowait, 0), coalesce(dt, 1)) AS busy, wmean(nice, coalesce(dt, 1)) AS low FROM cpu WHERE cpu IS NULL GROUP BY run, host
), machine AS (
    SELECT run, host, max(cpus_online) AS cpus FROM sched GROUP BY run, host
), each AS (
    SELECT run, host, count(DISTINCT cpu) AS known, max(TRY_CAST(cpu AS BIGINT)) + 1 AS numbered, wmean(100 - idle - coalesce(iowait, 0), coalesce(dt, 1)) AS busy, wmean(nice, coalesce(dt, 1)) AS low
    FROM cpu WHERE cpu IS NOT NULL GROUP BY run, host
), known AS (
    SELECT run, host, busy, low FROM whole
    UNION ALL
    SELECT e.run, e.host, busy, low FROM each e LEFT JOIN machine m ON m.run = e.run AND m.host = e.host
    WHERE known >= coalesce(cpus, numbered) AND NOT EXISTS (SELECT 1 FROM whole w WHERE w.run = e.run AND w.host = e.host)
)
SELECT run, host, busy, CASE WHEN low >= 0.1 * busy THEN concat(', ', CAST(CAST(round(100 * low / busy) AS BIGINT) AS VARCHAR), '% of it low priority (nice)') ELSE '' END AS low
FROM known
WHERE busy >= 90
ORDER BY busy DESC, run, host
