-- title: How were times distributed?
-- about: Histograms as tools printed or measured them: how many values fell into each bucket, and the share up to its end.
-- section: result
-- chart: table
-- order: 60
-- param: n = 400, how many buckets to show
WITH merged AS (
    SELECT run, h.host, name, labels, lo, hi, any_value(unit) AS unit, sum(h.count) AS n_values
    FROM histogram h
    GROUP BY run, h.host, name, labels, lo, hi
    HAVING sum(h.count) > 0
)
SELECT run, host, name, labels, lo AS above, hi AS below, unit, n_values,
    100 * sum(n_values) OVER (PARTITION BY run, host, name, labels ORDER BY lo, hi NULLS LAST) / sum(n_values) OVER (PARTITION BY run, host, name, labels) AS up_to_pct
FROM merged
ORDER BY run, host, name, labels, lo, hi NULLS LAST
LIMIT $n
