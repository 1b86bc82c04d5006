-- title: What came out?
-- about: The main results: throughput and latency of a load, or elapsed time and CPU time of a command.
-- section: result
-- chart: tiles
-- y: value
-- series: name
-- order: 5
-- param: n = 7, how many at most
WITH main AS (
    SELECT run, host, source, any_value(name) AS name, sum(value) AS value, any_value(unit) AS unit, place
    FROM (
        SELECT run, host, source, value, unit,
            CASE name WHEN 'user_time' THEN 'CPU time' WHEN 'system_time' THEN 'CPU time' WHEN 'latency_mean' THEN 'mean latency' WHEN 'max_rss' THEN 'peak memory'
                ELSE replace(replace(name, 'latency_p', 'latency p'), '_', ' ') END AS name,
            CASE name WHEN 'throughput' THEN 1 WHEN 'latency_mean' THEN 2 WHEN 'latency_p50' THEN 3 WHEN 'latency_p95' THEN 4 WHEN 'latency_p99' THEN 5
                WHEN 'errors' THEN 6 WHEN 'elapsed' THEN 7 WHEN 'user_time' THEN 8 WHEN 'system_time' THEN 8 WHEN 'max_rss' THEN 9 WHEN 'exit_status' THEN 10 END AS place
        FROM result
        WHERE t IS NULL OR t = (SELECT max(r.t) FROM result r WHERE r.run = result.run)
    )
    WHERE place IS NOT NULL
    GROUP BY run, host, source, place
)
SELECT run, host, CASE WHEN count(*) OVER (PARTITION BY run, host, place) > 1 THEN source END AS source, name, value, unit
FROM main
WHERE (name <> 'exit status' OR value <> 0)
    AND (place NOT IN (7, 8, 9) OR NOT EXISTS (SELECT 1 FROM main m WHERE m.run = main.run AND m.host = main.host AND m.place = 1))
QUALIFY row_number() OVER (PARTITION BY run, host ORDER BY place, source) <= $n
ORDER BY run, host, place, source
