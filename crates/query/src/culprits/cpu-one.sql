-- title: One CPU is full
-- severity: info
-- section: cpu
-- message: CPU {cpu} is full ({busy:%}){others}
-- yes: cpu cpu=0 usr=1 idle=99 *2
-- yes: cpu cpu=48 usr=100 idle=0 *2
-- no: cpu cpu=0 usr=50 idle=50 *2
-- no: cpu cpu=1 usr=60 idle=40 *2
--
-- no: cpu cpu=0 usr=99 idle=1 *2
-- no: cpu cpu=1 usr=99 idle=1 *2
-- Of a list of CPUs, one that was busy nearly all the time. The load of CPUs that are not in the list is unknown.
WITH each AS (
    SELECT run, host, cpu, wmean(100 - idle - coalesce(iowait, 0) - coalesce(steal, 0), coalesce(dt, 1)) AS busy FROM cpu WHERE cpu IS NOT NULL AND idle IS NOT NULL GROUP BY run, host, cpu
), listed AS (
    SELECT *, count(*) OVER m AS known, max(TRY_CAST(cpu AS BIGINT)) OVER m + 1 AS numbered, (sum(busy) OVER m - busy) / nullif(count(*) OVER m - 1, 0) AS beside,
        row_number() OVER (PARTITION BY run, host ORDER BY busy DESC, cpu) AS place
    FROM each
    WINDOW m AS (PARTITION BY run, host)
), machine AS (
    SELECT run, host, max(cpus_online) AS cpus FROM sched GROUP BY run, host
)
SELECT l.run, l.host, l.cpu, l.busy, CASE WHEN known >= coalesce(cpus, numbered) THEN concat(', the others ', CAST(CAST(round(beside) AS BIGINT) AS VARCHAR), '%') ELSE concat('; the list has ', CAST(known AS VARCHAR), ' of at least ', CAST(CAST(coalesce(cpus, numbered) AS BIGINT) AS VARCHAR), ' CPUs') END AS others
FROM listed l LEFT JOIN machine m ON m.run = l.run AND m.host = l.host
WHERE place = 1 AND l.busy >= 95 AND coalesce(beside, 0) < 90
ORDER BY l.busy DESC, l.run, l.host
