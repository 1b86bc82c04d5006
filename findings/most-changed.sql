-- title: What changed most
-- severity: info
-- section: result
-- periods: inside, rest
-- names-cause: no
-- message: Most changed: {list}.
-- advice: None of the rules over two periods is about it, or they stand above: what rises per transaction is nearer to the cause than what falls with the throughput.
-- ask: top-processes
-- yes: cpu usr=30 idle=70 *60
-- yes: inside cpu usr=60 idle=40 *30 @60
-- no: cpu usr=30 idle=70 *60
-- no: inside cpu usr=30 idle=70 *30 @60
-- Of each meaning its first series; what rises for each transaction before what follows from fewer of them.
WITH firsts AS (
    SELECT *, CASE WHEN greatest(coalesce(cost, change), change) > 0.3 THEN 0 ELSE 1 END AS falls
    FROM change
    WHERE is_first = 1 AND abs(change) >= 0.3 AND means NOT IN ('other_io', 'other_cpu')
), placed AS (
    SELECT *, row_number() OVER (PARTITION BY run ORDER BY falls, weight DESC, table_name, column_name, key, means) AS place
    FROM firsts
)
SELECT run, any_value(host) AS host, string_agg(summary, '; ' ORDER BY place) AS list, 'info' AS severity, 0.01 AS weight
FROM placed
WHERE place <= 3
GROUP BY run
