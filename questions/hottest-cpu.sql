-- title: Is a single CPU saturated?
-- about: Utilisation of each CPU against the mean of all others; one saturated CPU on an idle machine means a single-threaded bottleneck or an interrupt bound to one CPU.
-- section: cpu
-- chart: table
-- order: 30
-- param: n = 16, how many CPUs to show
-- param: above = 90, utilisation in percent from which a CPU counts as saturated
WITH busy AS (
    SELECT run, host, cpu, dt, busy, usr, sys, softirq
    FROM cpu_use
    WHERE cpu IS NOT NULL
), per_cpu AS (
    SELECT run, host, cpu, wmean(busy, dt) AS mean_busy, max(busy) AS max_busy,
        sum(CASE WHEN busy >= $above THEN dt ELSE 0 END) AS saturated_s, sum(dt) AS seen_s,
        wmean(usr, dt) AS usr, wmean(sys, dt) AS sys, wmean(softirq, dt) AS softirq
    FROM busy
    GROUP BY run, host, cpu
), beside AS (
    SELECT *, (sum(mean_busy) OVER machine - mean_busy) / nullif(count(*) OVER machine - 1, 0) AS others_busy,
        row_number() OVER (PARTITION BY run, host ORDER BY saturated_s DESC, mean_busy DESC, TRY_CAST(cpu AS BIGINT), cpu) AS place
    FROM per_cpu
    WINDOW machine AS (PARTITION BY run, host)
)
SELECT run, host, cpu, mean_busy, max_busy, saturated_s, others_busy, usr, sys, softirq,
    CASE
        WHEN saturated_s >= 0.5 * seen_s AND others_busy < 50 THEN 'saturated while the others are mostly idle'
        WHEN saturated_s >= 0.5 * seen_s THEN 'saturated, and so are others'
        WHEN saturated_s >= 0.1 * seen_s AND others_busy < 50 THEN 'at times saturated while the others are mostly idle'
        WHEN mean_busy > 20 AND mean_busy > 3 * others_busy THEN 'far busier than the others'
        ELSE ''
    END AS verdict
FROM beside
WHERE place <= $n
ORDER BY run, host, place
