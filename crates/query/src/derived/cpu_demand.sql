-- Tasks that wanted a CPU at each moment against the CPUs that there are. The number of CPUs is what was recorded, else what tables of single CPUs
-- show, where none of them is left out; NULL where it is unknown. Two files of an import on the same time count once.
WITH known AS (
    SELECT run, host, max(cpus_online) AS cpus FROM sched GROUP BY run, host
), listed AS (
    SELECT run, host, count(DISTINCT cpu) AS cpus
    FROM cpu WHERE TRY_CAST(cpu AS BIGINT) IS NOT NULL
    GROUP BY run, host
    HAVING count(DISTINCT cpu) = max(TRY_CAST(cpu AS BIGINT)) + 1 AND count(DISTINCT cpu) > 1
)
SELECT s.run, s.host, s.t, s.dt, s.runnable AS queue, coalesce(k.cpus, l.cpus) AS cpus
FROM sched s
LEFT JOIN known k ON k.run = s.run AND k.host = s.host
LEFT JOIN listed l ON l.run = s.run AND l.host = s.host
WHERE s.runnable IS NOT NULL
QUALIFY coalesce(epoch_us(s.t) - coalesce(s.dt, 0) * 5e5 > lag(epoch_us(s.t)) OVER (PARTITION BY s.run, s.host ORDER BY s.t, s.dt), true)
