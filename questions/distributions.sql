-- title: How were times distributed?
-- about: Histograms as tools printed or measured them: the share of the values in each bucket, and up to its end. Two humps are two kinds of work; a long tail is what a mean hides.
-- section: result
-- chart: histogram
-- x: lo
-- y: n_values
-- series: what
-- order: 60
-- param: n = 4000, how many buckets to show
WITH merged AS (
    SELECT run, h.host, name, labels, lo, hi, any_value(unit) AS unit, sum(h.count) AS n_values
    FROM histogram h
    GROUP BY run, h.host, name, labels, lo, hi
    HAVING sum(h.count) > 0
)
SELECT run, host, concat_ws(' ', name, labels) AS what, lo, hi, unit, n_values,
    100 * sum(n_values) OVER (PARTITION BY run, host, name, labels ORDER BY lo, hi NULLS LAST) / sum(n_values) OVER (PARTITION BY run, host, name, labels) AS up_to_pct
FROM merged
ORDER BY run, host, what, lo, hi NULLS LAST
LIMIT $n
