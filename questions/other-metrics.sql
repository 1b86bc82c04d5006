-- title: What other numbers are there?
-- about: Metrics without a table, as found by imports: mean, minimum and maximum over the run.
-- section: facts
-- chart: table
-- order: 5
-- param: n = 200, how many metrics to show
SELECT run, host, name, labels, count(value) AS n, coalesce(wmean(value, dt), avg(value)) AS mean, min(value) AS min,
    max(value) AS max, arg_max(value, t) AS last, any_value(unit) AS unit
FROM metric
GROUP BY run, host, name, labels
HAVING count(value) > 0
ORDER BY run, host, name, labels
LIMIT $n
