-- How long each host was seen, and its CPUs: their number as it was recorded, else what tables of single CPUs show where none of them is
-- left out. Two files of an import on the same time count once.
WITH once AS (
    SELECT run, host, dt, cpus_online
    FROM sched
    QUALIFY coalesce(epoch_us(t) - coalesce(dt, 0) * 5e5 > lag(epoch_us(t)) OVER (PARTITION BY run, host ORDER BY t, dt), true)
), listed AS (
    SELECT run, host, count(DISTINCT cpu) AS cpus
    FROM cpu WHERE TRY_CAST(cpu AS BIGINT) IS NOT NULL
    GROUP BY run, host
    HAVING count(DISTINCT cpu) = max(TRY_CAST(cpu AS BIGINT)) + 1
), seen AS (
    SELECT run, host, sum(dt) AS seen_s, max(cpus_online) AS cpus FROM once GROUP BY run, host
)
SELECT s.run, s.host, s.seen_s, coalesce(s.cpus, l.cpus) AS cpus
FROM seen s LEFT JOIN listed l ON l.run = s.run AND l.host = s.host
